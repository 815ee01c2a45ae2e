"""One message of RPC: its form, and how it is written and read.

    header   kind u8 · flags u8 · part u16 · parts u16 · id u64 · 0 u64
    part 0   what the codec wrote; the parts after it are its large arrays, one each

    REQUEST  please do this           ANSWER, FAILURE   the result of request `id`
    WAKE     to oneself: look again

The sender gives each request its number.

    RpcWriter ─► parts ─► transport ─► RpcInbox (see `worker`) ─► RpcMessage ─► RpcReader
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed.codec import Reader, Writer
from minitorch_dist.distributed.codec.trust import Trust
from minitorch_dist.tensors.devices import device

HEADER: Final = struct.Struct("<BBHHQQ")
REQUEST, ANSWER, FAILURE = range(3)
WAKE: Final = 6
LOST: Final = 7  # the kind of a `LostNotice`, which is on no wire
SYSTEM: Final = 1  # flag of a request: it is about RPC itself, and runs no function of the user
ONE_WAY: Final = 2  # flag of a request: nobody waits for an answer, and none is sent


class RpcMessage(NamedTuple):
    """A message of which all parts have arrived."""

    src: int
    kind: int
    flags: int
    id: int
    parts: list[memoryview]

    @property
    def is_system(self) -> bool:
        return bool(self.flags & SYSTEM)

    @property
    def is_one_way(self) -> bool:
        return bool(self.flags & ONE_WAY)


class LostNotice(NamedTuple):
    """A worker is gone."""

    src: int
    reason: str
    kind: int = LOST


class RpcWriter(Writer):
    """Writes a message to a worker.

    Some values have to act when the message goes out, and not before: a writer may take back what it wrote.
    `notes` holds such an act by the value's place in `kept`.
    """

    __slots__ = ("notes", "to")

    def __init__(self, to: int, device_name: Callable[[device], str], trusted: Trust) -> None:
        super().__init__(device_name, trust=trusted)
        self.to = to
        self.notes: dict[int, tuple[int, Callable[[], None]]] = {}

    def request(self, operation: int, asked: Any) -> None:
        self.out.append(operation)
        self.value(asked)

    def note(self, act: Callable[[], None]) -> None:
        """Call `act` when the message goes out with the value that was remembered last."""
        self.notes[len(self.kept) - 1] = id(self.kept[-1]), act

    def parts(self) -> list[Any]:
        """The message, which goes out now."""
        if self.notes:
            self._depart()
        return [self.out, *self.buffers]

    def _depart(self) -> None:
        """Call the acts of the values that are still in the message."""
        for place, (identity, act) in self.notes.items():
            if place < len(self.kept) and id(self.kept[place]) == identity:
                act()


class RpcReader(Reader):
    """Reads a message of a worker. Only here may a reference to an object come."""

    __slots__ = ()


# ------------------------------------------------------------------ for distributed autograd

# A message whose call is made in a context of autograd carries a load behind its value:
#
#     caller    load = pack(writer, to, context)     after the arguments are written: their tensors are known
#     callee    pack = enter(load, reader, src)      before the function runs: it runs in that context
#     callee    load = pack(writer, to)              after the result is written
#     caller    back(load, reader, src)              with the answer
#
# Autograd stands above this package and enters its functions here, because `init_rpc` imports it. A call
# outside of all contexts asks for none of them.

Pack = Callable[[Writer, int], Any]  # the load of an answer to that worker


class AutogradHooks(NamedTuple):
    """The functions of autograd."""

    pack: Callable[[Writer, int, int], Any]
    enter: Callable[[Any, Reader, int], Pack]
    back: Callable[[Any, Reader, int], None]


context_id: Final[ContextVar[int | None]] = ContextVar("autograd context", default=None)
autograd: Final[list[AutogradHooks]] = []  # one, as soon as RPC is


def no_load(writer: Writer, to: int) -> None:
    """The `Pack` of a call that was made in no context."""
