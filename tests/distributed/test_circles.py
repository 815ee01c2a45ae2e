"""Ranks that wait for each other for ever are named over real wires; ranks that are only late are not."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread, Timer

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import circles, rpc
from minitorch_dist.distributed.circles import Note, Wait
from minitorch_dist.distributed.exceptions import PeerFailed
from minitorch_dist.distributed.mail import wire
from minitorch_dist.launching import launch
from transports.errors import Deadlock


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_SLOW", "0.02")


def receive_first() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    dist.recv(torch.zeros(2), (rank - 1) % size)


def two_groups() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    everybody, ends = dist.new_group(range(size)), dist.new_group([0, size - 1])
    first, second = (ends, everybody) if rank == size - 1 else (everybody, ends)
    dist.all_reduce(torch.ones(1), group=first)
    if rank in (0, size - 1):
        dist.all_reduce(torch.ones(1), group=second)


def beside_the_caller() -> None:
    """The program waits for a Work, whose worker waits."""
    rank, size = dist.get_rank(), dist.get_world_size()
    groups = [dist.new_group(range(size)) for _ in range(2)]
    for group in groups if rank else reversed(groups):
        dist.all_reduce(torch.ones(1), group=group, async_op=True).wait()


def one_message_too_few() -> None:
    if dist.get_rank() == 0:
        for _ in range(dist.get_world_size()):
            dist.recv(torch.zeros(1))
    else:
        dist.send(torch.ones(1), 0)
    dist.barrier()


@pytest.mark.parametrize("wire", ["queue://", "tcp://"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_receive_from_anybody_that_nobody_can_send_is_named(size: int, wire: str) -> None:
    with pytest.raises(Exception, match="rank 0 waits for anybody in recv") as failed:
        launch(one_message_too_few, size, wire)
    assert "barrier #0 at test_circles.py:" in str(failed.value)


@pytest.mark.parametrize("wire", ["queue://", "tcp://"])
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("program", [receive_first, two_groups, beside_the_caller])
def test_a_circle_is_named(program: Callable[[], None], size: int, wire: str) -> None:
    with pytest.raises(
        (Deadlock, PeerFailed)
    ) as failed:  # a rank may hear first of another one's deadlock, in its words
        launch(program, size, wire)
    said = str(failed.value)
    assert "In a circle each rank waits for the next" in said and "test_circles.py:" in said
    assert ("different groups" in said) == (program is not receive_first)


def busy() -> list[float]:
    """Messages round a ring, collectives of two groups, work beside the caller; some ranks are late."""
    rank, size = dist.get_rank(), dist.get_world_size()
    other = dist.new_group(range(size))
    seen, work = [], None
    for step in range(60):
        late = np.random.default_rng(step * size + rank).random((300, 200 + 100 * (step % 3)))
        late @ late.T
        taken = torch.zeros(1)
        if rank == 0:
            for _ in range(size - 1):
                dist.recv(torch.zeros(2), tag=3)
        else:
            dist.send(torch.ones(2), 0, tag=3)
        sending = dist.isend(torch.full((1,), float(rank)), (rank + 1) % size)
        dist.recv(taken, (rank - 1) % size)
        sending.wait()
        if work is not None:
            work.wait()
        work = dist.all_reduce(taken, async_op=True)
        dist.all_reduce(torch.ones(2), group=other)
        seen.append(float(taken))
    return seen


@pytest.mark.parametrize("size", [2, 3, 5])
def test_those_who_are_late_are_no_circle(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_SLOW", "0.0005")
    for seen in launch(busy, size, "tcp://"):
        assert len(seen) == 60


def compute() -> None:
    """So long that the other rank looks many times."""
    block = np.random.default_rng(0).random((400, 400))
    for _ in range(60):
        block = block @ block
        block /= block.max()


def answer() -> None:
    x = torch.zeros(1)
    dist.recv(x, 0)
    dist.send(x + 1, 0)


def a_thread_listens() -> float:
    """The thread waits for the answer to a message that the program has still to send."""
    x = torch.zeros(1)
    if dist.get_rank():
        answer()
    else:
        listener = Thread(target=dist.recv, args=(x, 1))
        listener.start()
        compute()
        dist.send(torch.ones(1), 1)
        listener.join()
    return float(x)


def a_thread_sends() -> float:
    """The program waits for the answer to a message that a thread has still to send."""
    x = torch.zeros(1)

    def ask() -> None:
        compute()
        dist.send(torch.ones(1), 1)

    if dist.get_rank():
        answer()
    else:
        asking = Thread(target=ask)
        asking.start()
        dist.recv(x, 1)
        asking.join()
    return float(x)


def a_helper_sends() -> float:
    """A thread that the library has started for the program."""
    x = torch.zeros(1)
    if dist.get_rank():
        answer()
    else:
        helper = sim.start(ask_by_call)
        dist.recv(x, 1)
        helper.join()
    return float(x)


def a_timer_sends() -> float:
    """A thread that has not begun to do anything."""
    x = torch.zeros(1)
    if dist.get_rank():
        answer()
    else:
        later = Timer(0.3, dist.send, (torch.ones(1), 1))
        later.start()
        dist.recv(x, 1)
        later.join()
    return float(x)


def a_call_sends() -> float:
    """A function that another rank has called here sends while the program waits."""
    x = torch.zeros(1)
    rpc.init_rpc(f"worker{dist.get_rank()}", rank=dist.get_rank(), world_size=dist.get_world_size())
    if dist.get_rank():
        rpc.rpc_async("worker0", ask_by_call)
        answer()
    else:
        dist.recv(x, 1)
    rpc.shutdown()
    return float(x)


def ask_by_call() -> None:
    compute()
    dist.send(torch.ones(1), 1)


@pytest.mark.parametrize("wire", ["tcp://", "file://"])
@pytest.mark.parametrize("program", [a_thread_listens, a_thread_sends, a_timer_sends, a_helper_sends, a_call_sends])
def test_a_rank_with_a_thread_that_may_send_is_not_accused(program: Callable[[], float], wire: str) -> None:
    assert launch(program, 2, wire) == [2.0, 0.0]


# ------------------------------------------------------------------------ notes, as ranks write them


def note(*waits: Wait, begun: dict[str, int] | None = None, **counts: dict[str, int]) -> Note:
    return Note(
        1, list(waits), waits[0].serial if waits else None, begun or {}, counts.get("sent", {}), counts.get("came", {})
    )


MESSAGE = Wait(1, 7, wire.POINT_TO_POINT, 1, "recv")
COLLECTIVE = Wait(1, 7, 4, 1, "all_reduce")
THERE = Wait(9, 8, 0, 0, "barrier")


def test_a_message_that_is_under_way_ends_the_wait() -> None:
    here, there = note(MESSAGE, came={"1": 2}), note(THERE, sent={"0": 3})
    assert circles._held_up_by(MESSAGE, 1, 0, here, there) is None
    assert circles._held_up_by(MESSAGE, 1, 0, here._replace(came={"1": 3}), there) == THERE


def test_a_rank_that_has_begun_the_operation_may_have_sent() -> None:
    here = note(COLLECTIVE)
    assert circles._held_up_by(COLLECTIVE, 1, 0, here, note(THERE, begun={"7": 5})) is None
    assert circles._held_up_by(COLLECTIVE, 1, 0, here, note(THERE, begun={"7": 4})) == THERE
    inside = Wait(9, 7, 4, 2, "all_reduce")
    assert circles._held_up_by(COLLECTIVE, 1, 0, here, note(inside, begun={"7": 5})) == inside


def test_a_program_that_does_not_wait_may_come_yet() -> None:
    there = note(THERE)._replace(program=None)
    assert circles._held_up_by(COLLECTIVE, 1, 0, note(COLLECTIVE), there) is None


def test_a_note_that_was_not_written_again_proves_nothing() -> None:
    before = note(THERE)
    assert not circles._is_same(before, before)
    assert circles._is_same(before, before._replace(beat=2))
    assert not circles._is_same(before, before._replace(beat=2, sent={"0": 1}))


def test_a_note_is_read_as_it_was_written() -> None:
    written = note(THERE, begun={"7": 5}, sent={"0": 3})
    assert Note.read(written.written()) == written and Note.read("") is None
