"""Doors of the transports: what comes over a wire, or stands in a file that ranks share."""

from __future__ import annotations

import hmac
import mmap
import socket
import struct
import weakref
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.wire import Fingerprint, Header, WireError
from tests.hostile.bending import bend_plainly, bytes_bender, fields_of
from tests.hostile.door import Door
from transports import frames, job
from transports.broker import packets, topics
from transports.broker.packets import Malformed, PublishedMessage
from transports.clock import SYSTEM
from transports.contract import MAX_HEADER, MAX_PAYLOAD
from transports.errors import Damaged, TrustError
from transports.frames import FrameError
from transports.job import JobMarks
from transports.mqtt_protocol import frames as channel
from transports.mqtt_protocol.frames import Frame, FrameRefused
from transports.shared_file import signed_file
from transports.shared_file.logs import LogInlet
from transports.shared_file.ring import MARK, RingReader
from transports.sockets import handshake
from transports.sockets.handshake import Claim
from transports.sockets.links import PeerConnection

KEY = b"k" * 32
ROOM = 1 << 16  # bytes that a sink really keeps: the rest of a promise costs nothing


class Desk:
    """An inbox that checks what it is told, and keeps little of it."""

    def __init__(self) -> None:
        self.messages: list[tuple[bytes, bytes]] = []

    def sink(self, src: int, header: bytes, nbytes: int) -> Kept:
        assert type(header) is bytes and len(header) <= MAX_HEADER and 0 <= nbytes <= MAX_PAYLOAD
        return Kept(self, header, nbytes)

    def lost(self, src: int, reason: Exception) -> None: ...


class Kept:
    def __init__(self, desk: Desk, header: bytes, nbytes: int) -> None:
        self.desk, self.header, self.nbytes, self.data = desk, header, nbytes, bytearray()
        self.came = 0
        if nbytes == 0:
            desk.messages.append((header, b""))

    def write(self, piece: memoryview) -> None:
        self.came += len(piece)
        assert self.came <= self.nbytes, "a sink got more than was announced"
        if len(self.data) < ROOM:
            self.data += piece
        if self.came == self.nbytes:
            self.desk.messages.append((self.header, bytes(self.data)))

    def space(self) -> memoryview | None:
        return None

    def advance(self, nbytes: int) -> None:
        raise AssertionError("nobody was given any space")


# ------------------------------------------------------------------------------------------- frames


def _messages(random: Random, size: int) -> list[tuple[bytes, bytes]]:
    return [
        (random.randbytes(random.choice((0, 3, 40))), random.randbytes(random.choice((0, 1, 90, 700))))
        for _ in range(min(size, 200) + 1)
    ]


def make_frames(random: Random, size: int) -> bytes:
    return b"".join(
        frames.pack(len(header), len(payload)) + header + payload for header, payload in _messages(random, size)
    )


def frame_fields(data: bytes) -> list[Any]:
    """The numbers of each frame in a stream."""
    found, at = [], 0
    while at + frames.LENGTH <= len(data) and len(found) < 40:
        found += fields_of("<2sHIQ", at)
        try:
            header, payload = frames.unpack(data, at)
        except FrameError:
            break
        at += frames.LENGTH + header + payload
    return found


def read_frame(data: bytes) -> None:
    if len(data) >= frames.LENGTH:
        header, payload = frames.unpack(data)
        assert header <= MAX_HEADER and payload <= MAX_PAYLOAD


class Line:
    """A connection of a tcp world, which is made once and used by one input after the other."""

    def __init__(self) -> None:
        self._ends: tuple[socket.socket, socket.socket] | None = None

    def read(self, data: bytes) -> None:
        if self._ends is None:
            self._ends = socket.socketpair()
            self._ends[1].setblocking(False)
            for end in self._ends:
                weakref.finalize(self, end.close)
        near, far = self._ends
        desk, link = Desk(), PeerConnection(1, far, far, SYSTEM)
        scratch = memoryview(bytearray(64))
        try:
            for start in range(0, len(data), 1037):
                near.send(data[start : start + 1037])
                link.receive(desk, scratch)
        finally:
            with suppress(BlockingIOError):
                while far.recv(1 << 16):
                    pass


# ---------------------------------------------------------------------------------------- handshake

GREETING = handshake.MAGIC + bytes(range(32))


def make_hello(random: Random, size: int) -> bytes:
    marks = JobMarks(*(random.randbytes(random.randrange(length)) for length in (17, 9, 9, 9)), size)
    place = random.randrange(-2, 9), random.randrange(-2, 9)
    claim = Claim(*place, random.randbytes(random.randrange(17)), marks)
    return handshake.answer(KEY, GREETING, claim)[0]


def sign_hello(random: Random, data: bytes) -> bytes:
    body = data[: -handshake.MAC] if len(data) > handshake.MAC else data
    return body + handshake._sign(KEY, b"dialer", GREETING, body)


