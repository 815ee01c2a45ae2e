"""One ring of bytes between two processes: a writer and a reader, which never wait for a lock.

                      tail ──► read ──► head ──► free
    ring s → r   │ ░░░░░│▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓│░░░░░░░░░░░│     only s moves head, only r moves tail

Both count bytes and only grow; `position % size` is the place in the ring. The writer puts bytes
into free room and then moves its head; the reader takes them and then moves its tail. So neither
ever waits for a lock, and what is cut off by a death was never within head: no torn message is seen.

A message is two words (MARK | length of header, length of payload), the header and the payload, each filled
up to 16 bytes. So words stay whole, and no number is cut in two at the ring's end. A message larger than
the ring streams through it in pieces. Its sink is given views of the ring, so a payload is copied in once
and copied (or added) out once, and nothing is kept in between.

Order. A word is written through a memoryview of 'Q', which is one aligned machine store. An x86 processor
shows stores to other cores in the order they were made, and loads them in program order; CPython moves
nothing across its calls. So bytes written before the head moves are there when the new head is seen.
Processors that promise less (ARM, POWER) get a lock taken and given back between the two, which is a
barrier there.
"""

from __future__ import annotations

import mmap
import platform
import struct
from collections.abc import Callable
from threading import Lock  # noqa: TID251 - a memory barrier; nobody waits on it
from typing import Any

from transports.contract import MAX_HEADER, MAX_PAYLOAD, Inbox, Sink
from transports.errors import Damaged, Interrupted
from transports.spin import Spin

MARK = 0x6D74_6400 << 32  # in the first word of each message
ENDED = 1 << 63  # in a head: nothing will follow
UNIT = 16
PIECE = 1 << 17  # of a large message: the reader copies one while the writer copies the next
SHORT = 1 << 15  # a message up to this is put in at once, and a piece near the end is no longer
IS_ORDERED = platform.machine().lower() in {"x86_64", "amd64", "i386", "i686"}


def barrier() -> Callable[[], None] | None:
    """A function that keeps stores in order, for processors that do not; None where they do."""
    if IS_ORDERED:
        return None
    lock = Lock()

    def fence() -> None:
        lock.acquire()
        lock.release()

    return fence


class RingEnd:
    """The common part of the writer and the reader of a ring."""

    __slots__ = ("_at", "_bytes", "_fence", "_head_word", "_memory", "_size", "_tail_word", "_words")

    def __init__(
        self, memory: mmap.mmap, view: memoryview, words: memoryview, at: int, size: int, head_word: int, tail_word: int
    ) -> None:
        self._memory, self._bytes, self._words = memory, view, words
        self._at, self._size = at, size
        self._head_word, self._tail_word = head_word, tail_word
        self._fence = barrier()

    def release(self) -> None:
        self._bytes = self._words = memoryview(b"")


