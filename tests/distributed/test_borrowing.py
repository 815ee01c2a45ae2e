"""Ranks that are threads borrow large parts from each other: the bits, the memory and the errors stay."""

from __future__ import annotations

import hashlib
import tracemalloc
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.exceptions import DistError, DistMismatch
from minitorch_dist.distributed.execution.chunks import EAGER, Vector
from minitorch_dist.distributed.fast import borrowing
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.schedules import BUILT_IN, two_shot
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.launching import launch
from tests.distributed.test_collectives_in_processes import rough
from tests.fast_forms import needs_fast_forms
from tests.transports.wrapping import WrappedTransport
from transports import registry
from transports.contract import Buffer, Transport
from transports.queue import QueueTransport

pytestmark = needs_fast_forms

LARGE = EAGER // 4 + 100  # elements of what is borrowed
from tests.distributed.serving import serving


def group() -> ProcessGroup:
    found = world.current().default_group
    assert isinstance(found, ProcessGroup)
    return found


def bits(borrows: bool) -> dict[tuple[str, str, int], bytes]:
    here, found = group(), {}
    rank, size = here.rank(), here.size()
    here.borrows = borrows
    x = rough(rank, size * LARGE + 1)
    for kind in sorted(borrowing.COLLECTIVES):
        for name in serving(kind, size):
            for count in (LARGE - 200, LARGE):
                if kind == "all_reduce":
                    y = x[: size * count + 1].copy()
                    collectives.all_reduce(here, y, how=How(name))
                elif kind == "reduce_scatter":
                    y = np.zeros(count, np.float32)
                    collectives.reduce_scatter_from(here, y, x[: size * count], how=How(name))
                else:
                    given, y = x[:count].copy(), np.zeros(count * size, np.float32)
                    collectives.all_gather_into(here, given, y, How(name))
                    given[:] = np.nan  # it is ours again
                found[kind, name, count] = hashlib.blake2b(y.tobytes()).digest()  # the bytes of 9 ranks are 300 MB
    collectives.barrier(here)
    assert not here.world.transport.shared_objects()  # nothing is borrowed for longer than an operation
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9])
def test_the_bits_are_those_of_messages(size: int) -> None:
    """And no schedule waits for ever: whether one does depends on its data, and not on who is quick."""
    borrowed, sent = (launch(bits, size, args=(borrows,), timeout=300) for borrows in (True, False))
    for one, other in zip(borrowed, sent, strict=True):
        assert [key for key in one if one[key] != other[key]] == []


def test_who_swaps_sends() -> None:
    swapping = {str(s) for s in BUILT_IN.values() if borrowing.has_swaps(s, 4)}
    assert any("recursive_doubling" in name for name in swapping)
    assert not any("two_shot" in name or "ring" in name for name in swapping)


def test_a_schedule_of_ones_own_sends() -> None:
    """It may rely on sends that wait for nobody."""
    vector = Vector((LARGE,) * 4, 4)
    assert borrowing.is_borrowable(two_shot.all_reduce, 4, vector)
    own = Schedule("all_reduce", "two_shot", two_shot.all_reduce.steps, two_shot.all_reduce.chunks)
    assert not borrowing.is_borrowable(own, 4, vector)


def held(name: str) -> int:
    x = np.ones(1 << 20, np.float32)
    collectives.all_reduce(group(), x, how=How(name))
    collectives.barrier(group())
    if group().rank() == 0:
        tracemalloc.start()
    collectives.barrier(group())
    collectives.all_reduce(group(), x, how=How(name))
    collectives.barrier(group())
    peak = tracemalloc.get_traced_memory()[1]
    if group().rank() == 0:
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize("name", ["two_shot", "ring", "rabenseifner"])
def test_nothing_is_held(name: str) -> None:
    """All ranks together, and whoever is early."""
    assert launch(held, 4, args=(name,), timeout=300)[0] < 1 << 18


def differ(second: str) -> str:
    here, x = group(), np.ones(1 << 18, np.float32)
    try:
        if here.rank() == 0 or second == "none":
            collectives.all_reduce(here, x)
        elif second == "broadcast":
            collectives.broadcast(here, x, 0)
        elif second == "shorter":
            collectives.all_reduce(here, x[: 1 << 17])
        elif second == "small":
            collectives.all_reduce(here, x[:5])
        else:
            raise ArithmeticError("on purpose")
        collectives.barrier(here)
    except DistError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was noticed"


@pytest.mark.parametrize("second", ["broadcast", "shorter", "small"])
@pytest.mark.parametrize("size", [2, 3])
def test_a_mismatch_names_both(second: str, size: int) -> None:
    for said in launch(differ, size, args=(second,), timeout=300):
        assert said.startswith(DistMismatch.__name__), said
        assert "rank 0" in said and "test_borrowing.py" in said and "float32[262144]" in said


def test_a_rank_that_fails_before_it_takes() -> None:
    with pytest.raises(Exception, match="on purpose"):
        launch(differ, 3, args=("raise",), timeout=300)


class Watched(WrappedTransport):
    scheme = "watched"


def whether_it_lends() -> tuple[bool, float]:
    x = np.ones(1 << 18, np.float32)
    collectives.all_reduce(group(), x)
    return group().borrows, float(x[-1])


def test_who_wants_to_see_messages_sees_them_on_all_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert launch(whether_it_lends, 3) == [(True, 3.0)] * 3
    journal = str(tmp_path / "run.mtd")
    assert launch(whether_it_lends, 3, journal=journal) == [(False, 3.0)] * 3
    assert launch(whether_it_lends, 1) == [(True, 1.0)]


class Heavier(QueueTransport):
    """Counts the bytes that are sent."""

    seen: ClassVar[list[int]] = []

    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        self.seen.append(memoryview(payload).nbytes)
        super().send(dst, header, payload)


def test_a_transport_made_of_this_one_sees_all_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transports.queue.Heavier", Heavier, raising=False)
    monkeypatch.setitem(registry.BUILT_IN, "queue", "transports.queue:Heavier")
    Heavier.seen.clear()
    assert launch(whether_it_lends, 2) == [(False, 2.0)] * 2
    assert sum(Heavier.seen) >= 2 * 4 << 18


def test_one_wrapper_is_enough() -> None:
    ends: list[Transport] = [QueueTransport(rank, 2) for rank in range(2)]
    inner = ends[0]
    ends[0] = Watched(inner)
    assert not inner.uses_board and ends[1].uses_board
    assert ends[0].shared_objects() is None and ends[1].shared_objects() is None
