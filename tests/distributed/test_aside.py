"""A store that does not answer holds up nobody who waits, fails or leaves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import bootstrap, flight, slow_start, world
from minitorch_dist.distributed.aside import Aside
from transports.clock import SYSTEM
from transports.errors import DistNetworkError
from transports.stores.store import HashStore

LIMIT = 60.0  # seconds against a hang


class DeadCable(HashStore):
    """From the moment when the cable is pulled every command waits, until the store is given up."""

    def __init__(self) -> None:
        super().__init__()
        self.is_pulled = False
        self.is_asked, self.is_over = threading.Event(), threading.Event()
        self.was_waited_for = False

    def command(self, *given: object) -> list[bytes]:  # type: ignore[override]
        if self.is_pulled:
            self.is_asked.set()
            self.is_over.wait(LIMIT)
            self.was_waited_for = True
            raise DistNetworkError("the store is gone")
        return super().command(*given)  # type: ignore[arg-type]


@pytest.fixture
def store() -> Iterator[DeadCable]:
    made = DeadCable()
    yield made
    made.is_over.set()
    deadline = SYSTEM.deadline(LIMIT)
    while any("of rank" in t.name or "questions" in t.name for t in threading.enumerate()):
        assert not deadline.is_over(), "a thread that asks the store goes on"
        SYSTEM.sleep(0.001)


def wait_for_one_that_leaves(store: DeadCable) -> str:
    mailbox = world.current().mailbox
    mailbox.slow = 0.02
    mailbox.flight._store = store
    dist.barrier()
    if dist.get_rank():
        store.is_asked.wait(LIMIT)
        return ""
    store.is_pulled = True
    with pytest.raises(dist.PeerLost) as lost:
        dist.recv(torch.zeros(1), dist.get_world_size() - 1)
    assert store.is_asked.is_set() and not store.was_waited_for
    return str(lost.value)


@pytest.mark.parametrize("size", [2, 3])
def test_a_note_about_a_long_wait_holds_up_nobody(size: int, store: DeadCable) -> None:
    said = launch(wait_for_one_that_leaves, size, args=(store,))
    assert said[0].startswith(f"rank {size - 1} is lost (it has left")


def wait_too_long(store: DeadCable) -> str:
    world.current().mailbox.flight._store = store
    dist.barrier()
    said = ""
    if dist.get_rank() == 0:
        store.is_pulled = True
        group = dist.group.WORLD
        assert group is not None
        group.set_timeout(timedelta(seconds=0.2))
        with pytest.raises(dist.DistTimeout) as late:
            dist.recv(torch.zeros(1), 1)
        assert not store.was_waited_for
        said = str(late.value)
        group.set_timeout(timedelta(seconds=LIMIT))
    dist.barrier()
    return said


def test_the_report_of_a_timeout_is_written_without_the_store(
    store: DeadCable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight, "PATIENCE", 0.05)
    said = launch(wait_too_long, 3, args=(store,))[0]
    assert "rank 0 waited" in said and "rank 2: last heard in barrier" in said


class ShortOfTime(HashStore):
    """Notes for how long commands may take, and is gone from the moment when the cable is pulled."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[float] = []
        self.is_pulled = False

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        if self.is_pulled:
            self.limits.append(timeout)
            raise DistNetworkError("the store did not answer")
        return super().command(operation, keys, values, timeout)


def test_a_rank_leaves_without_the_store_and_without_a_thread() -> None:
    store = ShortOfTime()
    dist.init_process_group("queue", store=store, rank=0, world_size=1)
    store.is_pulled = True
    before = threading.active_count()
    dist.destroy_process_group()
    assert store.limits == [bootstrap.DEPARTURE] and threading.active_count() <= before
    assert not dist.is_initialized()


def test_a_slow_start_ends_without_the_store(
    store: DeadCable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MINITORCH_DIST_SLOW", "0.02")
    monkeypatch.setattr(slow_start, "ANSWER", 0.05)
    store.is_pulled = True
    with caplog.at_level(logging.WARNING), slow_start.saying("a test", SYSTEM) as word:
        word.what = lambda: slow_start.of_ranks(store, 2)
        deadline = SYSTEM.deadline(LIMIT)
        while "a test has waited" not in caplog.text and not deadline.is_over():
            SYSTEM.sleep(0.005)
    assert not store.was_waited_for
    assert "for the store, which does not answer" in caplog.text


def test_answers_come_in_order_and_failures_are_none() -> None:
    aside = Aside(SYSTEM, "a test")
    seen: list[int] = []

    def fail() -> None:
        raise DistNetworkError("no")

    answers = [aside.ask(lambda n=n: seen.append(n) or n) for n in range(5)]  # type: ignore[misc]
    last = aside.ask(fail)
    assert aside.settle(last, LIMIT) and last.value is None
    assert [answer.value for answer in answers] == seen == [0, 1, 2, 3, 4]
