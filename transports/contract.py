"""What a transport is, and what it promises.

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
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

from transports.board import Board
from transports.clock import SYSTEM, Clock

Buffer: TypeAlias = "bytes | bytearray | memoryview"

MAX_HEADER = 1 << 16  # bytes; longer ones are refused before anything is allocated
MAX_PAYLOAD = 1 << 40


def flat(header: bytes, payload: Buffer) -> memoryview:
    """The payload's bytes in one row; ValueError if header or payload are longer than may be."""
    view = memoryview(payload)
    if len(header) > MAX_HEADER or view.nbytes > MAX_PAYLOAD:
        raise ValueError(
            f"a message of {len(header)} + {view.nbytes} bytes is too long: at most {MAX_HEADER} "
            f"bytes of header and {MAX_PAYLOAD} of payload; send it in parts"
        )
    if view.nbytes == 0:  # no shape with a 0 in it can be cast
        return memoryview(b"")
    return view if view.ndim == 1 and view.format == "B" else view.cast("B")


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
    called before `connect` has returned. It does not raise, and does not call the transport.
    """

    def sink(self, src: int, header: bytes, nbytes: int) -> Sink:
        """A message from `src` begins. With `nbytes == 0` it is complete at once."""

    def lost(self, src: int, reason: Exception) -> None:
        """`src` will not be heard of again."""


class Waiting(NamedTuple):
    """Whom somebody waits for, and in what; no ranks: for anybody."""

    ranks: tuple[int, ...]
    what: str


@runtime_checkable
class Explains(Protocol):
    """An inbox that can say what `progress` was called for, should nothing ever come."""

    def explain(self, done: Callable[[], bool] | None) -> Waiting | None:
        """What the thread waits for that called `progress(…, done)`; None if that is not known."""


@runtime_checkable
class Regrets(Protocol):
    """An inbox that wants to know what came when its rank had left, where that can be told."""

    def missed(self, src: int, header: bytes) -> None: ...


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

    scheme: ClassVar[str]
    patience: float | None = None
    """Seconds that `send` may wait for a peer which takes nothing; then it raises PeerLost. Half a
    message cannot be taken back, so that peer is given up. None waits without end."""
    uses_board: bool = True
    """Whether this rank will use the board, or the commons, if there are any. Set before `connect`."""

    def __init__(
        self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM
    ) -> None:
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

    @abstractmethod
    def progress(self, timeout: float | None, done: Callable[[], bool] | None = None) -> bool:
        """Deliver what has arrived; if that is nothing, wait at most `timeout` seconds (0: not at
        all, None: without end) for something. True if anything was delivered since the last call.

        Any number of threads may call it; one drives and the others wait beside it. What a thread
        waits for may thus be delivered by another one just before it calls: `done` is asked when
        nothing can arrive unnoticed any more, and nobody waits where it says yes.
        """

    def fetch(
        self, src: int, front: bytes, into: memoryview, is_next: Callable[[], bool]
    ) -> bytes | None:
        """Put the next message from `src` straight `into` its place, past the inbox, and return its
        header: if it is there, or comes at once, if its header begins with `front`, if it fills the
        place, and if `is_next` says, when nothing can arrive unnoticed any more, that nobody else
        is to have it. None: nothing was taken, and `progress` will deliver what comes. No transport
        has to offer this."""
        return None

    def board(self) -> Board | None:
        """Memory that all ranks see, where the medium is such memory (see `board`)."""
        return None

    def watch(self, timeout: float | None, done: Callable[[], bool]) -> None:
        """Wait at most `timeout` seconds until `done` says yes, which depends on the board or on
        what is delivered meanwhile."""
        raise NotImplementedError(f"{self!r} has no board")

    def commons(self) -> MutableMapping[int, Any] | None:
        """A place for things that all ranks reach, where they are threads of one process and all of
        them will use it. What nobody keeps elsewhere vanishes from it."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Deliver what was sent, then leave. Who still waits in `progress`, and whoever calls
        later, gets TransportClosed."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} rank {self.rank} of {self.world_size}>"