def read_hello(data: bytes) -> None:
    claim, welcome = handshake.judge(KEY, GREETING, data)
    assert len(claim.world) <= 16 and len(welcome) == handshake.MAC
    assert job.are_apart(claim.job, claim.job) is False


def read_greeting(data: bytes) -> None:
    handshake.answer(KEY, data, Claim(0, 0))


# ------------------------------------------------------------------------------ headers of messages


def make_header(random: Random, size: int) -> bytes:
    shape = tuple(random.randrange(9) for _ in range(random.randrange(4)))
    fingerprint = Fingerprint(
        random.choice(wire.OPERATIONS),
        random.choice(wire.DTYPES),
        random.choice((None, shape)),
        random.choice(wire.REDUCTIONS),
        random.randrange(-1, 5),
        random.choice(("", "ring", "tree")),
    )
    site = random.choice(("", "train.py:41", "é:1"))
    return wire.encode(
        Header(random.getrandbits(64), random.getrandbits(64), random.getrandbits(32), fingerprint, site)
    )


def header_fields(data: bytes) -> list[Any]:
    return fields_of("<QQI") + fields_of("<BBBBBHi", 20) + fields_of("<QQQ", 31)


def read_header(data: bytes) -> None:
    found = wire.decode(data)
    assert f"{found}" and wire.decode(wire.encode(found)) == found
    wire.algorithms_that_differ(data[wire.MATCH.size :], data)


# -------------------------------------------------------------------------------------------- mqtt


def make_frame(random: Random, size: int) -> bytes:
    body = random.randbytes(random.choice((0, 10, 300)))
    is_first = bool(body) and random.random() < 0.5
    frame = Frame(
        random.choice(channel.KINDS),
        random.randrange(8),
        random.choice((0, 3, channel.EVERYBODY)),
        random.getrandbits(64),
        random.getrandbits(64),
        random.randrange(4),
        random.randrange(99),
        random.randrange(99),
        random.randrange(99),
        5 if is_first else 0,
        len(body) if is_first else 0,
    )
    return bytes(channel.seal(KEY, frame, body))


def seal_again(random: Random, data: bytes) -> bytes:
    head = data[: -channel.SEAL]
    return head + channel._sign(KEY, memoryview(head))


def read_sealed(data: bytes) -> None:
    frame = channel.unseal(KEY, data)
    assert frame.kind in channel.KINDS and frame.header_length <= len(frame.body)


def _text(words: str) -> bytes:
    return struct.pack(">H", len(words.encode())) + words.encode()


def make_packet(random: Random, size: int) -> bytes:
    """The first byte, and the body of a packet."""
    topic = "/".join(random.choice(("a", "mtd", "é", "$SYS", "x" * 20)) for _ in range(1 + size % 7))
    number = struct.pack(">H", random.randrange(1, 1 << 16))
    match random.randrange(6):
        case 0:
            will = _text(topic) + _text("gone") if random.random() < 0.5 else b""
            flags = 2 | (0x24 if will else 0) | 0xC0
            head = _text("MQTT") + bytes((4, flags)) + struct.pack(">H", 60)
            return b"\x10" + head + _text("me") + will + _text("name") + _text("password")
        case 1:
            qos = random.randrange(2)
            message = PublishedMessage(topic, random.randbytes(random.choice((0, 9, 200))), qos, random.random() < 0.5)
            whole = b"".join(packets.publish_pieces(message, random.randrange(1, 99)))
            length = 1 + next(n for n, byte in enumerate(whole[1:], 1) if byte < 128)
            return whole[:1] + whole[length:]
        case 2:
            filters = [topic, f"{topic}/#", f"+/{topic}"]
            return (
                b"\x82"
                + number
                + b"".join(
                    _text(random.choice(filters)) + bytes((random.randrange(2),))
                    for _ in range(min(1 + size, packets.MAX_FILTERS))
                )
            )
        case 3:
            return b"\xa2" + number + b"".join(_text(topic) for _ in range(min(1 + size, packets.MAX_FILTERS)))
        case 4:
            return b"\x40" + number
        case _:
            return random.choice((b"\xc0", b"\xe0"))


def packet_fields(data: bytes) -> list[Any]:
    return fields_of(">B") + [f for at in range(1, min(len(data), 30)) for f in fields_of(">H", at)]


def read_packet(data: bytes) -> None:
    if not data:
        return
    packet = packets.decode(data[0], data[1:])
    if isinstance(packet, packets.Subscribe):
        for name, _ in packet.filters:
            if topics.is_filter(name):
                tree = topics.Subscriptions[int]()
                tree.add(0, name, 0)
                tree.readers("a/b")


# ------------------------------------------------------------------------------------- shared files

RING = 1 << 12


