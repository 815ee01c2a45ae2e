"""One append-only file for each ordered pair of ranks, with plain reads and writes.

For where memory is not shared: a network file system, or ranks on several hosts that see one
folder. Slower than rings, and correct under weaker promises:

    file s-d.0    │ length · check · record │ length · check · record │ length · check ·▒▒▒▒
                  one writer appends                     one reader follows     not there yet

A record counts as written when its check (CRC-32 of its place and its bytes) is right. So it may
arrive in any order, in parts or with holes, as blocks of a network file system do; the reader just
looks again. A large payload is cut into records, read straight to where it belongs.

Files do not grow without end. After `room` bytes the writer goes on in the next segment, and before
a third one it waits until the reader has done with the first. On one host two files take turns (`Turns`). Both ends open
them at the beginning, and then their names are taken away, so nothing is left even if all are killed. On a
network file system or between hosts (`is_far`) names are needed: each segment is a new file, which its reader removes
(`Named`). There the writer calls fsync, and a reader that found nothing opens the file anew, because such a file system
then asks its server for new data.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from transports import keeper
from transports.clock import Clock, Deadline
from transports.contract import MAX_HEADER, MAX_PAYLOAD, Inbox, Sink
from transports.errors import Damaged, Interrupted
from transports.keeper import Held
from transports.polled import PolledMedium
from transports.shared_file.signed_file import PAGE, SignedFile

_FRAME = struct.Struct("<II")  # length and check of a record
_BEGIN = struct.Struct("<QI")  # payload and header of a message, in its first record
INLINE = 3000  # a payload up to this goes into the first record
LONGEST = 1 << 20  # record of a larger payload
MANY = 64  # messages in a row, after which a reader looks whether it has what it waits for
GLIMPSE = 4096  # bytes that one read asks for, where no length is known
NEXT, END = 0xFFFF_FFFE, 0xFFFF_FFFF  # instead of a length: go on in the next segment; the end
TORN = 30.0  # seconds after which a record that stays wrong is not under way but damaged


NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR


def lay_out(folder: Path, world_size: int) -> None:
    """Make the files of all pairs of one host: their ends find them there, before the names go."""
    for pair in range(2 * world_size**2):
        path = folder / f"{pair // 2 // world_size}-{pair // 2 % world_size}.{pair % 2}"
        os.close(keeper.open_file(path, NEW, 0o600))


class Turns:
    """The segments of a pair on one host: two files, open from the beginning. Its reader empties what it has read."""

    def __init__(self, folder: Path, src: int, dst: int) -> None:
        paths = [folder / f"{src}-{dst}.{number}" for number in (0, 1)]
        self._files = [Held(keeper.open_file(path, os.O_RDWR)) for path in paths]

    def fresh(self, segment: int) -> Held | None:
        """One to write to; None while the reader is too far behind."""
        return None if os.fstat(self._files[segment % 2].number).st_size else self._files[segment % 2]

    def written(self, file: Held) -> None:
        """The writer goes on in another one."""

    def open(self, segment: int) -> Held:
        """One to read; none (-1) if it is not there yet."""
        return self._files[segment % 2]

    def read(self, segment: int, file: Held) -> None:
        """All of it was read: the writer may have it again."""
        os.ftruncate(file.number, 0)

    def close(self, file: Held) -> None:
        for each in self._files:
            each.close()


class Named:
    """The same for ends on several hosts: a new file for each segment."""

    def __init__(self, folder: Path, src: int, dst: int) -> None:
        self._begin = f"{folder}/{src}-{dst}"

    def _path(self, segment: int) -> Path:
        return Path(f"{self._begin}.{segment}")

    def fresh(self, segment: int) -> Held | None:
        if segment > 1 and self._is_there(segment - 2):
            return None
        return Held(keeper.open_file(self._path(segment), NEW, 0o600))

    def _is_there(self, segment: int) -> bool:
        """Asked by opening: a network file system may answer anything else from memory."""
        try:
            os.close(keeper.open_file(self._path(segment)))
        except FileNotFoundError:
            return False
        return True

    def written(self, file: Held) -> None:
        file.close()

    def open(self, segment: int) -> Held:
        with suppress(FileNotFoundError):  # its writer makes it before it says so, but hosts differ
            return Held(keeper.open_file(self._path(segment)))
        return Held(-1)

    def read(self, segment: int, file: Held) -> None:
        file.close()
        self._path(segment).unlink(missing_ok=True)

    def close(self, file: Held) -> None:
        file.close()


class Logs(PolledMedium):
    """One rank's view of the folder."""

    def __init__(self, signed_file: SignedFile, rank: int, is_far: bool, clock: Clock) -> None:
        self._folder, self._rank, self._terms = signed_file.path, rank, signed_file.file
        self._is_far = is_far
        room, size = signed_file.terms.room, signed_file.terms.world_size
        self.outlets = [LogOutlet(self._folder, rank, dst, room, is_far) for dst in range(size)]
        self.inlets = [LogInlet(self._folder, src, rank, is_far, clock) for src in range(size)]
        self._beats = 0
        self._seen: list[tuple[int, int]] = []

    def has_moved(self) -> bool:
        """Whether the last round of reading found anything."""
        before, self._seen = self._seen, [inlet.position for inlet in self.inlets]
        return self._seen != before

    def beat(self) -> None:
        self._beats += 1
        number = self._beats.to_bytes(8, "little")
        with suppress(OSError):  # a full disk is not our death; the next beat may come through
            if not self._is_far:
                os.pwrite(self._terms.number, number, PAGE + 8 * self._rank)
                return
            with Held(keeper.open_file(self._pulse_of(self._rank), os.O_CREAT | os.O_WRONLY, 0o600)) as file:
                os.pwrite(file.number, number, 0)
                os.fsync(file.number)

    def pulse(self, peer: int) -> int:
        with suppress(OSError):
            if not self._is_far:
                return int.from_bytes(os.pread(self._terms.number, 8, PAGE + 8 * peer), "little")
            return int.from_bytes(keeper.read_file(self._pulse_of(peer), 8), "little")
        return 0

    def _pulse_of(self, peer: int) -> Path:
        """A file of each rank, since hosts do not share the pages of one."""
        return self._folder / f"beat-{peer}"

    def close(self) -> None:
        for outlet in self.outlets:
            outlet.release()
        for inlet in self.inlets:
            inlet.release()


