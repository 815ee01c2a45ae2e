"""Strange wires, with the rule of lesson 28 and without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mtd.course import checking, lesson, lossy_wires
from mtd.course.path import LessonAnswer
from transports import conformance
from transports.virtual.clock import VirtualClock


@pytest.fixture
def wires() -> Iterator[Any]:
    """Lesson 28, solved."""
    one = lesson.find(28)
    with LessonAnswer.ours(one).searched():
        yield checking.load(one).wires


ALL = [name for name in conformance.CHECKS if name not in ("missing", "death", "death_in_send")]


@pytest.mark.parametrize("kind", ["lossy", "folder"])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_the_rule_makes_a_transport_of_it(wires: Any, kind: str, world_size: int) -> None:
    """Lines 1 to 5 of the contract, with all that was cut out for the lesson's check."""
    names = [name for name in ALL if name != "both_first"]
    with lossy_wires.world(kind, wires, seed=world_size) as launch:
        conformance.check(launch, [world_size], names)


def test_without_the_rule_the_kit_says_what_a_lossy_wire_does(wires: Any) -> None:
    class Trusting(wires.Once):  # type: ignore[misc]
        def take(self, number: int, message: Any, again: bool = False) -> Any:
            self.expected = max(self.expected, number + 1)
            return [message]

    class Rules:
        Once, Kept = Trusting, wires.Kept

    with (
        lossy_wires.world("lossy", Rules, seed=1) as launch,
        pytest.raises(conformance.NotConforming, match="check 'interleaved', 2 ranks"),
    ):
        conformance.check(launch, [2], ["interleaved"], patience=5.0)


def test_a_lossy_wire_really_loses_and_doubles() -> None:
    clock = VirtualClock()
    street = lossy_wires.Street(clock, 3, 2)
    end = lossy_wires.Lossy(street, 0)
    for number in range(500):
        end.put(1, b"%d" % number)
    assert 60 < street.lost < 140 and 60 < street.doubled < 140
    assert len(street.waiting[1]) == 500 - street.lost + street.doubled
    late = [at for at, _ in street.waiting[1]]
    assert late != sorted(late) and max(late) < 3 * 10**9


def test_what_came_and_what_was_read(wires: Any) -> None:
    seen = lossy_wires.delivered("lossy", wires, 12, seed=5)
    assert [n for _, read in seen for n in read] == list(range(12))
    assert sorted({number for number, _ in seen}) == list(range(12))
    assert len(seen) > 12 or [number for number, _ in seen] != list(range(12))


def test_answers_from_before_the_transport_became_an_open_chapter(tmp_path: Path) -> None:
    """They may have it as a class of their own, and call messages letters. What is still open of it is asked for no more."""
    one = lesson.find(28)
    before = one.source.solution().replace("messages", "letters")
    transport = "\n\nclass FolderTransport:\n    def send(self, dst, header, payload):\n        "
    (tmp_path / one.file).write_text(f"{before}{transport}pass\n")
    verdict = checking.check(LessonAnswer(one, tmp_path), only={"correct", "exactly once", "a folder"})
    assert verdict.is_passed, str(verdict)
    (tmp_path / one.file).write_text(f'{before}{transport}raise NotImplementedError("lesson 28, blank 3")\n')
    verdict = checking.check(LessonAnswer(one, tmp_path))
    assert not verdict.is_passed and "Delete the class FolderTransport" in verdict.said["runs"]
