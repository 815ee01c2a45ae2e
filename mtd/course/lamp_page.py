"""The verdict of a check in a notebook: the lamps, what the first that is out says, and what the ranks held."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final

from minitorch_dist.pictures.words import preformatted
from mtd.course.cells import NotebookDrawing
from mtd.course.examination import Examination
from mtd.course.lesson import Lesson
from mtd.course.verdict import STARS, CheckVerdict
from transports import plain_text

SIGNS: Final = {True: ("✔", "#1a7f37"), False: ("✘", "#d32f2f"), None: ("–", "#808080")}
PRINTED: Final = 12  # lines of what the code printed


class LampPage:
    """A verdict that shows itself: HTML in a notebook, letters elsewhere."""

    def __init__(self, exam: Examination, verdict: CheckVerdict, following: Lesson | None = None) -> None:
        self.verdict, self._following = verdict, following
        self._printed = plain_text.clean(exam.printed).split("\n")[-PRINTED:] if exam.printed else []
        self._drawn = None
        if not exam.undrawn:
            scene = (exam.scene or exam.text) if exam.grid is None else ""
            self._drawn = NotebookDrawing(scene, exam.grid)

    @property
    def complaint(self) -> list[str]:
        """The words of the first lamp that is out, line by line."""
        name = self.verdict.first_out
        return f"{name}: {self.verdict.said[name]}".split("\n") if name else []

    def lamps(self) -> Iterator[tuple[str, str]]:
        """Each with its colour; the stars are the last."""
        for name, is_on in self.verdict.lamps.items():
            sign, colour = SIGNS[is_on]
            cost = f" {self.verdict.costs[name]}" if name in self.verdict.costs else ""
            yield f"{sign} {name}{cost}", colour
        if self.verdict.lamps:
            stars = self.verdict.stars
            yield "★" * stars + "☆" * (STARS - stars), "#b58900"

    @property
    def next_step(self) -> str:
        if self.verdict.unwritten:
            return "A cell is written into the file when you run it."
        if not self.verdict.is_passed:
            return "Change the cell, run it, and check again."
        more = f" Next: mtd notebook {self._following.number}" if self._following else ""
        return f"Passed. Ours: mtd notebook {self.verdict.lesson.number} --solution.{more}"

    @property
    def used(self) -> str:
        """Whose functions of earlier lessons it stood on."""
        owners = {True: "yours", False: "ours"}
        said = [f"lesson {number} is {owners[is_own]}" for number, is_own in self.verdict.used.items()]
        return f"({', '.join(said)})" if said else ""

    def __repr__(self) -> str:
        lines = [f"Still to be written: {said}" for said in self.verdict.unwritten]
        lines += ["  ".join(said for said, _ in self.lamps())]
        head, *rest = self.complaint or [""]
        lines += [f"✘ {head}" if head else "", *(f"    {line.strip()}" for line in rest)]
        lines += [f"your code printed: {line}" for line in self._printed]
        lines += [self.used]
        return "\n".join([*filter(None, lines), *([f"{self._drawn!r}"] if self._drawn else []), self.next_step])

    def _repr_html_(self) -> str:
        blank = "".join(f"<li>{escape(said)}</li>" for said in self.verdict.unwritten)
        parts = [f"Still to be written:<ul>{blank}</ul>"] if blank else []
        lamps = [f'<b style="color:{colour};white-space:nowrap">{escape(said)}</b>' for said, colour in self.lamps()]
        parts += [f"<p>{' &nbsp; '.join(lamps)}</p>"] if lamps else []
        head, *rest = self.complaint or [""]
        parts += [f'<p style="color:{SIGNS[False][1]}">✘ {escape(head)}</p>'] if head else []
        parts += [preformatted("\n".join(line.strip() for line in rest))] if rest else []
        if self._printed:
            parts.append("<p>your code printed:</p>" + preformatted("\n".join(self._printed)))
        parts += [f'<p style="opacity:.7">{self.used}</p>'] if self.used else []
        drawn = self._drawn._repr_html_() if self._drawn else ""
        return f'<div class="mtd-check">{"".join(parts)}{drawn}<p>{escape(self.next_step)}</p></div>'
