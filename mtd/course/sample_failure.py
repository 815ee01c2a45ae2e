"""A real failure of a lesson's check, and how to read it. It stands beneath the lesson's text.

[failure] in lesson.toml
    mutant    the wrong version of mutants/ that fails so
    wrote     what is wrong in it, as its writer would say it
    said      the check's words; … stands for what is left out
    reading   what they mean, and what to look at

`mtd dev check` and the walk compare `said` with what the check really says of the mutant.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from mtd.course.records import LessonError

HEADING: Final = "A failure, and how to read it"
CUT: Final = "…"
COLUMNS: Final = 78


@dataclass(frozen=True)
class SampleFailure:
    mutant: str
    wrote: str
    said: str  # begins with the lamp: `bytes: 8 ranks …`
    reading: str

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """LessonError if one of the four is missing, or another is there."""
        try:
            return cls(**{key: str(value).strip() for key, value in fields.items()})
        except TypeError as error:
            raise LessonError(f"[failure] has mutant, wrote, said and reading: {error}") from error

    @property
    def lamp(self) -> str:
        return self.said.partition(": ")[0]

    def is_what(self, complaint: str) -> bool:
        """Whether the check's words about the mutant are these, but for what is left out."""
        parts = [re.escape(part.strip()) for part in _line(self.said).split(CUT)]
        return re.fullmatch(".*".join(parts), _line(f"{self.lamp}: {complaint}")) is not None

    @property
    def page(self) -> str:
        """Markdown, for the end of the lesson's text."""
        lines = [
            piece
            for line in f"✘ {self.said}".split("\n")
            for piece in textwrap.wrap(line, COLUMNS, subsequent_indent="  ") or [""]
        ]
        block = "\n".join(lines)
        return f"## {HEADING}\n\n{self.wrote} The check says:\n\n```\n{block}\n```\n\n{self.reading}\n"


def _line(text: str) -> str:
    return " ".join(text.split())
