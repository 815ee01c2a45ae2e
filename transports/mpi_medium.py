"""MPI as a medium that has to be looked at: frames, pieces, and who waits for which of them.

    sender     Isend frame (header, length; a short payload too) · Isend pieces of a long payload
    receiver   Improbe any source ─► frame ─► sink ─► Irecv each piece, straight into its space

Frames and pieces have a tag each, drawn anew for every world, so worlds that follow each other in
one MPI job never meet. MPI keeps messages of one sender and one tag in order, which is all that is
asked of it. A request that completes late keeps its buffer here until it does.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Sequence
from typing import Any

from mpi4py import MPI

from transports.contract import MAX_HEADER, MAX_PAYLOAD, Inbox, Sink
from transports.errors import Damaged
from transports.polled import PolledMedium

_FRAME = struct.Struct("<IQ")  # bytes of header and of payload
END = 0xFFFF_FFFF  # instead of the header's length: nothing follows
INLINE = 4096  # a payload up to this goes into the frame
PIECE = 4 << 20  # of a longer one
MANY = 64  # frames taken in a row

Buffers = list[tuple[MPI.Request, object]]


class MpiMedium(PolledMedium):
    """All ends of one rank. `peers` are the ranks in MPI, by rank; `tag` and the next are ours."""

    def __init__(self, world: MPI.Intracomm, peers: Sequence[int], tag: int) -> None:
        self._world, self._tag = world, tag
        self._late: Buffers = []
        self.outlets = [MpiOutlet(world, peer, tag, self._late) for peer in peers]
        self.inlets = [MpiInlet(world, src, peer, tag) for src, peer in enumerate(peers)]
        self._by_peer = dict(zip(peers, self.inlets, strict=True))

    def has_news(self) -> bool:
        """Fetch what frames have come; whether anything is there or under way."""
        for _ in range(MANY):
            status = MPI.Status()
            try:
                message = self._world.Improbe(MPI.ANY_SOURCE, self._tag, status)
            except MPI.Exception as error:
                if error.Get_error_class() not in (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING):
                    raise
                self._world.Ack_failed()  # `failed` finds the ranks that failed; go on with the others
                continue
            if message is None:
                break
            inlet = self._by_peer.get(status.Get_source())
            if inlet is not None:
                inlet.fetch(message, status.Get_count(MPI.BYTE))
        return any(inlet.is_busy for inlet in self.inlets)

    def has_moved(self) -> bool:
        return any(inlet.is_busy for inlet in self.inlets)

    def failed(self) -> list[int]:
        """The ranks in MPI whose processes are known to have died (where MPI goes on: ULFM)."""
        try:
            group = self._world.Get_failed()
        except (MPI.Exception, NotImplementedError):
            return []
        everybody = self._world.Get_group()
        found = list(MPI.Group.Translate_ranks(group, range(group.size), everybody))
        group.Free()
        everybody.Free()
        return found

    def close(self) -> None:
        _graveyard.extend(self._late)  # MPI still reads these; its end completes them
        self._late.clear()
        for outlet in self.outlets:
            outlet.release()
        for inlet in self.inlets:
            inlet.release()
        _graveyard[:] = [(request, buffer) for request, buffer in _graveyard if not _is_over(request)]


_graveyard: Buffers = []


def _is_over(request: MPI.Request) -> bool:
    try:
        return bool(request.Test())
    except MPI.Exception:  # its peer has died
        return True


class MpiOutlet:
    """The writing end."""

    def __init__(self, world: MPI.Intracomm, peer: int, tag: int, late: Buffers) -> None:
        self._world, self._peer, self._tag, self._late = world, peer, tag, late
        self._under_way: Buffers = []

    @property
    def is_pending(self) -> bool:
        return bool(self._under_way)

    is_amid = is_pending

    def offer(self, header: bytes, payload: memoryview) -> bool:
        """Begin a message. True if its buffers are free again; else `push` until they are."""
        nbytes = len(payload)
        frame = _FRAME.pack(len(header), nbytes) + header
        if nbytes <= INLINE:
            self._begin(frame + payload, self._tag)
        else:
            self._begin(frame, self._tag)
            for at in range(0, nbytes, PIECE):
                self._begin(payload[at : at + PIECE], self._tag + 1)
        self.push()
        return not self._under_way

    def _begin(self, data: bytes | memoryview, tag: int) -> None:
        request = self._world.Isend([data, MPI.BYTE], self._peer, tag)
        self._under_way.append((request, data))

    def push(self) -> bool:
        before = len(self._under_way)
        self._under_way = [one for one in self._under_way if not _is_over(one[0])]
        return len(self._under_way) < before

    def end(self) -> None:
        self._begin(_FRAME.pack(END, 0), self._tag)
        self.push()
        self._late += self._under_way
        self._under_way = []

    def release(self) -> None:
        _graveyard.extend(self._under_way)
        self._under_way = []


class MpiInlet:
    """The reading end. It believes a value only as far as it makes sense."""

    def __init__(self, world: MPI.Intracomm, src: int, peer: int, tag: int) -> None:
        self.src, self.is_ended = src, False
        self._world, self._peer, self._tag = world, peer, tag
        self._frames: deque[tuple[MPI.Request, bytearray]] = deque()
        self._sink: Sink | None = None  # of a message that has begun to come
        self._left = 0
        self._piece: tuple[MPI.Request, memoryview, bool] | None = None
        self._is_cut = False  # its sender has died, and nothing more can come

    @property
    def is_amid(self) -> bool:
        return self._left > 0

    @property
    def is_busy(self) -> bool:
        """Whether looking at it may deliver something."""
        return bool(self._frames or self._piece) and not self._is_cut

    def fetch(self, message: Any, nbytes: int) -> None:
        buffer = bytearray(nbytes)
        self._frames.append((message.Irecv([buffer, MPI.BYTE]), buffer))

    def drain(self, inbox: Inbox) -> int:
        """Deliver what is there; how many messages were completed."""
        count = 0
        while not self.is_ended:
            if self._left:
                done = self._take_piece()
            else:
                done = self._take_frame(inbox)
            if done is None:
                break
            count += done
        return count

    def _has_come(self, request: MPI.Request) -> bool:
        try:
            return not self._is_cut and bool(request.Test())
        except MPI.Exception:
            self._is_cut = True
            return False

    def _take_frame(self, inbox: Inbox) -> int | None:
        if not self._frames or not self._has_come(self._frames[0][0]):
            return None
        frame = bytes(self._frames.popleft()[1])
        length, nbytes = _FRAME.unpack_from(frame) if len(frame) >= _FRAME.size else (-1, 0)
        if length == END:
            self.is_ended = True
            return 0
        start = _FRAME.size + length
        inline = nbytes if nbytes <= INLINE else 0
        if not 0 <= length <= MAX_HEADER or nbytes > MAX_PAYLOAD or len(frame) != start + inline:
            raise Damaged(f"a frame of {len(frame)} bytes tells of {length} + {nbytes}")
        sink = inbox.sink(self.src, frame[_FRAME.size : start], nbytes)
        if inline:
            sink.write(memoryview(frame)[start:])
        if inline == nbytes:
            return 1
        self._sink, self._left = sink, nbytes
        self._next_piece()
        return 0

    def _next_piece(self) -> None:
        sink, length = self._sink, min(PIECE, self._left)
        assert sink is not None, "pieces follow a frame"
        space = sink.space()
        room = memoryview(bytearray(length)) if space is None else space[:length]
        request = self._world.Irecv([room, MPI.BYTE], self._peer, self._tag + 1)
        self._piece = request, room, space is None

    def _take_piece(self) -> int | None:
        assert self._piece is not None and self._sink is not None, "something is left to come"
        request, room, has_to_be_written = self._piece
        if not self._has_come(request):
            if self._frames and self._has_come(self._frames[-1][0]) and self._is_end(self._frames[-1][1]):
                request.Cancel()  # its sender has given the message up
                self._piece, self.is_ended = None, True
                return 0
            return None
        self._piece = None
        if has_to_be_written:
            self._sink.write(room)
        else:
            self._sink.advance(len(room))
        self._left -= len(room)
        if self._left:
            self._next_piece()
            return 0
        self._sink = None
        return 1

    @staticmethod
    def _is_end(frame: bytearray) -> bool:
        return len(frame) == _FRAME.size and _FRAME.unpack(frame)[0] == END

    def release(self) -> None:
        if self._piece is not None:
            self._piece[0].Cancel()
            _graveyard.append((self._piece[0], self._piece[1]))
        _graveyard.extend(self._frames)
        self._piece = None
