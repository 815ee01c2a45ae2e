"""What can go wrong on the way from a value to bytes and back."""

from __future__ import annotations

from minitorch_dist.distributed.exceptions import DistError


class CodecError(DistError):
    """A value could not be sent, or bytes are no value."""


class Unsendable(CodecError, TypeError, AttributeError):
    """Something inside a value cannot be sent; says where it is and what it is.

    (pickle answers with an AttributeError for a local function and with a TypeError for a
    generator; whoever catches either catches this.)
    """

    def __init__(self, what: str, where: str = "") -> None:
        super().__init__(what)
        self.what, self.where = what, where

    def inside(self, place: str) -> Unsendable:
        """The same error, seen from the container in which `place` is."""
        self.where = place + self.where
        return self

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what

    def __reduce__(self) -> tuple[type[Unsendable], tuple[str, str]]:
        return type(self), (self.what, self.where)


class Damaged(CodecError):
    """These bytes are not what any of our writers makes."""


class UnknownName(CodecError, AttributeError):
    """A function or class is named that is not here, or may not be had by name."""
