"""Threads of the system clock: an interrupted `join` waits again, and what was started is waited for."""

from __future__ import annotations

import signal
import threading

import pytest

from transports.clock import SYSTEM


class Handler(Exception):
    """What a signal handler raises."""


def interrupt(number: int, frame: object) -> None:
    raise Handler


def test_a_join_that_was_interrupted_does_not_take_the_thread_for_ended() -> None:
    may_end, done = threading.Event(), []

    def work() -> None:
        may_end.wait(60)
        done.append(True)

    thread = SYSTEM.start(work, "works")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Handler):
            thread.join()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert thread.is_alive()
    may_end.set()
    thread.join()
    assert done and not thread.is_alive()


def test_a_join_may_be_bounded_and_a_failing_thread_ends() -> None:
    may_end = threading.Event()

    def work() -> None:
        may_end.wait(60)

    thread = SYSTEM.start(work, "waits")
    thread.join(0)
    assert thread.is_alive()
    may_end.set()
    thread.join(300)
    thread.join()
    assert not thread.is_alive()
