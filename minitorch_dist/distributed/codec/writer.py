"""From a value to bytes. One small function for each type, found by the type itself.

`plain`, `arrays`, `failures` and `pickled` put their functions into the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

from minitorch_dist.distributed.codec import kinds
from minitorch_dist.distributed.codec.errors import Unsendable
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.tensors.devices import device


class Writer:
    """One message in the making: `out` is its meta, `buffers` are its outside buffers.

    `kept` are the values with an identity, in the order in which the reader meets them.
    """

    __slots__ = (
        "_depth", "_numbers", "buffers", "device_name", "kept", "out", "outside_from", "trust",
    )  # fmt: skip

    def __init__(
        self, device_name: Callable[[device], str] = str, outside_from: int = kinds.OUTSIDE_FROM,
        trust: Trust = Trust.VALUES,
    ) -> None:  # fmt: skip
        self.device_name, self.outside_from, self.trust = device_name, outside_from, trust
        self.out = bytearray()
        self.buffers: list[memoryview] = []
        self.kept: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._depth = 0

    def value(self, value: Any) -> None:
        """Write any value. Unsendable says what inside it cannot be."""
        (_WRITERS.get(type(value)) or _by_ancestry(type(value)))(self, value)

    def otherwise(self, value: Any) -> None:
        """Write a value that has no form of its own (see `pickled`)."""
        _WRITERS[object](self, value)

    def text(self, text: str) -> None:
        """Write a text without its kind."""
        encoded = text.encode(errors="surrogatepass")
        self.out += kinds.COUNT.pack(len(encoded))
        self.out += encoded

    def octets(self, view: memoryview) -> None:
        """Write bytes that the reader knows the number of: inside, or as an outside buffer."""
        if view.nbytes < self.outside_from:
            self.out.append(0)
            self.out += view
        else:
            if len(self.buffers) >= kinds.MAX_BUFFERS:
                raise Unsendable(f"more than {kinds.MAX_BUFFERS} large arrays in one message")
            self.out.append(1)
            self.out += kinds.COUNT.pack(len(self.buffers))
            self.buffers.append(view)

    def mark(self) -> tuple[int, ...]:
        """A point to which `back_to` returns as if nothing had been written since."""
        return len(self.out), len(self.buffers), len(self.kept), self._depth

    def back_to(self, mark: tuple[int, ...]) -> None:
        size, buffers, kept, self._depth = mark
        del self.out[size:], self.buffers[buffers:]
        for value in self.kept[kept:]:
            self._numbers.pop(id(value), None)
        del self.kept[kept:]

    # --------------------------------------------------------------------------------- containers

    def is_new(self, value: Any) -> bool:
        """Whether it is written for the first time. If it is not, this writes where it stands."""
        number = self._numbers.setdefault(id(value), len(self.kept))
        if number < len(self.kept):
            self.out += kinds.KIND_AND_COUNT.pack(kinds.SAME, number)
            return False
        self.kept.append(value)
        return True

    def items(self, kind: int, whole: Collection[Any], items: Iterable[Any] | None = None) -> None:
        """A container, and the values in it: `items`, where going through it gives others."""
        self.out += kinds.KIND_AND_COUNT.pack(kind, len(whole))
        self._depth += 1
        if self._depth > kinds.MAX_DEPTH:
            raise Unsendable(f"containers nested deeper than {kinds.MAX_DEPTH}")
        place = -1
        try:
            for place, item in enumerate(whole if items is None else items):  # noqa: B007
                (_WRITERS.get(type(item)) or _by_ancestry(type(item)))(self, item)
        except Unsendable as error:
            raise error.inside(_where(whole, place)) from None
        self._depth -= 1

    def __repr__(self) -> str:
        return f"<Writer, {len(self.out)} bytes and {len(self.buffers)} buffers>"


def _where(whole: Collection[Any], place: int) -> str:
    """The n-th of the values that were written of a container, for an error."""
    if isinstance(whole, set | frozenset):
        return "{…}"
    return f"[{list(whole)[place // 2]!r}]" if isinstance(whole, dict) else f"[{place}]"


Write = Callable[[Writer, Any], None]
_WRITERS: Final[dict[type[Any], Write]] = {}
_ANCESTORS: Final[list[tuple[type[Any], Write]]] = []  # of types that are not in the table itself


def writes(kind: type[Any], write: Write, below: bool = False) -> None:
    """Let this function write values of a type; with `below` also those of all types below it."""
    if below:
        _ANCESTORS.append((kind, write))
    else:
        _WRITERS[kind] = write


def _by_ancestry(kind: type[Any]) -> Write:
    found = (write for ancestor, write in _ANCESTORS if issubclass(kind, ancestor))
    return next(found, _WRITERS[object])


def encode(value: Any, trust: Trust = Trust.VALUES) -> tuple[bytearray, list[memoryview]]:
    """The meta and the outside buffers of a value; the buffers are the value's own memory."""
    writer = Writer(trust=trust)
    writer.value(value)
    return writer.out, writer.buffers
