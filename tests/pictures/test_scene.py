"""What is shown of what happened."""

from __future__ import annotations

import pytest

from minitorch_dist.pictures import words
from tests.pictures.scenes import empty, ping


def test_its_time_and_its_parts() -> None:
    scene = ping()
    assert (scene.start, scene.end) == (0, 100) and (empty().start, empty().end) == (0, 1)
    assert scene.names == ["send", "broadcast"] and scene.groups == ["g", "h"]
    early = scene.until(50)
    assert [s.end for s in early.spans] == [40, 50, 40, 50] and len(early.moments) == 1
    late = scene.between(85, 100)
    assert (len(late.spans), len(late.arrows), len(late.moments)) == (1, 0, 0)
    assert [scene.held(1, at) for at in (79, 80, 95)] == [0, 64, 0] and scene.held(0, 50) == 0


def test_only_some_lanes_and_groups() -> None:
    scene = ping()
    other = scene.only([1])
    assert other.lanes == ["rank 1"] and {s.lane for s in other.spans} == {0}
    assert not other.arrows and other.memory == {0: scene.memory[1]}
    turned = scene.only([1, 0])
    assert (turned.arrows[0].source, turned.arrows[0].to) == (1, 0)
    assert [s.name for s in scene.only(groups=["h"]).spans] == ["", "broadcast"]
    with pytest.raises(ValueError, match="no lane 2; there are 0 to 1"):
        scene.only([2])
    with pytest.raises(ValueError, match=r"no group 'x' did anything; there are \['g', 'h'\]"):
        scene.only(groups=["x"])


def test_amounts_in_words() -> None:
    assert [words.span(n) for n in (0, 999, 1500, 2 * 10**6, 10**12, 5 * 10**15)] == [
        "0 ps",
        "999 ps",
        "1.5 ns",
        "2 µs",
        "1 s",
        "5000 s",
    ]
    assert [words.amount(n) for n in (0, 1023, 1536, 1 << 20, 3 << 30)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "1 MiB",
        "3 GiB",
    ]
    for length in (1, 7, 99, 10**6 + 1, 3 * 10**13):
        found = words.ticks(0, length, 6)
        assert 1 <= len(found) <= 6 and found[0] == 0 and found[-1] <= length
