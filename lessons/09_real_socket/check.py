"""Lesson 09: a TCP connection whose stream is cut at every byte; then the library's kit, and its journal."""

import random  # noqa: TID251 - each has a seed of its own
import socket
import tempfile
import tracemalloc
from collections import deque
from pathlib import Path

import stream

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import journal
from minitorch_dist.launching import launch
from minitorch_dist.testing import check_transport
from mtd.course import lab, lamp, real_wires
from transports import frames
from transports.conformance import CHECKS

MESSAGES = [(b"", b""), (b"tag 7", b"payload"), (b"", bytes(range(40))), (b"only a header", b"")]
CALLS = 6  # of recv, for a message that is there already
PATIENCE = 10.0


def written(messages):
    """The bytes in the stream, as the library writes them."""
    return b"".join(frames.pack(len(h), len(p)) + h + p for h, p in messages)


def connected():
    """Both ends of a TCP connection over this machine's loopback; written bytes leave at once."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    for end in (near, far):
        end.settimeout(PATIENCE)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return near, far


class Proxy:
    """One end of a TCP connection. The stream comes in these segments, the next one when more is asked for."""

    def __init__(self, *segments):
        self.near, self.far = connected()
        self.segments = deque(segment for segment in segments if segment)
        self.there = 0  # bytes that can be read
        self.ended = 0  # how often it was said that there are no more
        self.story = []  # (bytes asked for, bytes given)

    def recv(self, nbytes, *flags):
        if not self.there:
            self.go_on()
        piece = self.near.recv(nbytes, *flags)
        self.took(nbytes, len(piece))
        return piece

    def recv_into(self, buffer, nbytes=0, *flags):
        if not self.there:
            self.go_on()
        got = self.near.recv_into(buffer, nbytes, *flags)
        self.took(nbytes or len(buffer), got)
        return got

    def go_on(self):
        if self.segments:
            self.there = len(self.segments[0])
            self.far.sendall(self.segments.popleft())
            while len(self.near.recv(self.there, socket.MSG_PEEK)) < self.there:
                pass  # until the whole segment has arrived
        else:
            self.far.close()
            self.ended += 1
            assert self.ended < 4, (
                "recv gave b'', which means that the stream has ended; and it was called again, and again: for ever"
            )

    def took(self, asked, got):
        self.there -= got
        self.story.append((asked, got))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.near.close()
        self.far.close()


def cut(data, places):
    """The data in segments that end at these places."""
    ends = [0, *sorted(places), len(data)]
    return [data[begin:end] for begin, end in zip(ends, ends[1:])]


def ways():
    """Cut nowhere, at every byte, everywhere, and at random."""
    length = len(written(MESSAGES))
    yield "all in one segment", []
    for place in range(1, length):
        yield f"cut after byte {place}", [place]
    yield "each byte alone", range(1, length)
    for seed in range(20):
        places = random.Random(seed).sample(range(1, length), 5)
        yield f"cut after bytes {sorted(places)}", places


# --------------------------------------------------------------------------------------------- lamps


@lamp("correct")
def right():
    """You read the messages of the library, wherever they are cut, and the library reads yours."""
    for what, places in ways():
        with Proxy(*cut(written(MESSAGES), places)) as proxy:
            for number, (header, payload) in enumerate(MESSAGES):
                where = (
                    f"{what}: message {number}, header {header!r}, payload of {len(payload)} bytes"
                )
                try:
                    found = stream.receive(proxy)
                except Exception as error:
                    raise AssertionError(
                        f"{where}: receive raised {type(error).__name__}: {error}\n{calls(proxy)}"
                    ) from error
                found = found and tuple(map(bytes, found))
                assert found == (header, payload), (
                    f"{where}: receive returned {found}\n{calls(proxy)}"
                )
    for header, payload in MESSAGES:
        near, far = connected()
        with near, far:
            stream.send(Narrow(near), header, memoryview(payload))
            near.shutdown(socket.SHUT_WR)
            found, wanted = (
                b"".join(iter(lambda far=far: far.recv(4096), b"")),
                written([(header, payload)]),
            )
            assert found == wanted, (
                f"send of header {header!r}, payload {payload!r} through a connection that takes 5 bytes at a time: "
                f"{first_difference(found, wanted, len(header))}. {found.hex(' ') or 'nothing'} arrived, and should be "
                f"{wanted.hex(' ')}: frame, header, payload"
            )


def first_difference(found, wanted, header):
    """Where two streams part, in words."""
    at = next(
        (n for n, (one, other) in enumerate(zip(found, wanted)) if one != other),
        min(len(found), len(wanted)),
    )
    if at == len(wanted):
        return f"after the message {len(found) - at} bytes more"
    ends = [2, 4, 8, frames.LENGTH, frames.LENGTH + header, len(wanted)]
    parts = [
        "the mark",
        "the version",
        "the header's length",
        "the payload's length",
        "the header",
        "the payload",
    ]
    place = next(part for part, end in zip(parts, ends) if at < end)
    is_now = f"is {found[at]:02x}" if at < len(found) else "is missing"
    return f"byte {at}, in {place}, {is_now} and should be {wanted[at]:02x}"


class Narrow:
    """A connection that takes 5 bytes at a time: `send` may do that, and says how many it took."""

    def __init__(self, connection):
        self.connection = connection

    def send(self, data):
        return self.connection.send(memoryview(data)[:5])

    def sendall(self, data):
        while len(data):
            data = memoryview(data)[self.send(data) :]


def calls(proxy):
    """The last calls of the connection."""
    shown = [f"{asked} → {got}" for asked, got in proxy.story[-6:]]
    return f"    bytes asked for → given, in the end: {',  '.join(shown)}"


@lamp("ends", star=2)
def ends():
    """The stream ends after every byte: between messages with None, within one with an EOFError."""
    data, boundaries = (
        written(MESSAGES),
        [len(written(MESSAGES[:n])) for n in range(len(MESSAGES) + 1)],
    )
    for length in range(len(data) + 1):
        with Proxy(data[:length]) as proxy:
            whole = max(n for n, boundary in enumerate(boundaries) if boundary <= length)
            where = f"the stream ends after {length} bytes, after {whole} whole messages"
            for _ in range(whole):
                stream.receive(proxy)
            is_good = length in boundaries
            where += " and nothing more" if is_good else " and a part of one"
            wanted = "None" if is_good else "an EOFError"
            try:
                found = f"returned {stream.receive(proxy)}"
            except EOFError:
                found = "raised an EOFError"
            except AssertionError:
                raise  # the proxy has said what is wrong
            except Exception as error:
                raise AssertionError(
                    f"{where}: receive raised {type(error).__name__} ({error}), expected {wanted}"
                ) from error
            assert found == ("returned None" if is_good else "raised an EOFError"), (
                f"{where}: receive {found}, expected {wanted}"
            )


@lamp("refuses", star=2)
def refuses():
    """No frame, or one that announces too much; and nothing is reserved that has not come."""
    tracemalloc.start()
    try:
        for what, data, expected in (
            (
                "the beginning of an HTTP request",
                b"GET / HTTP/1.1\r\nHost: example\r\n\r\n",
                frames.FrameError,
            ),
            ("a payload of 2^60 bytes", frames.pack(0, 1 << 60), frames.FrameError),
            ("a header of 2^31 bytes", frames.pack(1 << 31, 0), frames.FrameError),
            (
                "2^39 bytes, which are allowed, and only 3 come",
                frames.pack(0, 1 << 39) + b"abc",
                EOFError,
            ),
        ):
            tracemalloc.reset_peak()
            with Proxy(data) as proxy:
                try:
                    found = stream.receive(proxy)
                except expected:
                    found = None
                except Exception as error:
                    raise AssertionError(
                        f"{what}: {said(error)}, expected {expected.__name__}"
                    ) from error
                else:
                    raise AssertionError(
                        f"{what}: receive returned {found}, expected {expected.__name__}"
                    )
            peak = tracemalloc.get_traced_memory()[1]
            assert peak < 1 << 20, f"{what}: {peak} bytes were reserved before they came"
    finally:
        tracemalloc.stop()


@lamp("calls", star=3)
def calls_of_recv():
    """A message of 30 000 bytes that is all there: a call for each of its parts."""
    with Proxy(written([(b"header", bytes(30_000))])) as proxy:
        stream.receive(proxy)
    calls = len(proxy.story)
    assert calls <= CALLS, (
        f"a message that is there already took {calls:,} calls of recv, and {CALLS} are allowed"
    )


@lamp("as a transport", star=3)
def as_a_transport():
    """Threads over loopback: the library's kit, without and with connections that give little at a time."""
    demand_the_others()
    lines = [
        name for name in CHECKS if name not in ("missing", "patience", "death", "death_in_send")
    ]
    check_transport(stream.StreamTransport, world_sizes=(1, 3), only=lines, patience=PATIENCE)
    check_transport(Trickling, world_sizes=(2,), only=["connect", "interleaved"], patience=PATIENCE)


