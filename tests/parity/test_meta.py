"""Tensors on the device `meta` are torch's: shapes and types, texts, errors, deferred initialisation."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity

Ask = Callable[[Any, Any], Any]


def outcome(t: Any, ask: Ask) -> Any:
    x = t.empty(3, 4, device="meta")
    try:
        return repr(ask(t, x))
    except Exception as error:
        return type(error).__name__, str(error)


EQUAL: list[Ask] = [
    lambda t, x: x,
    lambda t, x: t.ones((), device="meta"),
    lambda t, x: t.zeros(2, dtype=t.int64, device="meta"),
    lambda t, x: t.zeros(0, 3, device="meta"),
    lambda t, x: t.zeros(2, 3, device="meta", requires_grad=True) * 2,
    lambda t, x: t.nn.Parameter(x),
    lambda t, x: x.item(),
    lambda t, x: x[0, 0].item(),
    lambda t, x: x.tolist(),
    lambda t, x: x.numpy(),
    lambda t, x: x.cpu(),
    lambda t, x: x.to("cpu"),
    lambda t, x: x.to("meta") is x,
    lambda t, x: t.ones(3).to("meta"),
    lambda t, x: bool(x[0, 0]),
    lambda t, x: float(x[0, 0]),
    lambda t, x: int(x[0, 0]),
    lambda t, x: complex(x[0, 0]),
    lambda t, x: x[0, 0].__index__(),
    lambda t, x: 2 in x,
    lambda t, x: (x.is_meta, x.is_cpu, x.is_cuda, t.ones(2).is_meta, x.get_device()),
    lambda t, x: (x.data_ptr(), x.untyped_storage().data_ptr(), x.untyped_storage().nbytes()),
    lambda t, x: (x.device, t.empty(2, device="meta:0").device, x.nbytes, x.type(), x.half().type()),
    lambda t, x: t.ones(()) + t.ones(3, device="meta"),
    lambda t, x: t.ones(3).copy_(t.ones(3, device="meta")),
    lambda t, x: t.ones(3, device="meta").copy_(t.ones(3)),
    lambda t, x: (t.tensor([1.0, 2.0], device="meta"), t.as_tensor([1], device="meta")),
    lambda t, x: t.from_numpy(np.ones(3)).to("meta"),
    lambda t, x: (t.arange(5, device="meta"), t.linspace(0, 1, 5, device="meta")),
    lambda t, x: (t.randn(2, device="meta"), t.randint(3, (2,), device="meta")),
    lambda t, x: (t.randperm(4, device="meta"), t.rand_like(x), t.eye(3, device="meta")),
    lambda t, x: (t.full((2,), 3.0, device="meta"), t.multinomial(x.abs(), 2)),
    lambda t, x: (t.multinomial(x, 7), t.multinomial(x[0], 9, replacement=True)),
    lambda t, x: f"{x}, {x[0, 0]}",
    lambda t, x: f"{x[0, 0]:.3f}",
    lambda t, x: (x.is_pinned(), x.new_zeros(2), copy.deepcopy(x)),
    lambda t, x: (x.stride(), x.t().stride(), (x.t() + 1).stride(), x.t().contiguous().stride()),
    lambda t, x: (x.storage_offset(), x[1:].storage_offset(), len(x), [row.shape for row in x]),
    lambda t, x: (x == x, x.topk(2), x.sort(), x.masked_fill(x > 0, 1.0), x.where(x > 0, x)),
    lambda t, x: t.nn.functional.one_hot(t.ones(3, dtype=t.int64, device="meta"), 4),
    lambda t, x: t.nn.functional.cross_entropy(x, t.ones(3, dtype=t.int64, device="meta")),
    lambda t, x: t.nn.functional.embedding(t.ones(3, dtype=t.int64, device="meta"), x),
    lambda t, x: (x.fill_(3), x.zero_(), x.normal_(), x.uniform_(), x.copy_(1.0)),
    lambda t, x: t.nn.Linear(3, 4, device="meta").weight,
    lambda t, x: t.nn.Linear(3, 4, device="meta").to("cpu"),
    lambda t, x: t.nn.Linear(3, 4, device="meta").cpu(),
    lambda t, x: t.nn.Linear(3, 4).to("meta").weight.device,
    lambda t, x: t.nn.Linear(3, 4, device="meta").to_empty(device="cpu").weight.device,
    lambda t, x: t.nn.Linear(3, 4, device="meta").load_state_dict(t.nn.Linear(3, 4).state_dict(), assign=True),
    lambda t, x: t.zeros(2, device="meta").mean().backward(),
]


@pytest.mark.parametrize("number", range(len(EQUAL)))
def test_equal(number: int) -> None:
    assert outcome(mtd, EQUAL[number]) == outcome(torch, EQUAL[number])


# The result depends on the numbers: torch has no such kernel, and says so at length.
REFUSED: list[Ask] = [
    lambda t, x: t.nonzero(x),
    lambda t, x: x[x > 0],
    lambda t, x: t.unique(x),
    lambda t, x: t.equal(x, x),
    lambda t, x: t.allclose(x, x),
    lambda t, x: t.repeat_interleave(x, t.ones(3, dtype=t.int64, device="meta"), 0),
    lambda t, x: t.where(x > 0),
    lambda t, x: t.ones(3) + t.ones(3, device="meta"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number: int) -> None:
    x = {t: t.empty(3, 4, device="meta") for t in (torch, mtd)}
    with pytest.raises(RuntimeError):
        REFUSED[number](torch, x[torch])
    with pytest.raises(RuntimeError):
        REFUSED[number](mtd, x[mtd])


@pytest.mark.parametrize("t", [torch, mtd], ids=["torch", "ours"])
def test_a_block_makes_everything_without_numbers(t: Any) -> None:
    with t.device("meta"):
        assert t.ones(3).is_meta and t.tensor([1, 2]).is_meta and t.rand(3).is_meta
        assert t.nn.Linear(2, 2).weight.is_meta
        assert not t.zeros(2, device="cpu").is_meta
        assert not t.from_numpy(np.ones(3)).is_meta
        assert not t.zeros_like(t.ones(3, device="cpu")).is_meta
        assert t.randn(3, generator=t.Generator("cpu")).is_meta


@pytest.mark.parametrize("t", [torch, mtd], ids=["torch", "ours"])
def test_a_model_is_given_memory_later(t: Any) -> None:
    """Deferred initialisation: build on meta, `to_empty`, then initialise."""
    with t.device("meta"):
        model = t.nn.Sequential(t.nn.Linear(4, 8), t.nn.LayerNorm(8), t.nn.Linear(8, 2))
    model.to_empty(device="cpu")
    for layer in model:
        layer.reset_parameters()
    assert model(t.ones(3, 4)).shape == (3, 2)
    assert bool((model[1].weight == 1).all())


@pytest.mark.parametrize("t", [torch, mtd], ids=["torch", "ours"])
def test_a_training_step_and_a_file(t: Any) -> None:
    model = t.nn.Sequential(t.nn.Embedding(50, 16), t.nn.Linear(16, 50)).to("meta")
    optimizer = t.optim.AdamW(model.parameters())
    words = t.zeros(8, 12, dtype=t.int64, device="meta")
    loss = t.nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
    loss.backward()
    assert all(p.grad.is_meta and p.grad.shape == p.shape for p in model.parameters())
    t.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    file = io.BytesIO()
    t.save(model.state_dict(), file)
    file.seek(0)
    assert t.load(file)["0.weight"].is_meta
