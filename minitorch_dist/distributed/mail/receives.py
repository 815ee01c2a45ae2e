"""Where a message goes: into the array that waits for it, or into a buffer until somebody wants it.

A posted `PostedReceive` is a sink of the transport. Each piece is copied, or reduced, straight from the
wire (or the mapped ring, or the sender's buffer) into its destination:

    copy     into[i:j] = piece
    reduce   into[i:j] = combine(operand[i:j], piece)        operand is `into` unless given

An `Arrival` is a message that came before its receive was posted.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock  # noqa: TID251 - the mailbox's; nothing waits while holding it
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.reductions import CombineFunction
from transports.contract import is_unwritten
from transports.frames import NOTHING, octets
from transports.virtual.inboxes import Waiting

Array: TypeAlias = np.ndarray[Any, Any]


class PostponedCopy(NamedTuple):
    """A rank's copy of its own part. It belongs to an operation, and can be made at any time
    during it."""

    into: Array
    of: Array


EMPTY: Array = np.empty(0, np.uint8)
LARGE = 1 << 14  # bytes, from which a copy takes so long that others should run meanwhile


class Owner(Protocol):
    """The poster of a receive: an operation of a group, or a call of recv."""

    @property
    def expects(self) -> bytes:
        """How the fingerprint of a message must begin."""

    def describe(self) -> str: ...

    def fail(self, error: Exception) -> None:
        """Fail all that this owner waits for."""


def copy(into: memoryview, piece: memoryview) -> None:
    """Copy bytes. While numpy copies, other threads of this process may run."""
    if into.readonly:
        return  # of an array without numbers, which takes none (see `tensors.shape_arrays`)
    if piece.nbytes < LARGE:
        into[:] = piece
    else:
        np.copyto(np.frombuffer(into, np.uint8), np.frombuffer(piece, np.uint8))


class PostedReceive:
    """A posted receive. Done once its message has arrived whole, or `error` says why not.

    It is copied into the contiguous array `into`, or into = combine(operand, message), where operand is `into`
    unless given. Without `into` it takes a message of any size, and `octets` holds it.
    """

    __slots__ = (
        "_carry", "_combine", "_flat", "_is_given", "_operand", "came", "done", "error", "filled", "header",
        "match", "nbytes", "octets", "owner", "sender", "serial", "source",
    )  # fmt: skip

    def __init__(
        self,
        source: int | None,
        match: bytes,
        owner: Owner,
        into: Array | None,
        combine: CombineFunction | None = None,
        operand: Array | None = None,
    ) -> None:
        self.source, self.match, self.owner = source, match, owner
        self.done = False
        self.error: Exception | None = None
        self.filled = self.serial = 0
        self.sender, self.header, self._carry = -1, b"", b""
        self.came: tuple[int, int] | None = None  # for a recorder (see there)
        self.octets, self._flat, self._operand = NOTHING, EMPTY, EMPTY
        self.nbytes, self._is_given, self._combine = -1, into is not None, combine
        if into is not None:
            self.nbytes = into.nbytes
            if combine is None:
                self.octets = octets(into)
            else:
                self._flat = into.reshape(-1)  # a view: what is posted is contiguous
                self._operand = self._flat if operand is None else operand.reshape(-1)

    def is_done(self) -> bool:
        return self.done

    __call__ = is_done  # as a transport asks that waits for it, and says what for

    def waiting_for(self) -> Waiting:
        """The rank and the operation that a thread waits for if it waits for this."""
        _, sequence, step = wire.MATCH.unpack(self.match)
        at = f", step {step & ~wire.GATE}" if sequence < wire.NOTICE else ""
        ranks = () if self.source is None else (self.source,)
        return Waiting(ranks, self.owner.describe() + at)

    def begin(self, sender: int, header: bytes, nbytes: int) -> None:
        """The message is coming."""
        self.sender, self.header = sender, header
        if self.nbytes < 0:
            self.nbytes = nbytes
            self.octets = memoryview(bytearray(nbytes))
        if nbytes == 0 or self.filled:
            self.nbytes, self.done = nbytes, True

    def fail(self, error: Exception) -> None:
        if not self.done:
            self.error = error
            self.done = True

    # ------------------------------------------------------------------------------ it is a sink

    def write(self, piece: memoryview) -> None:
        if self.error is not None:
            return
        count, size = piece.nbytes, self._flat.itemsize
        if self._combine is None:
            copy(self.octets[self.filled : self.filled + count], piece)
        elif self._carry or count % size:
            self._reduce_cut(piece, self._combine, size)
        elif count:
            self._combine_at(self.filled // size, piece, self._combine)
        self.advance(count)

    def space(self) -> memoryview | None:
        if self._combine is None and self.error is None:
            return self.octets[self.filled :]
        return None

    def advance(self, nbytes: int) -> None:
        self.filled += nbytes
        if self.filled >= self.nbytes:
            if self._is_given:  # let go of it
                self.octets, self._flat, self._operand = NOTHING, EMPTY, EMPTY
            self.done = True

    def _reduce_cut(self, piece: memoryview, combine: CombineFunction, size: int) -> None:
        """Combine whole elements; the beginning of one that is cut waits in `_carry`."""
        start = self.filled - len(self._carry)
        if self._carry:
            missing = size - len(self._carry)
            self._carry += piece[:missing]
            piece = piece[missing:]
            if len(self._carry) < size:
                return
            self._combine_at(start // size, self._carry, combine)
            start += size
            self._carry = b""
        rest = piece.nbytes % size
        if rest:
            self._carry = bytes(piece[-rest:])
            piece = piece[:-rest]
        if piece.nbytes:
            self._combine_at(start // size, piece, combine)

    def _combine_at(self, at: int, octets: memoryview | bytes, combine: CombineFunction) -> None:
        into, operand = self._flat, self._operand
        theirs = np.frombuffer(octets, into.dtype)
        if theirs.size != into.size:
            to = at + theirs.size
            into, operand = into[at:to], operand[at:to]
        with np.errstate(all="ignore"):  # as torch: an overflow is inf, and nothing is said
            combine(operand, theirs, out=into)

    def __repr__(self) -> str:
        state = f"failed: {self.error}" if self.error else "done" if self.done else "waiting"
        source = "anybody" if self.source is None else f"rank {self.source}"
        return f"<Receive from {source}, {self.filled} of {self.nbytes} bytes, {state}>"


class Arrival:
    """A message that nobody has asked for yet. It is handed over when it is whole, if it was claimed meanwhile."""

    __slots__ = ("_lock", "came", "claimed", "filled", "header", "nbytes", "octets", "sender", "serial")

    def __init__(self, lock: Lock, sender: int, header: bytes, nbytes: int) -> None:
        self._lock = lock  # the mailbox's
        self.sender, self.header, self.nbytes, self.serial = sender, header, nbytes, 0
        self.octets = np.empty(nbytes, np.uint8).data
        self.filled = 0
        self.claimed: PostedReceive | None = None  # it was asked for while it was arriving
        self.came: tuple[int, int] | None = None  # for a recorder (see there)

    @property
    def is_whole(self) -> bool:
        return self.filled >= self.nbytes

    def write(self, piece: memoryview) -> None:
        to = self.filled + piece.nbytes
        if is_unwritten(piece) and piece.nbytes == self.nbytes:
            self.octets = piece  # a length without bytes
        else:
            copy(self.octets[self.filled : to], piece)
        self.advance(piece.nbytes)

    def space(self) -> memoryview | None:
        return self.octets[self.filled :]

    def advance(self, nbytes: int) -> None:
        with self._lock:
            self.filled += nbytes
            claimed = self.claimed if self.is_whole else None
        if claimed is not None and claimed.error is None:
            self.hand_over(claimed)

    def hand_over(self, receive: PostedReceive) -> None:
        receive.came = self.came
        if receive.nbytes < 0:  # it takes anything: the buffer itself
            receive.octets, receive.nbytes, receive.filled = self.octets, 0, self.nbytes
        receive.begin(self.sender, self.header, self.nbytes)
        if not receive.done:
            receive.write(self.octets)
        self.octets = NOTHING  # the mailbox remembers the last message of each rank, not its bytes

    def __repr__(self) -> str:
        return f"<Arrival from rank {self.sender}, {self.filled} of {self.nbytes} bytes>"


class Discard:
    """The sink of what nobody may have."""

    def write(self, piece: memoryview) -> None:
        pass

    def space(self) -> memoryview | None:
        return None

    def advance(self, nbytes: int) -> None:
        pass


DISCARD = Discard()


class WholeSink:
    """A sink that fills `view`, and calls `on_complete` when all of it is there. An empty message does not call it."""

    __slots__ = ("_filled", "_on_complete", "_view")

    def __init__(self, view: memoryview, on_complete: Callable[[], None]) -> None:
        self._view, self._filled, self._on_complete = view, 0, on_complete

    def write(self, piece: memoryview) -> None:
        self._view[self._filled : self._filled + piece.nbytes] = piece
        self.advance(piece.nbytes)

    def space(self) -> memoryview | None:
        return self._view[self._filled :]

    def advance(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled == self._view.nbytes:
            self._on_complete()