def demand_the_others():
    """A transport on functions that are wrong only hangs, and says little."""
    try:
        right(), ends(), refuses(), calls_of_recv()
    except Exception:
        raise AssertionError("not tried yet: first the lamps before this one") from None


class Trickling(stream.StreamTransport):
    """Its connections give 1 to 1000 bytes at a time."""

    def prepared(self, connection):
        return Trickle(connection, random.Random(self.rank))


class Trickle:
    def __init__(self, connection, draw):
        self.connection, self.draw = connection, draw

    def recv(self, nbytes, *flags):
        return self.connection.recv(min(nbytes, self.draw.choice((1, 3, 50, 1000))), *flags)

    def recv_into(self, buffer, nbytes=0, *flags):
        most = min(nbytes or len(buffer), self.draw.choice((1, 3, 50, 1000)))
        return self.connection.recv_into(buffer, most, *flags)


@lamp("same journal", star=3)
def same_journal():
    """A program over your sockets and over the library's threads: the same events, in the same partial order."""
    demand_the_others()
    with tempfile.TemporaryDirectory() as folder:
        theirs, yours = Path(folder) / "queue.mtd", Path(folder) / "stream.mtd"
        expected = launch(program, 3, "queue://", timeout=PATIENCE, journal=theirs)
        with lab.threads_over("stream:StreamTransport"):
            found = launch(program, 3, "queue://", timeout=PATIENCE, journal=yours)
        assert found == expected, (
            f"over your sockets it comes to {found}, and over queue:// to {expected}"
        )
        parted = journal.diff(journal.read(theirs), journal.read(yours))
        assert parted is None, f"the journals over queue:// and over your sockets part:\n{parted}"