class Ring:
    """A ring whose head word and contents anybody may have written."""

    def __init__(self) -> None:
        self._memory: mmap.mmap | None = None

    def read(self, data: bytes) -> None:
        """Eight bytes of head, then what stands in the ring."""
        if self._memory is None:
            self._memory = mmap.mmap(-1, RING + 64)
        memory = self._memory
        memory[:] = bytes(len(memory))
        contents = data[8 : 8 + RING]
        memory[64 : 64 + len(contents)] = contents
        memory[: len(data[:8])] = data[:8]
        view = memoryview(memory)
        words = view.cast("Q")
        inlet, desk = RingReader(0, memory, view, words, 64, RING, 0, 1), Desk()
        try:
            inlet.drain(desk)
            inlet.drain(desk)
        finally:
            inlet.release()
            words.release()
            view.release()


def make_ring(random: Random, size: int) -> bytes:
    contents = b""
    for header, payload in _messages(random, min(size, 4)):
        front = struct.pack("=QQ", MARK | len(header), len(payload))
        padded = header.ljust(len(header) + 15 & -16, b"\0") + payload.ljust(len(payload) + 15 & -16, b"\0")
        if len(contents) + len(front) + len(padded) > RING:
            break
        contents += front + padded
    return struct.pack("=Q", len(contents)) + contents


def ring_fields(data: bytes) -> list[Any]:
    return [f for at in range(0, min(len(data), 800), 8) for f in fields_of("=Q", at)]


class Log:
    """An append-only file of a pair of ranks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, data: bytes) -> None:
        path = self.folder / "0-1.0"
        path.write_bytes(data)
        inlet, desk = LogInlet(self.folder, 0, 1, True, SYSTEM), Desk()
        try:
            inlet.drain(desk)
            inlet.drain(desk)
        finally:
            inlet.release()


def make_log(random: Random, size: int) -> bytes:
    data = bytearray()
    for header, payload in _messages(random, size):
        record = struct.pack("<QI", len(payload), len(header)) + header + payload
        data += struct.pack("<II", len(record), crc32(record, len(data))) + record
    if random.random() < 0.3:
        data += struct.pack("<II", 0xFFFF_FFFF, crc32(b"", len(data)))
    return bytes(data)


def check_again(random: Random, data: bytes) -> bytes:
    """The same records with checks that are right."""
    found, at = bytearray(), 0
    while at + 8 <= len(data):
        length = struct.unpack_from("<I", data, at)[0]
        record = b"" if length >= 0xFFFF_FFFE else data[at + 8 : at + 8 + length]
        found += struct.pack("<II", length, crc32(record, len(found))) + record
        at += 8 + len(record)
    return bytes(found + data[at:])


def log_fields(data: bytes) -> list[Any]:
    return [f for at in range(min(len(data), 200)) for f in fields_of("<I", at)]


def make_terms(random: Random, size: int) -> bytes:
    return signed_file.Terms(
        random.choice(signed_file.MODES),
        random.randrange(1, 9),
        1 << random.randrange(4, 20),
        random.randbytes(16),
        "a boot",
        "process 1 on host",
    ).page(KEY)


def sign_terms(random: Random, data: bytes) -> bytes:
    head = data[: signed_file._HEADER.size]
    return head + hmac.digest(KEY, head, "sha256")


def read_terms(data: bytes) -> None:
    found = signed_file.read_terms(data, KEY)
    assert found.mode in signed_file.MODES


def doors(folder: Path) -> list[Door]:
    logs = folder / "logs"
    logs.mkdir(exist_ok=True)
    stream = bytes_bender(frame_fields)
    return [
        Door("frame", make_frames, stream, read_frame, (FrameError,), has_large=False),
        Door("tcp-stream", make_frames, stream, Line().read, (FrameError, EOFError)),
        Door("hello", make_hello, bytes_bender(lambda data: fields_of("<ii", 8)), read_hello,
             (TrustError,), sign_hello, has_large=False),
        Door("greeting", lambda random, size: GREETING, bend_plainly, read_greeting, (TrustError,),
             has_large=False),
        Door("header", make_header, bytes_bender(header_fields), read_header, (WireError,),
             has_large=False),
        Door("mqtt-frame", make_frame, bytes_bender(lambda data: fields_of("<2sBBBxIIQQQQQIQ")),
             read_sealed, (FrameRefused,), seal_again, has_large=False),
        Door("mqtt-packet", make_packet, bytes_bender(packet_fields), read_packet, (Malformed,)),
        Door("ring", make_ring, bytes_bender(ring_fields), Ring().read, (Damaged,), has_large=False),
        Door("log", make_log, bytes_bender(log_fields), Log(logs).read, (Damaged,), check_again,
             folder=logs, weight=0.7),
        Door("meeting", make_terms, bytes_bender(lambda data: fields_of("<8sHHIQ")), read_terms,
             (TrustError,), sign_terms, has_large=False),
    ]  # fmt: skip
