"""A waiting rank leaves its core now and then: two ranks that share one would never be put on two. And it
yields only while a yield costs little: beside programs that compute, each yield costs a slice of theirs."""

from __future__ import annotations

import itertools
import mmap
import os

import pytest

from transports import board, clock, spin
from transports.board import Board
from transports.tcp import TcpTransport

LOOKS, YIELDS = 40, 7
MICRO, MILLI = 1_000, 1_000_000  # nanoseconds


class Machine:
    """The part of an operating system that a waiting process sees, in time of its own. `slice` is how long a
    yield lasts, and a sleep lasts `wake` longer than asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.slice, self.wake = 0, MICRO, 80 * MICRO
        self.yields = 0
        monkeypatch.setattr(clock.time, "monotonic_ns", lambda: self.now)
        monkeypatch.setattr(clock.time, "sleep", self.sleep)
        monkeypatch.setattr(clock.os, "sched_yield", self.give)

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9) + self.wake

    def give(self) -> None:
        self.yields += 1
        self.now += self.slice


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def exchange(machine: Machine, times: int) -> float:
    """Mean nanoseconds until a waiting rank sees an answer that was there 1 µs after it began to wait."""
    yielding, start = clock.Yielding(), machine.now
    for _ in range(times):
        pause, answered = clock.Backoff(0, 400, yielding=yielding), machine.now + MICRO
        while machine.now < answered:
            pause.pause()
    return (machine.now - start) / times


def test_on_a_quiet_machine_an_answer_is_seen_after_a_yield(machine: Machine) -> None:
    assert exchange(machine, 1000) == MICRO and machine.yields == 1000


@pytest.mark.parametrize("slice", [2 * MILLI, 4 * MILLI, 16 * MILLI, 100 * MILLI])
def test_beside_programs_that_compute_an_answer_does_not_wait_for_their_slices(machine: Machine, slice: int) -> None:
    """Late yields take a tenth of the time, however long a slice is. Other answers wait for a short sleep."""
    machine.slice = slice
    sleep = 1.1 * clock.SHORTEST_NAP * 1e9 + machine.wake
    assert exchange(machine, 10_000) < 1.1 * sleep + slice / 10_000
    assert (machine.yields - 1) * slice <= machine.now / clock.REST


def test_yields_are_tried_anew_when_the_machine_is_quiet_again(machine: Machine) -> None:
    yielding = clock.Yielding()
    machine.slice = 4 * MILLI
    assert yielding.give() and not yielding.give()
    machine.slice = MICRO
    machine.now += clock.REST * 4 * MILLI
    assert all(yielding.give() for _ in range(100))


def test_a_spin_and_a_socket_leave_out_the_yields_that_come_back_late(machine: Machine, one: Board) -> None:
    machine.slice = 4 * MILLI
    for _ in range(5):
        assert not one.spin.comes(one.ready(1), 0)
    assert machine.yields == 1
    transport = TcpTransport(0, 1)
    for _ in range(5):
        assert transport._spin() == []
    assert machine.yields == 2


@pytest.fixture
def one() -> Board:
    made = Board(mmap.mmap(-1, board.nbytes(2, board.LINE)), 0, 0, 2, board.LINE, None)
    made.spin.set(LOOKS, YIELDS)
    return made


def test_waits_in_vain_step_aside_each_time_enough_of_them_have_been(one, machine, monkeypatch):
    rests = itertools.count()
    monkeypatch.setattr(spin, "step_aside", lambda: next(rests))
    for _ in range(3 * clock.ASIDE):
        assert not one.spin.comes(one.ready(1), 0)
    assert next(rests) == 3
    assert machine.yields == 3 * clock.ASIDE * YIELDS


def test_nobody_steps_aside_whose_looks_suffice(one, monkeypatch):
    monkeypatch.setattr(spin, "step_aside", lambda: pytest.fail("it was there at once"))
    one.words[one.ready(1)] = 1
    assert all(one.spin.comes(one.ready(1), 0) for _ in range(3 * clock.ASIDE))


def test_who_is_answered_when_it_yields_looks_less_and_more_again_when_looks_suffice(one, monkeypatch):
    word, number = one.ready(1), itertools.count(1)

    def answer() -> None:
        one.words[word] = next(number)

    monkeypatch.setattr(os, "sched_yield", answer)
    for told in range(3):
        assert one.spin.comes(word, told)
    assert one.spin._at_present == spin.FEW
    for _ in range(3):
        assert one.spin.comes(word, 0)
    assert one.spin._at_present == LOOKS


def test_ranks_of_one_process_never_spin(one, monkeypatch):
    one.spin.set(0, 0)
    monkeypatch.setattr(spin, "step_aside", None)  # would be called in vain
    monkeypatch.setattr(os, "sched_yield", None)
    assert not any(one.spin.comes(one.ready(1), 0) for _ in range(3 * clock.ASIDE))


def test_tcp_asks_to_be_woken_now_and_then_without_yielding_first(machine):
    transport = TcpTransport(0, 1)
    counts = []
    for _ in range(2 * clock.ASIDE):
        before = machine.yields
        assert transport._spin() == []
        counts.append(machine.yields - before)
    silent = [at + 1 for at, count in enumerate(counts) if not count]
    assert silent == [clock.ASIDE, 2 * clock.ASIDE]
