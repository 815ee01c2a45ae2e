"""`share_memory_`: processes that are forked, and those that get the tensor, see each other's writes."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Iterator
from multiprocessing import resource_sharer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist import multiprocessing as mp, nn
from minitorch_dist.tensors import shared_memory

METHODS = ["fork", "spawn"]


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    """multiprocessing hands descriptors over from a thread, once a queue or a pipe has sent one."""
    yield
    resource_sharer.stop(timeout=5)


def train(rank: int, model: nn.Module, steps: int) -> None:
    """Hogwild: every process updates the same weights, without a lock."""
    generator = torch.Generator().manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x = torch.randn(16, 3, generator=generator)
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("world", [1, 2, 3])
def test_hogwild_trains(world: int, method: str) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    assert not any(p.is_shared() for p in model.parameters())
    model.share_memory()
    assert all(p.is_shared() for p in model.parameters())
    x = torch.randn(64, 3)
    with torch.no_grad():
        before = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean().item()
    mp.start_processes(train, (model, 60), world, start_method=method)
    with torch.no_grad():
        after = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean().item()
    assert after < before / 10, (before, after)


def write(rank: int, tensors: dict[str, Any]) -> None:
    whole, row, column, weight = (tensors[key] for key in ("whole", "row", "column", "weight"))
    assert whole.is_shared() and row.is_shared() and whole.dtype is torch.float64
    assert whole.data_ptr() == row.data_ptr() - 3 * 8  # views are views here, too
    row.fill_(7.0)
    assert column.tolist() == [0.0, 7.0] and column.stride() == (3,)
    with torch.no_grad():
        weight.mul_(2.0)
    assert type(weight) is nn.Parameter and weight.requires_grad and weight.name == "ours"
    tensors["alone"].fill_(5.0)
    assert not tensors["alone"].is_shared()


@pytest.mark.parametrize("method", METHODS)
def test_views_parameters_and_copies(method: str) -> None:
    whole = torch.zeros(2, 3, dtype=torch.float64).share_memory_()
    weight = nn.Parameter(torch.ones(2)).share_memory_()
    weight.name = "ours"
    alone = torch.zeros(1)
    tensors = {
        "whole": whole, "row": whole[1], "column": whole[:, 1], "weight": weight, "alone": alone,
    }  # fmt: skip
    mp.start_processes(write, (tensors,), 1, start_method=method)
    assert whole.tolist() == [[0, 0, 0], [7, 7, 7]]
    assert weight.tolist() == [2, 2]
    assert alone.tolist() == [0]  # what is not shared goes by value


def answer(asked: Any, answered: Any) -> None:
    x, y = asked.get()
    x += 1
    y[...] = 4
    answered.put((x, x[1:]))
    asked.get()  # x lives here until its descriptor was fetched


@pytest.mark.parametrize("method", METHODS)
def test_queues_carry_the_memory_both_ways(method: str) -> None:
    context = mp.get_context(method)
    asked, answered = context.Queue(), context.Queue()
    process = context.Process(target=answer, args=(asked, answered))
    process.start()
    x, y = torch.zeros(3).share_memory_(), torch.zeros(2, 2, dtype=torch.bfloat16).share_memory_()
    asked.put((x, y))
    back, part = answered.get()
    assert x.tolist() == [1, 1, 1] and (y == 4).all()
    back.fill_(9.0)
    assert x.tolist() == [9, 9, 9] and part.tolist() == [9, 9]
    assert back.data_ptr() == x.data_ptr()  # mapped once in a process
    asked.put(None)
    process.join()
    for queue in (asked, answered):
        queue.close()
        queue.join_thread()
    assert process.exitcode == 0


def test_the_memory_goes_when_nobody_looks_at_it() -> None:
    gc.collect()
    mine = Path("/proc/self/fd")
    files = len(list(mine.iterdir())) if mine.is_dir() else None
    x = torch.ones(1000).share_memory_()
    view = x[10:]
    del x
    assert view.is_shared() and len(shared_memory._blocks) == 1
    del view
    gc.collect()
    assert len(shared_memory._blocks) == 0
    assert files is None or len(list(mine.iterdir())) == files


def test_copies_are_their_own() -> None:
    x = torch.tensor([[0.0, 1, 2], [3, 4, 5]]).share_memory_()
    assert x.share_memory_() is x and x[0].share_memory_().is_shared()
    for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x + 0):
        assert not twin.is_shared()
        twin.fill_(1.0)
    np.testing.assert_array_equal(x.numpy(), np.arange(6.0).reshape(2, 3))
    assert not torch.empty(0).share_memory_().is_shared()  # nothing there is nothing to share
    with pytest.raises(RuntimeError, match="this is a view"):
        torch.zeros(4)[1:].share_memory_()
