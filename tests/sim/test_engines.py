"""Every engine: the same events, the same times to the picosecond, the same bits."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, launch, sim
from minitorch_dist.distributed import collectives, schedules, world
from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout, PeerLost
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.reductions import COMBINES
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.sim.fast import vectorised_values
from minitorch_dist.sim.fast.batched_engine import TOGETHER
from tests.fast_forms import needs_fast_forms
from tests.sim.programs import collective
from transports.clock import SYSTEM

MEETING = [s for s in schedules.BUILT_IN.values() if s.collective in TOGETHER]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Any, list[int], int]:
    """A network, an entry for each rank, and a seed."""
    size = draw(st.integers(2, 9) | st.sampled_from([13, 16, 33]))
    kind = draw(st.sampled_from(["uniform", "two_level", "matrix"]))
    random = np.random.default_rng(draw(st.integers(0, 2**16)))

    def link() -> sim.Link:
        return sim.Link(int(random.integers(1, 9)) * 10**6, int(random.integers(1, 90)))

    net: Any = sim.uniform("5us", "100Gb/s", draw(st.sampled_from(["0us", "3us"])))
    if kind == "two_level":
        net = sim.two_level(-(-size // 3), 3, link(), link())
    elif kind == "matrix":
        net = sim.matrix([[link() for _ in range(size)] for _ in range(size)])
    latest = draw(st.sampled_from([0, 10**5, 3 * 10**7]))
    return net, random.integers(0, latest + 1, size).tolist(), draw(st.integers(0, 99))


@needs_fast_forms
@pytest.mark.parametrize("schedule", MEETING, ids=str)
@settings(max_examples=4)
@given(world=worlds(), count=st.sampled_from([0, 1, 7, 60]), adding=st.sampled_from([None, "8GB/s"]))
def test_together_is_message_by_message(
    schedule: Schedule, world: tuple[Any, list[int], int], count: int, adding: str | None
) -> None:
    net, entries, seed = world
    what = (schedule.collective, schedule.algorithm, count, entries)
    size = len(entries)
    one, other = (
        sim.run(collective, size, what, net=net, engine=engine, seed=seed, adding=adding)
        for engine in ("greenlet", "lockstep")
    )
    assert one.results == other.results
    assert one.ranks == other.ranks
    assert one.engine_used == "greenlet" and other.engine_used != "greenlet"


def in_a_row(name: str, algorithm: str, entries: list[int]) -> list[tuple[bytes, int]]:
    first = collective(name, algorithm, 3, entries)
    return [first, collective(name, algorithm, 5), collective(name, algorithm, 1)]


@pytest.mark.parametrize("schedule", MEETING, ids=str)
@settings(max_examples=3)
@given(world=worlds())
def test_several_in_a_row_are_exact(schedule: Schedule, world: tuple[Any, list[int], int]) -> None:
    net, entries, _ = world
    what, size = (schedule.collective, schedule.algorithm, entries), len(entries)
    one = sim.run(in_a_row, size, what, net=net, engine="greenlet")
    other = sim.run(in_a_row, size, what, net=net, engine="lockstep")
    assert one.ranks == other.ranks and one.time == other.time
    assert not other.crossings
    for ours, theirs in zip(one.results, other.results, strict=True):
        assert [value for value, _ in ours] == [value for value, _ in theirs]


@pytest.mark.parametrize("engine", ["greenlet", "lockstep"])
@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_order_of_simulation_does_not_show_in_time(engine: str, seed: int | None) -> None:
    entries = [0, 0, 5, 5, 0, 10**6, 0]
    what = ("all_reduce", "rabenseifner", 50, entries)
    expected = sim.run(collective, 7, what, engine="threads")
    found = sim.run(collective, 7, what, engine=engine, seed=seed)
    assert found.results == expected.results and found.ranks == expected.ranks
    if engine == "greenlet":
        assert found.digest == expected.digest


def mixed() -> list[float]:
    """P2P, collectives, a group and something asynchronous."""
    rank, size = dist.get_rank(), dist.get_world_size()
    sim.compute(rank * 1e-6)
    x = torch.arange(5.0) + rank
    work = dist.all_reduce(x, async_op=True)
    y = torch.zeros(3)
    sent = dist.isend(torch.full((3,), float(rank)), (rank + 1) % size, tag=7)
    dist.recv(y, (rank - 1) % size, tag=7)
    sent.wait()
    work.wait()
    evens = dist.new_group(range(0, size, 2))
    if rank % 2 == 0:
        dist.broadcast(x, 0, group=evens)
    dist.barrier()
    return [*x.tolist(), *y.tolist()]


def test_digests_are_equal_across_engines_and_runs() -> None:
    digests = {sim.run(mixed, 6, engine=engine).digest for engine in ("threads", "greenlet")}
    assert len(digests) == 1
    assert sim.run(mixed, 6).results == launch(mixed, 6)
    assert sim.run(mixed, 6, engine="lockstep").results == launch(mixed, 6)


@pytest.mark.slow
def test_digests_do_not_depend_on_the_seed_of_hashes() -> None:
    program = (
        "from minitorch_dist import sim; from tests.sim.test_engines import mixed;"
        "print(sim.run(mixed, 5).digest, sim.run(mixed, 5, engine='lockstep').digest)"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "77")
    }
    assert len(said) == 1


@pytest.mark.parametrize("size", [2, 3, 5, 8])
@pytest.mark.parametrize("engine", ["threads", "greenlet", "lockstep"])
@pytest.mark.parametrize(
    "name", ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "reduce", "gather", "scatter"]
)
def test_values_are_those_of_a_real_transport(name: str, engine: str, size: int) -> None:
    for algorithm in [n for kind, n in schedules.BUILT_IN if kind == name]:
        found = sim.run(collective, size, (name, algorithm, 11), engine=engine)
        real = launch(collective, size, args=(name, algorithm, 11))
        assert [r[0] for r in found.results] == [r[0] for r in real]


@pytest.mark.parametrize("size", [2, 3, 5, 8, 21])
@pytest.mark.parametrize("count", [0, 1, 7, 40])
@pytest.mark.parametrize("op", ["sum", "max", "product"])
def test_the_ring_in_half_the_work(size: int, count: int, op: str) -> None:
    vectors = np.random.default_rng(size).standard_normal((size, count)).astype(np.float32)
    vectors[0, :3], vectors[1, 2:5] = np.nan, np.inf
    schedule = schedules.BUILT_IN["all_reduce", "ring"]
    sizes = schedule.sizes(size, count)
    slow = vectorised_values.step_by_step(schedule, vectors, sizes, COMBINES[op])
    fast = vectorised_values.round_the_ring(vectors, sizes, COMBINES[op])
    assert all(row.tobytes() == fast[0].tobytes() for row in slow)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 12, 21])
@pytest.mark.parametrize("name", [n for kind, n in schedules.BUILT_IN if kind == "all_reduce"])
def test_one_row_stands_for_all(name: str, size: int) -> None:
    vectors = np.random.default_rng(size).standard_normal((size, 37)).astype(np.float32)
    schedule = schedules.BUILT_IN["all_reduce", name]
    sizes = schedule.sizes(size, 37)
    every = vectorised_values.step_by_step(schedule, vectors, sizes, COMBINES["sum"])
    assert (every == every[0]).all()


def test_values_in_little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [("all_reduce", "ring"), ("all_reduce", "rabenseifner"), ("reduce_scatter", "ring")]
    runs = [sim.run(collective, 6, (*name, 50), engine="lockstep").results for name in names]
    monkeypatch.setattr(vectorised_values, "ROOM", 300)
    assert runs == [sim.run(collective, 6, (*n, 50), engine="lockstep").results for n in names]


@pytest.mark.parametrize("size", [2, 3, 5, 8, 12])
@pytest.mark.parametrize("count", [0, 1, 7, 61])
@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter"])
def test_long_chunks_are_added_up_in_the_order_of_their_messages(
    kind: str, op: str, count: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectorised_values, "PIECE", 40)  # bytes: five numbers
    values = np.random.default_rng(size).standard_normal((size, count))
    values[0, :3], values[1, 2:5] = np.nan, np.inf
    for schedule in [one for (name, _), one in schedules.BUILT_IN.items() if name == kind]:
        sizes, found = schedule.sizes(size, count), []
        for long in (0, 1000):
            monkeypatch.setattr(vectorised_values, "LONG", long)
            vectors = [*values.copy()]
            results = [np.empty(n) for n in sizes] if kind == "reduce_scatter" else vectors
            if kind == "all_reduce":
                vectorised_values.all_reduce(schedule, vectors, sizes, COMBINES[op])
            else:
                vectorised_values.reduce_scatter(schedule, vectors, results, sizes, COMBINES[op])
            found.append([result.tobytes() for result in results])
        assert found[0] == found[1]


# ----------------------------------------------------------------------------- what can go wrong


def different() -> None:
    x = torch.ones(4)
    if dist.get_rank() == 1:
        dist.barrier()
    else:
        dist.all_reduce(x)


def another_length() -> None:
    dist.all_reduce(torch.ones(4 + (dist.get_rank() == 2)))


@pytest.mark.parametrize("program", [different, another_length])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_who_does_something_else_is_found_out(program: Any, size: int) -> None:
    if program is another_length and size == 2:
        return
    with pytest.raises(DistMismatch, match=r"at test_engines.py:\d+"):
        sim.run(program, size, engine="lockstep")


def some_leave(how: str) -> str:
    rank = dist.get_rank()
    if rank == 1:
        if how == "die":
            raise KeyError("gone")
        return "returned"
    try:
        dist.all_reduce(torch.ones(2))
    except PeerLost as error:
        return str(error)
    return "done"


def test_nobody_waits_for_who_has_left() -> None:
    report = sim.run(some_leave, 4, ("return",), engine="lockstep")
    assert "rank 1" in report.results[0] and "all_reduce #0" in report.results[0]
    with pytest.raises(KeyError, match="gone"):
        sim.run(some_leave, 4, ("die",), engine="lockstep")


def test_a_deadlock_says_who_did_not_come() -> None:
    def program() -> None:
        if dist.get_rank() == 2:
            dist.recv(torch.zeros(1), 0)
        dist.all_reduce(torch.ones(1))

    with pytest.raises(sim.Deadlock) as caught:
        sim.run(program, 4, engine="lockstep")
    assert "rank 0 waits for rank 2 in all_reduce #0 (float32[1], SUM) at test_engines" in str(caught.value)
    assert "0 → 2 → 0" in str(caught.value)


@needs_fast_forms
def test_who_comes_too_late() -> None:
    def program() -> None:
        if dist.get_rank() == 1:
            sim.compute(100.0)
        dist.barrier()

    with pytest.raises(DistTimeout, match=r"waited 5.0 s of virtual time in barrier .* for rank 1, which did not"):
        sim.run(program, 3, timeout=5, endless=None, engine="lockstep")


def test_an_engine_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="no engine 'warp'; there are auto, threads"):
        sim.run(mixed, 2, engine="warp")


@needs_fast_forms
def test_many_ranks_meet_by_themselves_and_a_journal_wants_messages(tmp_path: Any) -> None:
    def program() -> float:
        x = torch.ones(10)
        dist.all_reduce(x)
        return float(x.sum().item())

    few, many, odd = (sim.run(program, size) for size in (8, 128, 100))
    assert few.engine_used == "greenlet" and many.engine_used == "greenlet, closed"
    assert odd.engine_used == "greenlet, light"  # some of its ranks leave before others are done
    assert many.results == [1280.0] * 128 and odd.results == [1000.0] * 100
    written = sim.run(program, 64, journal=str(tmp_path / "j"))
    assert written.engine_used == "greenlet"
    shared = sim.two_level(10, 10, sim.link("1us", "100Gb/s"), sim.link("1us", "100Gb/s"), "per_node")
    assert sim.run(program, 100, net=shared).engine_used == "greenlet"
    assert sim.run(program, 100, net=sim.Network(eager=0)).engine_used == "greenlet"


@pytest.mark.slow
@settings(max_examples=12)
@given(data=st.data())
def test_different_collectives_in_a_row_are_exact(data: st.DataObject) -> None:
    """Also where uneven lists, of which a rank knows only its own, come after one another."""
    net, entries, _ = data.draw(worlds())
    size = len(entries)
    parts = st.tuples(st.sampled_from(MEETING), st.sampled_from([0, 1, 7, 60]), st.booleans())
    plan = data.draw(st.lists(parts, min_size=2, max_size=5))
    gaps = [np.random.default_rng(n).integers(0, 10**7, size).tolist() for n in range(5)]

    def program() -> list[tuple[bytes, int]]:
        return [
            collective(s.collective, s.algorithm, count, gaps[n] if late else entries)
            for n, (s, count, late) in enumerate(plan)
        ]

    one, other = (sim.run(program, size, net=net, engine=e) for e in ("greenlet", "lockstep"))
    assert one.results == other.results and one.ranks == other.ranks and not other.crossings


@needs_fast_forms
@pytest.mark.parametrize("size", [3, 5, 8])
def test_messages_beside_light_ones_are_exact(size: int) -> None:
    """A tree's root is done early, so its messages are light, and p2p shares the ports with them."""

    def program() -> None:
        rank = dist.get_rank()
        work = all_reduce_by("binomial", asynchronous=True)
        sim.compute("7us")
        dist.barrier()
        if rank == 0:
            dist.send(torch.ones(5000), size - 1)
        if rank == size - 1:
            dist.recv(torch.zeros(5000), 0)
        work.wait()

    one, other = (sim.run(program, size, engine=engine) for engine in ("greenlet", "lockstep"))
    assert one.ranks == other.ranks and "light" in other.engine_used


