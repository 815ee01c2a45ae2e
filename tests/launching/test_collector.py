"""Ranks that are threads share the garbage collector."""

from __future__ import annotations

import gc

import pytest

from minitorch_dist import launch
from minitorch_dist.launching import collector


@pytest.mark.parametrize(("ranks", "times"), [(1, 1), (8, 1), (16, 2), (800, 100), (10**5, 4000)])
def test_it_waits_longer_the_more_there_are(ranks: int, times: int) -> None:
    before = gc.get_threshold()
    with collector.shared(ranks):
        assert gc.get_threshold() == (before[0] * times, *before[1:])
    assert gc.get_threshold() == before


def test_one_within_another_waits_no_longer() -> None:
    before = gc.get_threshold()
    with collector.shared(10**5):
        outer = gc.get_threshold()
        with collector.shared(10**5):
            assert gc.get_threshold() == outer
        with collector.shared(16):
            assert gc.get_threshold() == outer
        assert gc.get_threshold() == outer
    assert gc.get_threshold() == before


def test_it_is_as_it_was_after_a_world_and_off_if_it_was_off() -> None:
    before = gc.get_threshold()
    assert launch(gc.get_threshold, 16, "sim://") == [(before[0] * 2, *before[1:])] * 16
    with pytest.raises(ZeroDivisionError):
        launch(lambda: 1 // 0, 16, "sim://")
    assert gc.get_threshold() == before
    gc.set_threshold(0)
    try:
        assert launch(gc.get_threshold, 16, "sim://")[0][0] == 0
    finally:
        gc.set_threshold(*before)