class RingWriter(RingEnd):
    """The writing end."""

    __slots__ = ("_head", "_limit", "_parts", "_start")

    def __init__(self, *where: Any) -> None:
        super().__init__(*where)
        self._head = 0
        self._limit = self._size  # head may go this far, by the tail that was seen last
        self._parts: list[memoryview] = []  # of a message that is not wholly in yet
        self._start = 0  # of that message

    @property
    def is_pending(self) -> bool:
        """Whether a message is not wholly in yet."""
        return bool(self._parts)

    @property
    def is_amid(self) -> bool:
        """Whether some of it is in, so that it has to be ended."""
        return bool(self._parts) and self._head > self._start

    def offer(self, header: bytes, payload: memoryview) -> bool:
        """Begin a message. True if it is wholly in; else `push` until it is."""
        length, nbytes, head, size = len(header), len(payload), self._head, self._size
        start = UNIT + (length + 15 & -16)
        end = head + start + (nbytes + 15 & -16)
        if end > self._limit:
            self._read_tail()
        place = head % size
        if end <= self._limit and place + end - head <= size and end - head <= SHORT:
            memory, words, at = self._memory, self._words, self._at + place
            words[at >> 3] = MARK | length
            words[(at >> 3) + 1] = nbytes
            memory[at + UNIT : at + UNIT + length] = header
            if nbytes:
                memory[at + start : at + start + nbytes] = payload
            self._head = end
            if self._fence is not None:
                self._fence()
            words[self._head_word] = end
            return True
        self._start = head
        front = struct.pack("=QQ", MARK | length, nbytes) + header
        self._parts = [memoryview(front), payload] if nbytes else [memoryview(front)]
        self.push()
        return not self._parts

    def push(self) -> bool:
        """Put in as much as there is room for; True if that was anything."""
        before = self._head
        while self._parts:
            if self._head == self._limit:
                self._read_tail()
                if self._head == self._limit:
                    break
            part, place = self._parts[0], self._head % self._size
            most = min(self._limit - self._head, self._size - place)
            piece = part[: min(most, SHORT if len(part) <= 2 * SHORT else PIECE)]
            at, count = self._at + place, len(piece)
            self._bytes[at : at + count] = piece
            rest = part[count:]
            if rest:  # from here on nothing is called, so nothing can be interrupted
                self._parts[0] = rest
            else:
                del self._parts[0]
            self._head += count + 15 & -16
            if self._fence is not None:
                self._fence()
            self._words[self._head_word] = self._head
        return self._head != before

    def _read_tail(self) -> None:
        """See how far the reader has come."""
        tail = self._words[self._tail_word]
        if not 0 <= self._head - tail <= self._size or tail % UNIT:
            of = f"{self._head}, of which a ring of {self._size} holds the last"
            raise Damaged(f"it says it has read {tail} bytes of {of}")
        self._limit = tail + self._size
        if self._fence is not None:
            self._fence()

    def end(self) -> None:
        """Nothing will follow."""
        self._parts = []
        if len(self._words):
            self._words[self._head_word] = self._head | ENDED


