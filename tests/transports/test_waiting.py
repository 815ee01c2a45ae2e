"""Who waits leaves its core now and then: two ranks that share one would never be put on two."""

from __future__ import annotations

import itertools
import mmap
import os

import pytest

from transports import board, clock, spin
from transports.board import Board
from transports.tcp import TcpTransport

LOOKS, YIELDS = 40, 7


@pytest.fixture
def one() -> Board:
    made = Board(mmap.mmap(-1, board.nbytes(2, board.LINE)), 0, 0, 2, board.LINE, None)
    made.spin.set(LOOKS, YIELDS)
    return made


def test_waits_in_vain_step_aside_each_time_enough_of_them_have_been(one, monkeypatch):
    rests, yields = itertools.count(), itertools.count()
    monkeypatch.setattr(spin, "step_aside", lambda: next(rests))
    monkeypatch.setattr(os, "sched_yield", lambda: next(yields))
    for _ in range(3 * clock.ASIDE):
        assert not one.spin.comes(one.ready(1), 0)
    assert next(rests) == 3
    assert next(yields) == 3 * clock.ASIDE * YIELDS


def test_nobody_steps_aside_whose_looks_suffice(one, monkeypatch):
    monkeypatch.setattr(spin, "step_aside", lambda: pytest.fail("it was there at once"))
    one.words[one.ready(1)] = 1
    assert all(one.spin.comes(one.ready(1), 0) for _ in range(3 * clock.ASIDE))


def test_who_is_answered_when_it_yields_looks_less_and_more_again_when_looks_suffice(
    one, monkeypatch
):
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
    for name in ("step_aside", "os"):
        monkeypatch.setattr(spin, name, None)  # would be called in vain
    assert not any(one.spin.comes(one.ready(1), 0) for _ in range(3 * clock.ASIDE))


def test_tcp_asks_to_be_woken_now_and_then_without_yielding_first(monkeypatch):
    yields = itertools.count()
    monkeypatch.setattr(os, "sched_yield", lambda: next(yields))
    transport = TcpTransport(0, 1)
    counts = []
    for _ in range(2 * clock.ASIDE):
        before = next(yields)
        assert transport._spin() == []
        counts.append(next(yields) - before - 1)
    silent = [at + 1 for at, count in enumerate(counts) if not count]
    assert silent == [clock.ASIDE, 2 * clock.ASIDE]
