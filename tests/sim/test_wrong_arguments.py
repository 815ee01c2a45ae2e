"""Wrong arguments of `sim.run` and `sim.gpu`: the error names the one that is wrong, before anything runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from minitorch_dist import sim


def nobody() -> None:
    raise AssertionError("nothing runs")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"world_size": "3"}, "world_size is a whole number of ranks, not '3'"),
        ({"world_size": 2.5}, "world_size is a whole number of ranks, not 2.5"),
        ({"world_size": True}, "world_size is a whole number of ranks, not True"),
        ({"fn": 3}, "calls a function on every rank, but got 3"),
        ({"args": 3}, "args is a tuple of what fn is called with, not 3"),
        ({"kwargs": 3}, "kwargs is a dictionary"),
        ({"seed": "x"}, "seed is a whole number, not 'x'"),
        ({"seed": 1.5}, "seed is a whole number, not 1.5"),
        ({"timeout": "x"}, "timeout is a number of seconds, not 'x'"),
        ({"limit": "x"}, "limit is a number of seconds, not 'x'"),
        ({"endless": "x"}, "endless is a number of seconds, not 'x'"),
        ({"events": "x"}, "events is a number of events, not 'x'"),
        ({"flops": []}, "flops is a number, or a text"),
        ({"speeds": [1]}, r"speeds is factors by rank, like \{3: 0.5\}, not \[1\]"),
        ({"speeds": {0: "x"}}, "that of rank 0 is 'x'"),
        ({"journal": 3}, "journal is the name of a file, not 3"),
        ({"faults": 3}, "faults is a list of faults, not 3"),
        ({"hardships": 3}, "hardships is a text of letters, not 3"),
    ],
    ids=str,
)
@pytest.mark.parametrize("more", [{}, {"fold": True, "shapes": True}], ids=["", "folded"])
def test_a_wrong_kind_is_told(words: dict[str, Any], said: str, more: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=said):
        sim.run(**{"fn": nobody, "world_size": 2, **words}, **more)


@pytest.mark.parametrize("name", ["limit", "endless"])
@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_seconds_that_are_no_span_are_told(name: str, seconds: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is at least 0 seconds, or None for no end"):
        sim.run(nobody, 2, **{name: seconds})


def test_numbers_of_numpy_are_numbers() -> None:
    report = sim.run(
        sim.compute, np.int64(2), ("1us",), seed=np.int32(1), limit=np.float64(1), speeds={np.int64(1): np.float32(0.5)}
    )
    assert [rank.time for rank in report.ranks] == [1_000_000, 2_000_000]


def test_a_device_is_named_by_a_text() -> None:
    for name in (3, None, ["h100"]):
        with pytest.raises(TypeError, match="a device is named by a text"):
            sim.gpu(name)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a device has no 'flops'; it has attention, bandwidth, "):
        sim.gpu("h100", flops=3)
    with pytest.raises(TypeError, match="a device's peak is by dtype"):
        sim.Device("mine", 3, "1TB/s")  # type: ignore[arg-type]