class RingReader(RingEnd):
    """The reading end. It believes a value only as far as it makes sense."""

    __slots__ = ("_front", "_is_delivering", "_left", "_sink", "_tail", "is_ended", "src")

    def __init__(self, src: int, *where: Any) -> None:
        super().__init__(*where)
        self.src = src
        self.is_ended = False
        self._tail = 0
        self._sink: Sink | None = None  # of a message that has begun to come
        self._left = 0  # bytes of its payload still to come
        self._front = bytearray()  # the words and header of a message, where they came in pieces
        self._is_delivering = False  # a delivery has begun, and has not come to its end

    @property
    def is_amid(self) -> bool:
        """Whether a message has begun to come and is not complete."""
        return self._left > 0 or bool(self._front)

    def drain(self, inbox: Inbox) -> int:
        """Deliver what is there; how many messages were completed."""
        head = self._words[self._head_word]
        if head == self._tail:
            return 0
        if head & ENDED:
            head, self.is_ended = head ^ ENDED, True
        if not 0 <= head - self._tail <= self._size or head % UNIT:
            raise Damaged(
                f"it says it has written {head} bytes where {self._tail} were read, and its ring holds {self._size}"
            )
        if self._fence is not None:
            self._fence()
        if self._is_delivering:
            raise Interrupted
        self._is_delivering = True
        count = self._whole(inbox, head)
        while self._tail != head:
            if self._left:
                count += self._more(head)
            elif not self._front:
                count += self._begin(inbox, head) + self._whole(inbox, head)
            else:
                count += self._begin(inbox, head)
        if self._fence is not None:
            self._fence()
        self._words[self._tail_word] = self._tail
        self._is_delivering = False
        return count

    def fetch(self, front: bytes, into: memoryview, spin: Spin) -> bytes | None:
        """Copy the next message `into` its place if it is there or comes at once, lies before us
        without a break, begins with `front` and fills the place. Its header, or None."""
        tail, words = self._tail, self._words
        if self._left or self._front or self._is_delivering or not spin.comes(self._head_word, tail):
            return None
        if self._fence is not None:
            self._fence()
        place = tail % self._size
        at = self._at + place
        length, nbytes = words[at >> 3] ^ MARK, words[(at >> 3) + 1]
        start = UNIT + (length + 15 & -16)
        whole = start + (nbytes + 15 & -16)
        come = words[self._head_word] - tail
        if nbytes != len(into) or not start <= come <= self._size or place + whole > self._size:
            return None
        header: bytes = self._memory[at + UNIT : at + UNIT + length]
        if not header.startswith(front):
            return None
        done = 0
        while done < nbytes:  # a long one comes in pieces; until the last it stays where it is
            if come <= start + done:
                if not spin.comes(self._head_word, tail + come):
                    return None
                come = words[self._head_word] - tail
                if come > self._size:  # it has ended
                    return None
                if self._fence is not None:
                    self._fence()
            to = min(come - start, nbytes)
            into[done:to] = self._bytes[at + start + done : at + start + to]
            done = to
        if self._fence is not None:
            self._fence()
        self._tail = words[self._tail_word] = tail + whole
        return header

    def _whole(self, inbox: Inbox, head: int) -> int:
        """Deliver the messages that lie before us in one piece each."""
        if self._left or self._front:
            return 0
        count, tail, size, words = 0, self._tail, self._size, self._words
        try:
            while tail != head:
                place = tail % size
                at = self._at + place
                length, nbytes = words[at >> 3] ^ MARK, words[(at >> 3) + 1]
                if length > MAX_HEADER or nbytes > MAX_PAYLOAD:
                    raise _nonsense(length ^ MARK, nbytes)
                start = UNIT + (length + 15 & -16)
                whole = start + (nbytes + 15 & -16)
                if whole > head - tail or place + whole > size:
                    break
                header = self._memory[at + UNIT : at + UNIT + length]
                sink = inbox.sink(self.src, header, nbytes)
                if nbytes:
                    sink.write(self._bytes[at + start : at + start + nbytes])
                tail += whole
                count += 1
        finally:
            self._tail = tail
        return count

    def _begin(self, inbox: Inbox, head: int) -> int:
        """Gather words and header, which may come in pieces; then ask where the payload goes."""
        if not self._front:
            self._front += self._before(UNIT, head)
            self._advance(UNIT)
        word, nbytes = struct.unpack_from("=QQ", self._front)
        length = word ^ MARK
        if length > MAX_HEADER or nbytes > MAX_PAYLOAD:
            raise _nonsense(word, nbytes)
        missing = UNIT + length - len(self._front)
        while missing:
            piece = self._before(missing, head)
            if not piece:
                return 0
            self._front += piece
            self._advance(len(piece))
            missing -= len(piece)
        header = bytes(self._front[UNIT:])
        self._front.clear()
        self._sink, self._left = inbox.sink(self.src, header, nbytes), nbytes
        return 0 if nbytes else 1

    def _more(self, head: int) -> int:
        """Hand on the next piece of a payload; 1 if it was the last."""
        assert self._sink is not None, "bytes are left to come only after their sink was asked for"
        piece = self._before(self._left, head)
        self._sink.write(piece)
        self._left -= len(piece)
        self._advance(len(piece))
        if self._left:
            return 0
        self._sink = None
        return 1

    def _before(self, most: int, head: int) -> memoryview:
        """The bytes that lie before us in one piece, at most so many."""
        place = self._tail % self._size
        at = self._at + place
        return self._bytes[at : at + min(most, head - self._tail, self._size - place)]

    def _advance(self, nbytes: int) -> None:
        self._tail += nbytes + 15 & -16
        if self._fence is not None:
            self._fence()
        self._words[self._tail_word] = self._tail


def _nonsense(word: int, nbytes: int) -> Damaged:
    return Damaged(f"a message begins with the words {word:#x} and {nbytes}, which are no lengths")