def all_reduce_by(algorithm: str, asynchronous: bool) -> Any:
    how = How(algorithm, asynchronous=asynchronous)
    return collectives.all_reduce(world.current().default_group, np.ones(20_000, np.float32), how=how)


def test_a_light_message_is_nobodys_when_the_operation_has_failed() -> None:
    """Rank 3 comes to another one, while messages of the others are on their way."""

    def program() -> None:
        sim.compute(dist.get_rank() * 1e-6)
        all_reduce_by("binomial", asynchronous=False)
        x = torch.ones(3 if dist.get_rank() == 3 else 4)
        dist.all_reduce(x)

    with pytest.raises(DistMismatch, match=r"float32\[3\].*float32\[4\]|float32\[4\].*float32\[3\]"):
        sim.run(program, 5, engine="lockstep")


@needs_fast_forms
def test_other_messages_beside_a_meeting_are_told() -> None:
    def program() -> None:
        rank = dist.get_rank()
        work = dist.all_reduce(torch.ones(1000), async_op=True)
        sim.compute("1us")
        if rank == 0:
            dist.send(torch.ones(1), 1)
        if rank == 1:
            dist.recv(torch.zeros(1), 0)
        work.wait()

    report = sim.run(program, 4, engine="lockstep")
    assert report.crossings == 1 and "1 message met" in str(report)
    assert sim.run(program, 4, engine="greenlet").crossings == 0