class LogOutlet:
    """The writing end."""

    def __init__(self, folder: Path, src: int, dst: int, room: int, is_far: bool) -> None:
        self._segments = (Named if is_far else Turns)(folder, src, dst)
        self._room, self._is_far = room, is_far
        self._segment = self._offset = 0
        first = self._segments.fresh(0)
        assert first is not None, "nobody has written yet"
        self._file = first
        self._records: list[tuple[bytes, memoryview]] = []  # of a message that is not wholly in yet
        self._count = 0  # how many of them are in

    @property
    def is_pending(self) -> bool:
        """Whether a message is not wholly in yet."""
        return self._count < len(self._records)

    @property
    def is_amid(self) -> bool:
        """Whether some of it is in, so that it has to be ended."""
        return 0 < self._count < len(self._records)

    def offer(self, header: bytes, payload: memoryview) -> bool:
        """Begin a message. True if it is wholly in; else `push` until it is."""
        nbytes = len(payload)
        front = _BEGIN.pack(nbytes, len(header)) + header
        if nbytes <= INLINE:
            records = [(front, payload)]
        else:
            pieces = range(0, nbytes, LONGEST)
            records = [(front, payload[:0])]
            records += [(b"", payload[at : at + LONGEST]) for at in pieces]
        self._records, self._count = records, 0
        self.push()
        return not self._records

    def push(self) -> bool:
        """Write as much as there is room for; True if that was anything."""
        moved = False
        while self._count < len(self._records) and self._turn_the_page():
            self._write(*self._records[self._count])
            moved = True
        if not self.is_pending:
            self._records, self._count = [], 0
        return moved

    def end(self) -> None:
        """Nothing will follow."""
        self._records, self._count = [], 0
        if self._file.number >= 0:
            with suppress(OSError):
                self._mark(END)

    def release(self) -> None:
        self._segments.close(self._file)

    def _write(self, front: bytes, rest: memoryview) -> None:
        length = len(front) + len(rest)
        check = crc32(rest, crc32(front, self._offset & 0xFFFF_FFFF))
        record = [memoryview(_FRAME.pack(length, check) + front), rest]
        at = self._offset
        end = at + _FRAME.size + length
        try:
            while record:
                written = os.pwritev(self._file.number, record, at)
                at += written
                while record and written >= len(record[0]):
                    written -= len(record.pop(0))
                if record:
                    record[0] = record[0][written:]
            if self._is_far:
                os.fsync(self._file.number)
        except BaseException:  # a full disk, a signal
            with suppress(OSError):
                if os.fstat(self._file.number).st_size < end:  # the next record begins where this did
                    os.ftruncate(self._file.number, self._offset)
                else:  # all of it is in: the reader may have it already, so it stays
                    self._offset, self._count = end, self._count + 1
            raise
        self._offset, self._count = end, self._count + 1

    def _mark(self, what: int) -> None:
        mark = _FRAME.pack(what, crc32(b"", self._offset & 0xFFFF_FFFF))
        os.pwrite(self._file.number, mark, self._offset)
        if self._is_far:
            os.fsync(self._file.number)

    def _turn_the_page(self) -> bool:
        """Go on in a new segment where this one is full; False while the reader is too far behind."""
        if self._offset < self._room:
            return True
        fresh = self._segments.fresh(self._segment + 1)
        if fresh is None:
            return False
        self._mark(NEXT)
        self._segments.written(self._file)
        self._segment, self._file, self._offset = self._segment + 1, fresh, 0
        return True


