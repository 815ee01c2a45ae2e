"""Operation × kind of mismatch × way of carrying it out × first and repeated call: found everywhere.

One rank calls something else than the others: another operation, dtype, number of elements, split,
root, reduce op, algorithm or order. Whatever carries operations out (messages, loans between
threads, a board, simulated engines), somebody says DistMismatch, nobody is content, and nobody
waits for ever. Without a mismatch all are content: that is a cell, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch, sim
from minitorch_dist.distributed.execution.chunks import EAGER
from minitorch_dist.distributed.fast.board_call import DRIVE
from tests.distributed import nursery

LARGE: Final = EAGER // 4 + 100  # elements of what threads borrow from each other


class Say(NamedTuple):
    """What a rank means by its call."""

    count: int = 6
    dtype: torch.dtype = torch.float32
    op: Any = dist.ReduceOp.SUM
    root: int = 0
    algorithm: str | None = None
    split: int = 0  # so many elements more for rank 0, and less for the last one


def ones(count: int, say: Say) -> torch.Tensor:
    return torch.ones(count, dtype=say.dtype)


def parts(size: int, say: Say) -> list[int]:
    """Elements for each rank."""
    counts = [say.count] * size
    counts[0] += say.split
    counts[-1] -= say.split
    return counts


def lists(size: int, say: Say) -> list[torch.Tensor]:
    return [ones(count, say) for count in parts(size, say)]


def broadcast(rank: int, size: int, say: Say) -> None:
    dist.broadcast(ones(say.count, say), say.root, algorithm=say.algorithm)


def all_reduce(rank: int, size: int, say: Say) -> None:
    dist.all_reduce(ones(say.count, say), say.op, algorithm=say.algorithm)


def reduce(rank: int, size: int, say: Say) -> None:
    dist.reduce(ones(say.count, say), say.root, say.op, algorithm=say.algorithm)


def all_gather(rank: int, size: int, say: Say) -> None:
    into = lists(size, say)
    dist.all_gather(into, ones(len(into[rank]), say), algorithm=say.algorithm)


def all_gather_single(rank: int, size: int, say: Say) -> None:
    dist.all_gather_single(ones(say.count * size, say), ones(say.count, say), algorithm=say.algorithm)


def gather(rank: int, size: int, say: Say) -> None:
    into = lists(size, say) if rank == say.root else None
    dist.gather(ones(say.count, say), into, say.root, algorithm=say.algorithm)


def scatter(rank: int, size: int, say: Say) -> None:
    given = lists(size, say) if rank == say.root else None
    dist.scatter(ones(say.count, say), given, say.root, algorithm=say.algorithm)


def reduce_scatter(rank: int, size: int, say: Say) -> None:
    given = lists(size, say)
    dist.reduce_scatter(ones(len(given[rank]), say), given, say.op, algorithm=say.algorithm)


def reduce_scatter_single(rank: int, size: int, say: Say) -> None:
    given = ones(say.count * size, say)
    dist.reduce_scatter_single(ones(say.count, say), given, say.op, algorithm=say.algorithm)


def all_to_all(rank: int, size: int, say: Say) -> None:
    own = parts(size, say)[rank]
    dist.all_to_all([ones(own, say) for _ in range(size)], lists(size, say), algorithm=say.algorithm)


def all_to_all_single(rank: int, size: int, say: Say) -> None:
    counts = parts(size, say)
    taken = [counts[rank]] * size
    splits = (taken, counts) if say.split else (None, None)
    into, given = ones(sum(taken), say), ones(sum(counts), say)
    dist.all_to_all_single(into, given, *splits, algorithm=say.algorithm)


def all_gather_object(rank: int, size: int, say: Say) -> None:
    dist.all_gather_object([None] * size, rank)


def gather_object(rank: int, size: int, say: Say) -> None:
    dist.gather_object(rank, [None] * size if rank == say.root else None, say.root)


def broadcast_object_list(rank: int, size: int, say: Say) -> None:
    dist.broadcast_object_list([rank] * say.count, say.root)


def scatter_object_list(rank: int, size: int, say: Say) -> None:
    dist.scatter_object_list([None], list(range(size)) if rank == say.root else None, say.root)


def barrier(rank: int, size: int, say: Say) -> None:
    dist.barrier()


def monitored_barrier(rank: int, size: int, say: Say) -> None:
    dist.monitored_barrier()


def new_group(rank: int, size: int, say: Say) -> None:
    dist.new_group([0, size - 1] if say.root == 0 else [0])


Act = Callable[[int, int, Say], None]
SUMMING = (all_reduce, reduce, reduce_scatter, reduce_scatter_single)
ROOTED = (broadcast, reduce, gather, scatter, gather_object, broadcast_object_list, scatter_object_list)
LISTS = (all_gather, reduce_scatter, all_to_all, all_to_all_single)
ARRAYS = (
    broadcast, all_reduce, reduce, all_gather, all_gather_single, gather, scatter, reduce_scatter,
    reduce_scatter_single, all_to_all, all_to_all_single,
)  # fmt: skip
OBJECTS = (all_gather_object, gather_object, broadcast_object_list, scatter_object_list)
ALL: tuple[Act, ...] = (*ARRAYS, *OBJECTS, barrier, monitored_barrier, new_group)
BY = {
    all_reduce: ("ring", "recursive_doubling"),
    all_gather: ("ring", "direct"),
    all_gather_single: ("ring", "direct"),
    all_to_all: ("direct", "pairwise"),
    all_to_all_single: ("direct", "bruck"),
    reduce_scatter_single: ("ring", "direct"),
    broadcast: ("binomial", "chain"),
    reduce: ("binomial", "chain"),
}


class Cell(NamedTuple):
    """`mine` is what all ranks call, but for the one that calls `other`; before it all called the
    right thing `repeats` times."""

    name: str
    mine: tuple[tuple[Act, Say], ...]
    other: tuple[tuple[Act, Say], ...]
    repeats: int

    @property
    def is_right(self) -> bool:
        return self.mine == self.other


def kinds(act: Act) -> Iterator[tuple[str, Any, Any]]:
    """Kinds of mismatch that this operation can have: what the many and what the one calls."""
    plain = Say()
    yield "none", (act, plain), (act, plain)
    yield "operation", (act, plain), (ALL[(ALL.index(act) + 1) % len(ALL)], plain)
    if act in ARRAYS:
        yield "dtype", (act, plain), (act, Say(dtype=torch.int32))
        yield "count", (act, plain), (act, Say(count=7))
        yield "no count", (act, plain), (act, Say(count=0))
    if act in SUMMING:
        yield "reduce op", (act, plain), (act, Say(op=dist.ReduceOp.MAX))
    if act in ROOTED or act is new_group:
        yield "root", (act, plain), (act, Say(root=1))
    if act in LISTS:
        yield "split", (act, plain), (act, Say(split=2))
        yield "other split", (act, Say(split=1)), (act, Say(split=3))
        yield "same split", (act, Say(split=1)), (act, Say(split=1))
    if act in BY:
        one, other = BY[act]
        yield "algorithm", (act, Say(algorithm=one)), (act, Say(algorithm=other))
    if act in (all_reduce, all_gather_single, reduce_scatter_single, all_gather, reduce_scatter):
        yield "large count", (act, Say(count=LARGE)), (act, Say(count=LARGE + 1))
        yield "large", (act, Say(count=LARGE)), (act, Say(count=LARGE))
    if act in (all_gather, reduce_scatter, all_to_all):
        yield "large split", (act, Say(count=LARGE)), (act, Say(count=LARGE, split=1))


def cells() -> list[Cell]:
    found = []
    for act, repeats in product(ALL, (0, 2)):
        for kind, mine, other in kinds(act):
            found.append(Cell(f"{act.__name__} {kind} {repeats}", (mine,), (other,), repeats))
        after = ALL[(ALL.index(act) + 3) % len(ALL)]
        one, two = (act, Say()), (after, Say())
        found.append(Cell(f"{act.__name__} order {repeats}", (one, two), (two, one), repeats))
    return found


def outcome(cell: Cell, liar: int) -> str:
    """What this rank has to say to a cell."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for _ in range(cell.repeats):
        for act, say in cell.mine:
            act(rank, size, say)
    try:
        for act, say in cell.other if rank == liar else cell.mine:
            act(rank, size, say)
        for _ in range(1 if cell.is_right else 2 * DRIVE):  # who only sent is told soon afterwards
            dist.barrier()
    except dist.DistError as error:
        return type(error).__name__
    except Exception as error:
        return repr(error)
    return "content"


