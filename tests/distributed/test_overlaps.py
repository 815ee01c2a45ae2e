"""Arguments that share memory: right on every wire, or refused on every wire."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed import overlaps
from minitorch_dist.launching import launch

Tensor = torch.Tensor
SHORT, LONG = 2, 70_000  # elements of a block; long ones are borrowed, or cut into segments


def block(rank: int, to: int, long: int) -> Tensor:
    """The data that a rank has for another."""
    return torch.arange(long, dtype=torch.float64) + 1e6 * rank + 1e9 * to


def whole(rank: int, size: int, long: int) -> Tensor:
    return torch.cat([block(rank, to, long) for to in range(size)])


def received(rank: int, size: int, long: int) -> Tensor:
    return torch.cat([block(source, rank, long) for source in range(size)])


def summed(rank: int, size: int, long: int) -> Tensor:
    return sum(block(source, rank, long) for source in range(1, size)) + block(0, rank, long)


# Each of these gives what was found on a rank, and what is right.


def all_to_all_in_place(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    x = whole(rank, size, long)
    dist.all_to_all_single(x, x)
    return x, received(rank, size, long)


def all_to_all_beside_the_caller(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    x = whole(rank, size, long)
    dist.all_to_all_single(x, x, async_op=True).wait()
    return x, received(rank, size, long)


def all_to_all_shifted(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    x = torch.cat([torch.zeros(3, dtype=torch.float64), whole(rank, size, long)])
    dist.all_to_all_single(x[:-3], x[3:])
    return x[:-3], received(rank, size, long)


def all_to_all_lists(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    parts = list(whole(rank, size, long).chunk(size))
    dist.all_to_all(parts, parts)
    return torch.cat(parts), received(rank, size, long)


def all_to_all_lists_turned(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    parts = [block(rank, to, long) for to in range(size)]
    outputs = parts[1:] + parts[:1]
    dist.all_to_all(outputs, parts)
    return torch.cat(outputs), received(rank, size, long)


def gather_into_list(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    """The input is the output for another rank."""
    outputs = [torch.zeros(long, dtype=torch.float64) for _ in range(size)]
    outputs[(rank + 1) % size].copy_(block(rank, 0, long))
    dist.all_gather(outputs, outputs[(rank + 1) % size])
    return torch.cat(outputs), received(0, size, long)


def gather_into_columns(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    """Outputs that lie in each other's gaps do not overlap."""
    table = torch.zeros(long, size, dtype=torch.float64)
    dist.all_gather(list(table.unbind(1)), block(rank, 0, long))
    return table.t().reshape(-1), received(0, size, long)


