"""What a call carries besides its values: distributed autograd's context, where there is one.

    caller     load = pack(writer, to)            after the arguments were written: their tensors are known
    callee     with unpacked(load, reader, src)   the function runs in that context
    callee     trip.pack(writer, src)             after the result was written
    caller     back(load, reader, src)            with the answer

The floor of autograd, which stands above, puts itself in here when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Final, Protocol

from minitorch_dist.distributed.codec import Reader, Writer


class Trip(Protocol):
    """One call, as its callee sees it."""

    def pack(self, writer: Writer, to: int) -> Any:
        """What goes along with the answer."""


class Carrier(Protocol):
    def pack(self, writer: Writer, to: int) -> Any:
        """What goes along with a call that the calling thread makes now; None is nothing."""

    def unpacked(self, load: Any, reader: Reader, src: int) -> AbstractContextManager[Trip]: ...
    def back(self, load: Any, reader: Reader, src: int) -> None: ...
    def backward(self, context_id: int, roots: list[Any], retain_graph: bool) -> None: ...


class _Nothing:
    def pack(self, writer: Writer, to: int) -> Any:
        return None


NONE: Final = _Nothing()
carrier: Carrier | None = None
_ROOM: Final = "minitorch_dist.distributed.autograd"


def let_carry(new: Carrier) -> None:
    global carrier
    carrier = new


def pack(writer: Writer, to: int) -> Any:
    return None if carrier is None else carrier.pack(writer, to)


@contextmanager
def unpacked(load: Any, reader: Reader, src: int) -> Iterator[Trip]:
    if load is None:
        yield NONE
        return
    with opened().unpacked(load, reader, src) as trip:
        yield trip


def opened() -> Carrier:
    """Autograd's carrier; its room is opened if nobody was in there yet."""
    if carrier is None:
        import_module(_ROOM)
    assert carrier is not None, "the room of autograd puts its carrier here"
    return carrier


def back(load: Any, reader: Reader, src: int) -> None:
    if load is not None and carrier is not None:
        carrier.back(load, reader, src)
