"""The contract of a transport: its methods, and its promises.

A transport carries whole messages between the ranks 0 … world_size-1: a small `header` and a
`payload`, both bytes. It knows no tags and no groups; matching is written once, in the mailbox
above. Five media share this face, two of which have no connections and one no real time.

    the mailbox above          sink(src, header, nbytes)        lost(src, reason)
         │ send / progress           ▲  where shall it go?            ▲
         ▼                           │                                │
    the transport  ── bytes ──►  the peer's transport  ── pieces ──► sink.write(piece)

The thread that waits drives: `progress` delivers what has arrived, in the caller's own thread. And
a receive is a sink: pieces are copied (or added) from the wire straight to where they belong, so no
message is materialised twice.

The contract. Each line is a check of `conformance`:

1. `connect` returns when every peer can be sent to, or raises naming the ranks that are missing.
2. Both sides may send first, any size: a `send` that has to wait goes on delivering what arrives.
3. Messages from one sender to one receiver arrive whole, once, in order; empty ones too. There is
   no order across senders.
4. When `send` returns, the caller may overwrite its buffer. Sender and receiver never share memory
   afterwards.
5. `close` delivers what was sent before it; peers then get `lost` exactly once. Closing twice is fine.
6. A dead peer leads to `lost` within seconds, never to silence.
7. A stranger gets nothing: nobody without the job's key is read beyond the handshake.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeGuard

from transports.board import Board
from transports.clock import SYSTEM, Clock
from transports.costs import MessageCosts
from transports.errors import PeerLost, TransportClosed
from transports.frames import MAX_HEADER, MAX_PAYLOAD, Buffer, flat

__all__ = ["MAX_HEADER", "MAX_PAYLOAD", "Buffer", "flat"]  # a message as bytes (see `frames`)


def is_unwritten(payload: Buffer) -> TypeGuard[memoryview]:
    """Whether this is only a length: a view of addresses that hold nothing and that nobody can write to. Its exporter
    says so. A simulated network carries it without a copy."""
    return type(payload) is memoryview and getattr(payload.obj, "is_unwritten", False)


def length_only(payload: memoryview) -> memoryview:
    """An unwritten payload that does not keep the array alive which it was taken from."""
    kind: Any = type(payload.obj)
    return memoryview(kind((payload.nbytes,), "u1"))


class Sink(Protocol):
    """Where one message goes. The transport writes its pieces in order, `nbytes` in all."""

    def write(self, piece: memoryview) -> None:
        """Take the next piece; it may be overwritten once this returns. The last one completes."""

    def space(self) -> memoryview | None:
        """The rest of the destination, where bytes may be put directly; None if they must be
        handed to `write` (because they are added, or converted, on their way)."""

    def advance(self, nbytes: int) -> None:
        """`nbytes` were put into `space()`."""


class Inbox(Protocol):
    """The receiving side, implemented by the mailbox and called by the transport.

    It is called by one thread at a time, but by any: a peer's, where ranks are threads. It may be
    called before `connect` has returned. It does not raise, and does not call the transport. In virtual time it
    may be asked more (`virtual.inboxes`).
    """

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        """A message from `src` begins. With `nbytes == 0` it is complete at once."""

    def lost(self, src: int, reason: Exception) -> None:
        """`src` will not be heard of again. `reason` is a PeerLost, whose kind says whether it has
        closed (`errors.CLOSED`). Of any other exception the text is the reason."""


class Begun(Protocol):
    """A send that was begun (see `Transport.begin`)."""

    @property
    def is_overwritten(self) -> bool:
        """Whether its buffer was written to before it was over, where that can be known."""

    def is_over(self) -> bool:
        """Whether the caller may overwrite its buffer."""

    def finish(self, timeout: float | None) -> None:
        """Return when it is over, or after `timeout` seconds. PeerLost if its receiver is."""


class Store(Protocol):
    """The little key-value store through which ranks find each other (see `stores`)."""

    def set(self, key: str, value: str | bytes) -> None: ...
    def get(self, key: str) -> bytes: ...
    def multi_get(self, keys: Sequence[str]) -> list[bytes]: ...
    def add(self, key: str, amount: int) -> int: ...
    def wait(self, keys: Sequence[str], timeout: float | None = None) -> None: ...
    def check(self, keys: Sequence[str]) -> bool: ...
    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes: ...
    def delete_key(self, key: str) -> bool: ...


class Transport(ABC):
    """One rank's end of the medium. A transport module `x` holds `XTransport` with scheme "x"."""

    # A kind of transport declares these. The floors above ask for these, and for no scheme.
    scheme: ClassVar[str]
    ranks_are: ClassVar[Literal["threads", "processes", "mpi"]] = "processes"
    """The kind of thing that `launch` has to start for each rank. "mpi": MPI has started them already."""
    needs_virtual_time: ClassVar[bool] = False
    """Whether all its ranks need one virtual clock."""
    costs: ClassVar[MessageCosts | None] = None
    """The cost of its messages on one host; None if that is not known."""
    usual_delay: ClassVar[float] = 0.5
    """Seconds after which a message that was sent has usually come."""
    patience: float | None = None
    """Seconds that `send` may wait for a peer which takes nothing; then it raises PeerLost. Half a
    message cannot be taken back, so that peer is given up. None waits without end."""
    uses_board: bool = True
    """Whether this rank will use the board, or the shared objects, if there are any. Set before `connect`."""

    has_begin: bool = False
    """Whether a send may take long here for another reason than its length, so that who shall not be
    kept waiting has to `begin` it."""

    may_lose: bool = False
    """Whether messages may be lost or come twice here, against the contract, so that those above
    have to repeat what was not answered."""
    is_unreliable: bool = False
    """Whether what comes here may be a copy which nobody has sent: then nothing that is left over
    is worth a warning."""
    last_sent: tuple[int, bytes] | None = None
    """To whom the last message went, and its header, if this is kept."""
    under_way: tuple[int, bytes] | None = None
    """The same, as long as that message has not landed, if this can be known."""

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        if not 0 <= rank < world_size:
            raise ValueError(f"rank {rank} is not in a world of {world_size}")
        self.rank, self.world_size = rank, world_size
        self.address, self.clock = address or f"{self.scheme}://", clock

    @abstractmethod
    def connect(self, store: Store, inbox: Inbox, timeout: float | None = None) -> None:
        """Return when every peer can be sent to; raise ConnectError naming the missing ranks."""

    @abstractmethod
    def send(self, dst: int, header: bytes, payload: Buffer) -> None:
        """Send one message, from any thread. While it has to wait it delivers what arrives.

        PeerLost if `dst` is. A rank may send to itself.
        """

    def begin(self, dst: int, header: bytes, payload: Buffer) -> Begun:
        """Begin to send, without waiting for anybody. The buffer is the message's until it is over."""
        raise NotImplementedError(f"{self!r} sends at once")

    @abstractmethod
    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        """Deliver what has arrived; if that is nothing, wait at most `timeout` seconds (0: not at
        all, None: without end) for something. True if anything was delivered since the last call.

        Any number of threads may call it; one drives and the others wait beside it. So another thread may
        deliver a message just before its receiver calls. `done` is asked when nothing can arrive unnoticed
        any more. Nobody waits where it says yes.
        """

    def fetch(self, src: int, front: bytes, into: memoryview, is_next: Callable[[], bool]) -> bytes | None:
        """Put the next message from `src` straight `into` its place, past the inbox, and return its header.
        The message must be there, or come at once. Its header must begin with `front`, and it must fill the
        place. `is_next`, asked when nothing can arrive unnoticed any more, must say that nobody else is to
        have it. None: nothing was taken, and `progress` will deliver what comes. No transport has to offer
        this.
        """
        return None

    def board(self) -> Board | None:
        """Memory that all ranks see, where the medium is such memory (see `board`)."""
        return None

    def watch(self, timeout: float | None, done: Callable[[], bool]) -> None:
        """Wait at most `timeout` seconds until `done` says yes, which depends on the board or on
        what is delivered meanwhile."""
        raise NotImplementedError(f"{self!r} has no board")

    def shared_objects(self) -> MutableMapping[int, Any] | None:
        """A place for things that all ranks reach, where they are threads of one process and all of
        them will use it. An object that nobody keeps elsewhere vanishes from it."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Deliver what was sent, then leave. A thread that waits in `progress`, or calls later, gets
        TransportClosed.
        """

    def __repr__(self) -> str:
        return f"<{type(self).__name__} rank {self.rank} of {self.world_size}>"


class WireTransport(Transport):
    """A transport that keeps its state, the peers that it has lost, and a count of its deliveries."""

    def __init__(self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM) -> None:
        super().__init__(rank, world_size, address, clock)
        self._state: Literal["not connected", "open", "closed"] = "not connected"
        self._lost: dict[int, PeerLost] = {}
        self._deliveries = self._reported = 0  # only the thread that delivers counts them

    def _demand_open(self) -> None:
        if self._state != "open":
            raise TransportClosed(f"the {self.scheme} transport of rank {self.rank} is {self._state}")

    def _no_rank(self, dst: int) -> ValueError:
        return ValueError(f"there is no rank {dst} in a world of {self.world_size}")

    def _report(self) -> bool:
        """The result of `progress`: whether anything was delivered since the last report."""
        found, self._reported = self._deliveries > self._reported, self._deliveries
        return found

    def __repr__(self) -> str:
        lost = f", lost {sorted(self._lost)}" if self._lost else ""
        told = f"{super().__repr__()[:-1]}, {self._state}, {self._deliveries} deliveries"
        return f"{told}{lost}>"