def gather_from_within(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    x = torch.zeros(size * long, dtype=torch.float64)
    own = x[min(1, size - 1) :][:long]
    own.copy_(block(rank, 0, long))
    dist.all_gather_into_tensor(x, own)
    return x, received(0, size, long)


def sums_within(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    x = whole(rank, size, long)
    dist.reduce_scatter_tensor(x[:long], x)
    return x[:long], summed(rank, size, long)


def sums_of_list_within(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    parts = list(whole(rank, size, long).chunk(size))
    dist.reduce_scatter(parts[-1], parts)
    return parts[-1], summed(rank, size, long)


def scatter_into_anothers_part(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    x = whole(0, size, long)
    parts = list(x.chunk(size)) if rank == 0 else None
    output = x[-long:] if rank == 0 else torch.zeros(long, dtype=torch.float64)
    dist.scatter(output, parts, 0)
    return output, block(0, rank, long)


def gather_from_anothers_part(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    outputs = [torch.zeros(long, dtype=torch.float64) for _ in range(size)]
    outputs[-1].copy_(block(rank, 0, long))
    dist.gather(outputs[-1], outputs if rank == 0 else None, 0)
    found = torch.cat(outputs) if rank == 0 else outputs[-1]
    return found, received(0, size, long) if rank == 0 else block(rank, 0, long)


def batch_in_place(rank: int, size: int, long: int) -> tuple[Tensor, Tensor]:
    x, right, left = block(rank, 0, long), (rank + 1) % size, (rank - 1) % size
    ops = [dist.P2POp(dist.irecv, x, left), dist.P2POp(dist.isend, x, right)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return x, block(left, 0, long)


RIGHT: list[Callable[[int, int, int], tuple[Tensor, Tensor]]] = [
    all_to_all_in_place, all_to_all_beside_the_caller, all_to_all_shifted,
    all_to_all_lists, all_to_all_lists_turned, gather_into_list, gather_into_columns, gather_from_within,
    sums_within, sums_of_list_within, scatter_into_anothers_part, gather_from_anothers_part,
    batch_in_place,
]  # fmt: skip


def wrong_ones() -> list[str]:
    """The programs that gave something else on this rank, here and in a second call of their kind."""
    rank, size = dist.get_rank(), dist.get_world_size()
    wrong = []
    for long in (SHORT, LONG, SHORT):
        for program in RIGHT:
            found, expected = program(rank, size, long)
            if not torch.equal(found, expected):
                wrong.append(f"{program.__name__}, {long} elements, rank {rank}")
    return wrong


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_inputs_may_lie_in_outputs(size: int) -> None:
    assert launch(wrong_ones, size, "queue://", timeout=300) == [[]] * size
    assert sim.run(wrong_ones, size).results == [[]] * size


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["tcp://", "file://"])
def test_inputs_may_lie_in_outputs_in_processes(wire: str) -> None:
    assert launch(wrong_ones, 3, wire, timeout=300) == [[]] * 3


# ------------------------------------------------------------------------------------------ refused


def new(*shape: int) -> Tensor:
    return torch.zeros(*shape)


def refusals() -> list[str]:
    """The errors of this rank, none of which may leave a message under way."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x, buffer, table = torch.ones(4), new(4 * size), new(size, 4)
    halves = [buffer[2 * at : 2 * at + 4] for at in range(size)]
    array = np.zeros(4, np.float32)
    twice = [torch.from_numpy(array), torch.from_numpy(array[:]), *(new(4) for _ in range(size - 2))]

    calls: list[Callable[[], Any]] = [
        lambda: dist.all_gather([x] * size, torch.ones(4)),
        lambda: dist.all_gather([x] * size, torch.ones(4), async_op=True),
        lambda: dist.all_gather(halves, x),
        lambda: dist.all_gather(twice, x),
        lambda: dist.all_gather([*table[:-1], table[0]], x),
        lambda: dist.all_to_all([x] * size, [new(4) for _ in range(size)]),
        lambda: dist.gather(x, halves, dst=rank),
        lambda: dist.batch_isend_irecv([dist.P2POp(dist.irecv, x, peer) for peer in range(size)]),
        lambda: dist.all_gather([new(1).expand(4) for _ in range(size)], x),
        lambda: dist.all_reduce(new(1, 4).expand(3, 4)),
    ]
    found = []
    for number, call in enumerate(calls):
        try:
            call()
            found.append(f"{number} went through")
        except (ValueError, RuntimeError) as error:
            found.append(f"{type(error).__name__}: {error}")
    dist.all_reduce(x)
    assert x.tolist() == [float(size)] * 4
    return found


NAMES = [
    r"tensor_list[0] and tensor_list[1]",
    r"tensor_list[0] and tensor_list[1]",
    r"tensor_list[0] and tensor_list[1]",
    r"tensor_list[0] and tensor_list[1]",
    r"tensor_list[0] and tensor_list[LAST]",
    r"output_tensor_list[0] and output_tensor_list[1]",
    r"gather_list[0] and gather_list[1]",
    r"the tensor of p2p_op_list[0] and the tensor of p2p_op_list[1]",
]


@pytest.mark.parametrize("size", [2, 3, 5])
def test_outputs_that_overlap_are_refused_by_name(size: int) -> None:
    for said in (*launch(refusals, size, "queue://", timeout=300), *sim.run(refusals, size).results):
        for name, error in zip(NAMES, said, strict=False):
            name = name.replace("LAST", str(size - 1))
            assert error.startswith(f"ValueError: {name} overlap in memory"), (name, error)
        for error in said[len(NAMES) :]:
            assert "refers to a single memory location" in error, error


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["tcp://", "file://"])
def test_outputs_that_overlap_are_refused_in_processes(wire: str) -> None:
    for said in launch(refusals, 3, wire, timeout=300):
        assert not [error for error in said if re.search("went through|Lost|Mismatch", error)]


def received_twice() -> float:
    """Messages of one rank come in their order, so the last one stays."""
    x = new(3)
    peer = 1 - dist.get_rank()
    ops = [dist.P2POp(dist.irecv, x, peer)] * 2
    ops += [dist.P2POp(dist.isend, torch.full((3,), 1.0 + n), peer) for n in range(2)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    return x[0].item()  # type: ignore[no-any-return]


def test_two_messages_of_one_rank_may_go_to_one_place() -> None:
    assert launch(received_twice, 2, "queue://", timeout=300) == [2.0, 2.0]


# ------------------------------------------------------------------------------- what is an overlap


def test_an_array_whose_elements_are_one() -> None:
    x = np.arange(24.0)
    strided = np.lib.stride_tricks.as_strided
    apart = [
        x,
        x[::-1],
        x.reshape(4, 6).T,
        x.reshape(2, 3, 4).transpose(2, 0, 1)[:, ::-1],
        x[:0],
        strided(x, (3, 4), (16, 40)),
        strided(x, (1, 4), (0, 8)),
    ]
    for array in apart:
        assert not overlaps.overlaps_itself(array)
    for array in (strided(x, (3, 3), (8, 8)), np.broadcast_to(x, (2, 24)), strided(x, (4, 3), (16, 8))):
        assert overlaps.overlaps_itself(array)


def test_random_views_of_one_array() -> None:
    """Compared with numbers that are written through one view and read through the others."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        base = np.zeros(40)
        views = [base[a : a + n : step] for a, n, step in rng.integers(1, 12, (4, 3)).tolist()]
        is_apart = True
        for one in range(4):
            base[:] = 0
            views[one][...] = 1
            is_apart &= not any(view.any() for at, view in enumerate(views) if at != one)
        try:
            overlaps.check_apart(views, str)
            said = True
        except ValueError:
            said = False
        assert said == is_apart
        base[:] = 0
        views[0][...] = views[1][...] = 1
        copies = overlaps.copied_where_shared(views[2:], views[:2])
        for view, copy in zip(views[2:], copies, strict=True):
            assert copy is not view or not view.any()
