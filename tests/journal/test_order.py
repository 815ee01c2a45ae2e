"""The partial order of a run: the same over every transport, and what it says of causes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, launch, sim
from minitorch_dist.distributed import journal
from minitorch_dist.distributed.journal import Journal
from minitorch_dist.distributed.schedules import BUILT_IN
from tests.journal.programs import everything, ring, sum_by
from tests.sim.programs import collective


@pytest.fixture(autouse=True)
def one_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto` goes by what the network costs, so it differs between transports, and rightly so."""
    for operation, name in (("ALL_REDUCE", "ring"), ("BROADCAST", "binomial")):
        monkeypatch.setenv(f"MINITORCH_DIST_{operation}_ALGORITHM", name)


def several() -> None:
    for key in BUILT_IN:
        collective(*key, 24)


def recorded(fn: object, size: int, folder: Path, *args: object, **how: object) -> Journal:
    path = folder / f"run{len(list(folder.iterdir()))}.mtd"
    sim.run(fn, size, args, journal=path, **how)  # type: ignore[arg-type]
    return journal.read(path)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_real_and_virtual_threads_agree(size: int, tmp_path: Path) -> None:
    launch(everything, size, journal=tmp_path / "queue.mtd")
    real = journal.read(tmp_path / "queue.mtd")
    for seed in range(3):
        net = sim.uniform(f"{3**seed}us", "10Gb/s")
        virtual = recorded(everything, size, tmp_path, seed=seed, net=net)
        assert real.diff(virtual) is None and virtual.diff(real) is None
    assert len(real.messages) == len([e for e in real.events if e.what == "receive"])
    assert all(m.receive is not None and m.arrived >= m.departed for m in real.messages)


@pytest.mark.parametrize("key", BUILT_IN, ids=" ".join)
def test_every_schedule_is_the_same_over_every_transport(key: tuple[str, str], tmp_path: Path) -> None:
    for size in (1, 2, 3, 5):
        run = recorded(collective, size, tmp_path, *key, 24)
        for transport in ("queue://", "sim://"):
            path = tmp_path / f"{transport[:3]}{size}.mtd"
            launch(collective, size, transport, args=(*key, 24), journal=path)
            assert run.diff(journal.read(path)) is None, (transport, size)
        assert (size == 1) == (not run.messages)
        assert len(run.messages) == len([e for e in run.events if e.what == "receive"])