TOLD: Final = {"DistMismatch", "PeerFailed", "PeerLost"}


def judge(cell: Cell, found: list[str], is_virtual: bool = False) -> str:
    """What is wrong with a cell's outcome; empty if nothing is. In virtual time ranks that wait for
    each other, so that no message comes to be compared, are a Deadlock at once, which names the
    operation of each."""
    if cell.is_right:
        return "" if set(found) == {"content"} else f"{cell.name}: {found}"
    is_found = "DistMismatch" in found and set(found) <= TOLD
    if is_virtual:
        is_found = {"DistMismatch", "Deadlock"} & set(found) and set(found) <= TOLD | {"Deadlock"}
    return "" if is_found else f"{cell.name}: {found}"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks that wait for each other look at each other's notes after 0.2 seconds, and not 10."""
    monkeypatch.setenv("MINITORCH_DIST_SLOW", "0.2")


def liars(size: int) -> tuple[int, ...]:
    return (0, size - 1)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("engine", ["queue", "threads", "greenlet", "lockstep", "closed"])
def test_in_one_process(engine: str, size: int) -> None:
    wrong, stride = [], 1 if engine in ("queue", "closed") else 3  # they share most of their code
    for number, cell in enumerate(cells()[size % stride :: stride]):
        given = cell, liars(size)[number % 2]
        if engine == "queue":
            found = launch(outcome, size, args=given, timeout=300)
        else:
            found = sim.run(outcome, size, given, engine=engine).results
        wrong.append(judge(cell, found, engine != "queue"))
    assert not any(wrong), "\n".join(filter(None, wrong))


def in_a_row(rank: int, address: str, folder: str, stride: int, first: int) -> list[str]:
    """Every `stride`-th cell, each in a world of its own."""
    size = dist.get_world_size()
    found = []
    for number, cell in enumerate(cells()[first::stride]):
        with suppress(dist.DistError):  # it says once more what was wrong
            dist.destroy_process_group()
        place = f"{address}{folder}/m{number}" if address == "file://" else address
        dist.init_process_group(place, f"file://{folder}/s{number}", rank=rank, world_size=size)
        found.append(outcome(cell, liars(size)[number % 2]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("address", ["file://", "tcp://"])
def test_in_processes(address: str, size: int, tmp_path: Path) -> None:
    stride = 3  # another third for each of the sizes
    first = size % stride
    start = f"{address}{tmp_path}/first" if address == "file://" else address
    given = address, str(tmp_path), stride, first
    (results,) = nursery.run([nursery.World(start, size, in_a_row, given)])
    wrong = [
        judge(cell, [outcomes[number] if outcomes else "died" for outcomes in results])
        for number, cell in enumerate(cells()[first::stride])
    ]
    assert not any(wrong), "\n".join(filter(None, wrong))
