"""The errors on the way from a value to bytes and back."""

from __future__ import annotations

from typing import Any

from minitorch_dist.distributed.exceptions import DistError
from transports.plain_text import clean


def shown(value: Any) -> str:
    """Any value in the words of an error: short and soon written, and no function of its class is called."""
    if type(value) in (tuple, list) and len(value) <= 6:
        return f"({', '.join(map(_word, value))})"
    return _word(value)


def _word(value: Any) -> str:
    if type(value) in (str, bytes):
        return repr(value[:100])
    is_short = value is None or type(value) in (bool, float) or (type(value) is int and value.bit_length() < 200)
    return repr(value) if is_short else f"a {type(value).__name__}"


class CodecError(DistError):
    """A value could not be sent, or bytes are no value."""


class Unsendable(CodecError, TypeError, AttributeError):
    """Something inside a value cannot be sent. The text says where it is and what it is.

    (pickle raises an AttributeError for a local function and a TypeError for a generator.
    Code that catches either one catches this, too.)
    """

    def __init__(self, what: str, where: str = "", value: Any = None) -> None:
        super().__init__(what)
        self.what, self.where, self.value = what, where, value

    def inside(self, place: str) -> Unsendable:
        """The same error, seen from the container in which `place` is."""
        self.where = place + self.where
        return self

    def __str__(self) -> str:
        return clean(f"{self.where}: {self.what}" if self.where else self.what)

    def __reduce__(self) -> tuple[type[Unsendable], tuple[str, str]]:
        return type(self), (self.what, self.where)


class DamagedEncoding(CodecError):
    """These bytes are not what any of our writers makes."""


class UnknownName(CodecError, AttributeError):
    """A function or class is named that is not here, or may not be had by name."""