class LogInlet:
    """The reading end. It believes a value only as far as it makes sense."""

    def __init__(self, folder: Path, src: int, dst: int, is_far: bool, clock: Clock) -> None:
        self.src, self._is_far, self._clock = src, is_far, clock
        self._segments = (Named if is_far else Turns)(folder, src, dst)
        self._is_delivering = False  # a delivery has begun, and has not come to its end
        self.is_ended = False
        self._segment = self._offset = 0
        self._file = Held(-1)
        self._torn: Deadline | None = None
        self._sink: Sink | None = None  # of a message that has begun to come
        self._left = 0  # bytes of its payload still to come

    @property
    def is_amid(self) -> bool:
        """Whether a message has begun to come and is not complete."""
        return self._left > 0

    @property
    def position(self) -> tuple[int, int]:
        return self._segment, self._offset

    def drain(self, inbox: Inbox) -> int:
        """Deliver what is there, or MANY of it; how many messages were completed."""
        count = 0
        if self._is_delivering:
            raise Interrupted
        if self._file.number < 0:
            self._file = self._segments.open(self._segment)
            if self._file.number < 0:
                return 0
        while not self.is_ended and count < MANY:
            glimpse = os.pread(self._file.number, GLIMPSE, self._offset)
            if len(glimpse) < _FRAME.size:
                if self._is_far:
                    self._file.close()
                break
            length, check = _FRAME.unpack_from(glimpse)
            if length == 0 and check == 0:  # a hole that will be filled
                self._wait_for_the_rest()
                break
            if length in (NEXT, END):
                if check != crc32(b"", self._offset & 0xFFFF_FFFF):
                    self._wait_for_the_rest()
                elif length == END:
                    self.is_ended = True
                elif self._next():
                    continue
                break
            self._is_delivering = True
            done = self._record(inbox, length, check, glimpse)
            self._is_delivering = False
            if done is None:
                self._wait_for_the_rest()
                break
            self._torn = None
            self._offset += _FRAME.size + length
            count += done
        return count

    def release(self) -> None:
        self._segments.close(self._file)

    def _next(self) -> bool:
        """All of a segment was read: let the writer go on, and open the next."""
        self._segments.read(self._segment, self._file)
        self._segment += 1
        self._offset = 0
        self._file = self._segments.open(self._segment)
        return self._file.number >= 0

    def _record(self, inbox: Inbox, length: int, check: int, glimpse: bytes) -> int | None:
        """Take one record: how many messages it completed; None if it is not wholly there."""
        at, start = self._offset + _FRAME.size, self._offset & 0xFFFF_FFFF
        if self._left:
            if length > min(self._left, LONGEST):
                raise Damaged(f"a record has {length} bytes where {self._left} were still to come")
            return self._piece(length, check, at, start)
        if length > _BEGIN.size + MAX_HEADER + INLINE:
            raise Damaged(f"a message begins with a record of {length} bytes, which is too long")
        record = glimpse[_FRAME.size : _FRAME.size + length]
        if len(record) < length:
            record = os.pread(self._file.number, length, at)
        if len(record) < length or crc32(record, start) != check:
            return None
        nbytes, header_bytes = _BEGIN.unpack_from(record) if length >= _BEGIN.size else (0, -1)
        begin = _BEGIN.size + header_bytes
        inline = nbytes if nbytes <= INLINE else 0
        if header_bytes > MAX_HEADER or nbytes > MAX_PAYLOAD or length != begin + inline:
            raise Damaged(f"a record of {length} bytes tells of a header of {header_bytes} and a payload of {nbytes}")
        sink = inbox.sink(self.src, record[_BEGIN.size : begin], nbytes)
        if inline:
            sink.write(memoryview(record)[begin:])
        if inline == nbytes:
            return 1
        self._sink, self._left = sink, nbytes
        return 0

    def _piece(self, length: int, check: int, at: int, start: int) -> int | None:
        """Take one piece of a large payload, straight to where it belongs if it has a place."""
        sink = self._sink
        assert sink is not None, "bytes are left to come only after their sink was asked for"
        space = sink.space()
        room = memoryview(bytearray(length)) if space is None else space[:length]
        if os.preadv(self._file.number, [room], at) < length or crc32(room, start) != check:
            return None
        if space is None:
            sink.write(room)
        else:
            sink.advance(length)
        self._left -= length
        return 0 if self._left else 1

    def _wait_for_the_rest(self) -> None:
        """A record is torn: it is still on its way, or never will be right."""
        if self._is_far:
            self._file.close()
        if self._torn is None:
            self._torn = self._clock.deadline(TORN)
        elif self._torn.is_over():
            raise Damaged(f"the record at byte {self._offset} has been wrong for {TORN:.0f} s")