def program():
    """A sum, and a message to the right."""
    rank, size = dist.get_rank(), dist.get_world_size()
    tensor = torch.arange(7, dtype=torch.float64) * (rank + 1)
    dist.all_reduce(tensor)
    received = torch.empty(7, dtype=torch.float64)
    work = dist.isend(tensor * rank, (rank + 1) % size)
    dist.recv(received, (rank - 1) % size)
    work.wait()
    return received.tolist()


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


# ----------------------------------------------------------------------------- questions, and a picture


def bytes_in_the_stream():
    return len(written([(b"tag 7", b"payload")]))


def least_recv_calls():
    """For a payload of 40 bytes of which each comes alone."""
    with Proxy(*(bytes([byte]) for byte in range(40))) as proxy:
        stream.read_exactly(proxy, 40)
    return len(proxy.story)


def picture():
    """Segments and messages, and what recv gave."""
    messages = [(b"tag 7", b"payload"), (b"", b"more"), (b"", b"")]
    data = written(messages)
    segments = cut(data, [7, 22, 29, 57])
    lines = ["three messages in one stream, which came in five segments; a column is a byte", ""]
    row = "".join(
        "f" * frames.LENGTH + "h" * len(header) + "p" * len(payload) for header, payload in messages
    )
    ends = [len(written(messages[:n])) for n in range(1, len(messages) + 1)]
    lines.append(
        f"messages  {''.join(sign if at + 1 not in ends else '┃' for at, sign in enumerate(row))}"
    )
    lines.append("segments  " + "".join(f"[{'─' * (len(segment) - 2)}]" for segment in segments))
    lines += ["          f frame, h header, p payload", ""]
    with Proxy(*segments) as proxy:
        for number in range(len(messages)):
            before = len(proxy.story)
            stream.receive(proxy)
            asked = "  ".join(f"recv({asked})→{got}" for asked, got in proxy.story[before:])
            lines.append(f"message {number + 1}  {asked}")
    return "\n".join(lines)


def said(error):
    """`MemoryError` has no words."""
    return ": ".join(filter(None, (type(error).__name__, str(error))))