@pytest.mark.slow
def test_schedules_are_the_same_between_processes(tmp_path: Path) -> None:
    launch(several, 3, "tcp://", journal=tmp_path / "tcp.mtd")
    assert journal.read(tmp_path / "tcp.mtd").diff(recorded(several, 3, tmp_path)) is None


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp://", "file://", "mqtt://"])
def test_processes_agree_with_the_simulation(transport: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/wire" if transport == "file://" else transport
    launch(everything, 3, address, journal=tmp_path / "real.mtd")
    real = journal.read(tmp_path / "real.mtd")
    assert real.diff(recorded(everything, 3, tmp_path)) is None
    assert real.transport == transport[: transport.index(":")] and not real.is_virtual
    assert sorted(rank.rank for rank in real.ranks) == [0, 1, 2]
    real.order.line_up()


@pytest.mark.parametrize("size", [3, 5, 8])
def test_another_program_differs_at_the_right_event(size: int, tmp_path: Path) -> None:
    one = recorded(ring, size, tmp_path)
    other = recorded(ring, size, tmp_path, 3, 1)
    found = one.diff(other)
    assert found is not None and found.one is not None and found.other is not None
    # In turn 1, rank 1 sends with tag 5, and rank 2 is ready for tag 5: neither follows from the other.
    assert (found.rank, found.one.what, found.one.step, found.other.step) in ((1, "send", 0, 5), (2, "post", 0, 5))
    assert found.one.nth == 1 if found.rank == 1 else found.one.what == "post"
    assert "they part at rank" in str(found) and "programs.py:" in str(found)
    assert other.diff(one) is not None


def test_one_that_ends_earlier(tmp_path: Path) -> None:
    found = recorded(ring, 3, tmp_path, 2).diff(recorded(ring, 3, tmp_path, 3))
    assert found is not None and found.one is None and found.other is not None
    # Nothing that rank 0 does comes before rank 1's being ready for its third message.
    assert (found.rank, found.other.what, found.other.peer) == (1, "post", 0)
    assert "nothing more of this rank" in str(found) and "after sends 16 bytes" in str(found)


def test_algorithms_may_differ_where_only_operations_count(tmp_path: Path) -> None:
    one, other = (recorded(sum_by, 4, tmp_path, name) for name in ("ring", "recursive_doubling"))
    found = one.diff(other)
    assert found is not None and found.one is not None and found.one.what == "begin"
    assert found.before is None and "at its beginning" in str(found)
    assert one.diff(other, operations_only=True) is None
    assert one.diff(recorded(sum_by, 4, tmp_path, "ring", 65), operations_only=True) is not None


@pytest.mark.parametrize("size", [2, 3, 8])
def test_causes_are_what_arrows_lead_from(size: int, tmp_path: Path) -> None:
    run = recorded(everything, size, tmp_path)
    order = run.order
    causes: dict[int, set[int]] = {}
    for number in order.line_up():
        causes[number] = {number}.union(*(causes[earlier] for earlier in order.before[number]))
    rng = np.random.default_rng(0)
    for a, b in rng.integers(0, len(run), (3000, 2)).tolist():
        expected = a != b and b in causes and a in causes[b]
        assert run.happened_before(a, b) == expected
    for number in range(len(run)):
        assert not run.happened_before(number, number)


@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_messages_that_look_alike_are_told_apart(transport: str, tmp_path: Path) -> None:
    """The same tag again and again, and one step in many segments."""

    def program() -> None:
        ring(5)
        sum_by("ring", 1_500_007)

    launch(program, 3, transport, journal=tmp_path / "run.mtd")
    run = journal.read(tmp_path / "run.mtd")
    assert any(m.send.nth for m in run.messages if m.send.sequence >= 0)
    assert len({id(m.receive) for m in run.messages}) == len(run.messages)
    for send, receive in run.messages:
        assert receive is not None and receive.nth == send.nth and receive.nbytes == send.nbytes
        assert send.at <= receive.arrived <= receive.at
    alike = [m for m in run.messages if m.send.sequence < 0 and m.send.rank == 0]
    assert [m.send.nth for m in alike] == list(range(5))


@pytest.mark.parametrize("size", [2, 3, 8])
def test_causes_run_along_messages_and_programs(size: int, tmp_path: Path) -> None:
    run = recorded(everything, size, tmp_path)
    numbers = {id(event): number for number, event in enumerate(run.events)}
    for send, receive in run.messages:
        assert receive is not None and send.nbytes == receive.nbytes
        assert run.happened_before(numbers[id(send)], numbers[id(receive)])
        assert not run.happened_before(numbers[id(receive)], numbers[id(send)])
    barriers = [op for op in run.operations if op.begin.operation == "barrier"]
    for one in barriers:  # nobody leaves a barrier before everybody has come
        for other in barriers:
            assert one.end is not None
            assert run.happened_before(numbers[id(other.begin)], numbers[id(one.end)])
    firsts = [next(n for n, e in enumerate(run.events) if e.rank == rank) for rank in range(size)]
    assert not any(run.happened_before(a, b) for a in firsts for b in firsts)


def test_what_goes_on_beside_the_program_is_concurrent(tmp_path: Path) -> None:
    def program() -> None:
        work = dist.all_reduce(torch.ones(4), async_op=True)
        sim.compute("1us")
        assert work is not None
        work.wait()
        dist.barrier()

    run = recorded(program, 2, tmp_path)
    of = {e.what: n for n, e in enumerate(run.events) if e.rank == 0 and e.operation != "barrier"}
    then = next(n for n, e in enumerate(run.events) if e.rank == 0 and e.operation == "barrier")
    happened = run.happened_before
    assert happened(of["issue"], of["begin"]) and happened(of["issue"], of["compute"])
    assert not happened(of["compute"], of["end"]) and not happened(of["end"], of["compute"])
    assert happened(of["end"], of["wait"]) and happened(of["compute"], of["wait"])
    assert happened(of["wait"], then) and happened(of["end"], then)