def test_a_world_that_is_its_own_neighbour() -> None:
    assert sim.run(collective, 1, ("all_reduce", None, 3), engine="lockstep").time == 0


@pytest.mark.parametrize("world", ["threads", "greenlet", "lockstep", "queue"])
@pytest.mark.parametrize("name", ["all_reduce", "broadcast", "all_gather", "beside", "messages"])
def test_nothing_holds_a_tensor_when_its_operation_is_over(name: str, world: str) -> None:
    """A rank waits where others are not yet, and every simulated thread and worker remembers what it did last."""

    def rank() -> list[bool]:
        me, size = dist.get_rank(), dist.get_world_size()
        x, parts = torch.full((1000,), float(me)), [torch.zeros(1000) for _ in range(size)]
        seen = [weakref.ref(t.array) for t in (x, *parts)]
        if name == "all_reduce":
            dist.all_reduce(x)
        elif name == "broadcast":
            dist.broadcast(x, 0)
        elif name == "all_gather":
            dist.all_gather(parts, x)
        elif name == "beside":
            work = dist.all_reduce(x, async_op=True)
            assert work is not None and work.wait()
            del work
        else:
            sending = dist.isend(x, (me + 1) % size)
            dist.recv(parts[0], (me - 1) % size)
            assert sending is not None and sending.wait()
            del sending
        del x, parts
        gc.collect()
        deadline = SYSTEM.deadline(30)
        while world == "queue" and any(array() is not None for array in seen):
            assert not deadline.is_over()  # a worker forgets its task just after it has said so
            SYSTEM.sleep(0.001)
        return [array() is None for array in seen]

    found = launch(rank, 3) if world == "queue" else sim.run(rank, 3, engine=world).results
    assert found == [[True] * 4] * 3


@pytest.mark.parametrize("algorithm", ["ring", "recursive_doubling", "binomial"])
def test_a_collective_after_messages_that_are_still_on_their_way_is_exact(algorithm: str) -> None:
    def program() -> float:
        rank = dist.get_rank()
        sent = [dist.isend(torch.ones(50_000), to) for to in (1, 2, 3)] if rank == 0 else []
        came = [dist.irecv(torch.zeros(50_000), 0)] if 0 < rank < 4 else []
        sim.compute(1e-6 * (rank + 1))
        all_reduce_by(algorithm, asynchronous=False)
        done = sim.now()
        for work in (*sent, *came):
            assert work is not None
            work.wait()
        return done

    one, other = (sim.run(program, 8, engine=engine) for engine in ("greenlet", "lockstep"))
    assert one.results == other.results and one.ranks == other.ranks and not other.crossings
