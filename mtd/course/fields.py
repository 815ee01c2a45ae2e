"""A TOML file beside a text, as lessons and open chapters have it: the fields of both, read once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mtd.refusals import CannotDo


class LessonError(CannotDo):
    """A lesson's folder is not as it should be, or there is no such lesson."""


@dataclass(frozen=True)
class Titled:
    """A text, and a file that the learner writes."""

    folder: Path
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def title(self) -> str:
        return str(self.fields["title"])

    @property
    def question(self) -> str:
        return str(self.fields["question"])

    @property
    def file(self) -> str:
        """ring.py"""
        return str(self.fields["file"])

    @property
    def module(self) -> str:
        """The name by which it is imported: ring"""
        return self.file.removesuffix(".py")

    @property
    def minutes(self) -> int:
        """Of a learner, about."""
        return int(self.fields["minutes"])

    @property
    def text(self) -> str:
        return (self.folder / "text.md").read_text("utf-8")


def read_fields(path: Path, needed: frozenset[str], more: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The fields in a file. LessonError names those that it lacks, and those that nobody knows."""
    name = f"{path.parent.name}/{path.name}"
    try:
        fields = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise LessonError(f"{name}: {error}") from error
    lacks, strange = sorted(needed - fields.keys()), sorted(fields.keys() - needed - more)
    if lacks or strange:
        raise LessonError(f"{name} lacks {lacks} and has {strange} too many")
    return fields
