"""Dataclasses as JSON and TOML have them.

    json.dumps(progress, default=plain)       a set as a sorted list, a path as text, a dataclass as its fields
    made(Progress, json.loads(text))          and back: by the types of the fields

A class with `to_json` or `from_json` does its part itself. `Annotated[float, number_of]` says what reads a value.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from mtd.refusals import CannotDo

T = TypeVar("T")


class LessonError(CannotDo):
    """A lesson's folder is not as it should be, or there is no such lesson."""


def plain(value: Any) -> Any:
    """For `json.dumps(…, default=plain)`; a number of numpy becomes a float."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if dataclasses.is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Path):
        return str(value.absolute())
    return sorted(value) if isinstance(value, set) else float(value)


def made(kind: Any, found: Any) -> Any:
    """A value of this type. TypeError, ValueError, KeyError or AttributeError where it is none."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return inner[1](found)
    if origin in (Union, UnionType):  # X | None
        return None if found is None else made(inner[0], found)
    if origin is dict:
        return {made(inner[0], key): made(inner[1], value) for key, value in found.items()}
    if origin is not None:  # list[X], set[X], tuple[X, ...]
        return origin(made(inner[0], one) for one in found)
    if kind is Any or isinstance(found, kind):
        return found
    if hasattr(kind, "from_json"):
        return kind.from_json(found)
    is_record = dataclasses.is_dataclass(kind)
    return record(kind, found) if is_record else kind(found)


def record(kind: type[T], found: Mapping[str, Any]) -> T:
    """A dataclass out of its fields by name."""
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{name: made(hints[name], value) for name, value in found.items()})


def read(path: Path, kind: type[T], **more: Any) -> T:
    """A dataclass out of a TOML file, and `more`. LessonError names the fields that it lacks, and those that nobody knows."""
    name, fields = f"{path.parent.name}/{path.name}", dataclasses.fields(kind)  # type: ignore[arg-type]
    try:
        found = tomllib.loads(path.read_text("utf-8"))
        lacks = {one.name for one in fields if _is_needed(one)} - {*found, *more}
        strange = found.keys() - {one.name for one in fields if one.name not in more}
        if lacks or strange:
            raise LessonError(f"{name} lacks {sorted(lacks)} and has {sorted(strange)} too many")
        return record(kind, found | more)
    except LessonError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise LessonError(f"{name}: {error}") from error


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
