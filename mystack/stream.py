"""A real socket: messages, over a stream that knows none.

    messages    ┃frame│header│payload┃frame│header│payload┃frame│payload┃
    segments    [────────][─][──────────────────────────────][───][─────]

TCP keeps the order of bytes and nothing else: `recv(n)` gives what
is there, from 1 byte to n; and none at all when the stream has
ended. So every message says first how long it is, as in the library:

    0       2         4                 8                                16
    ┌───────┬─────────┬─────────────────┬─────────────────────────────────┬────────┬─────────┐
    │ "mt"  │ version │ header's length │ payload's length                │ header │ payload │
    └───────┴─────────┴─────────────────┴─────────────────────────────────┴────────┴─────────┘
"""

import socket
from contextlib import suppress
from functools import partial

from .face import frames, rendezvous
from .face.contract import Transport, flat
from .face.errors import CLOSED, DistNetworkError, PeerLost, TransportClosed

PIECE = 1 << 16  # bytes to ask for at once: `recv(n)` reserves n bytes, whatever will come
LOOPBACK = "127.0.0.1"
LINGER = 10.0  # seconds for which a peer may not hear that we leave


def read_exactly(connection, nbytes):
    """The next `nbytes` bytes of the stream, however they come; EOFError if it ends before."""
    data = bytearray()
    while len(data) < nbytes:
        piece = connection.recv(min(nbytes - len(data), PIECE))
        if not piece:
            raise EOFError(f"the stream ended, and {nbytes - len(data)} bytes are missing")
        data += piece
    return data


def send(connection, header, payload):
    """One message: the frame, the header, the payload; all of it.

    `frames.pack(len(header), len(payload))` gives the frame's 16 bytes.
    """
    connection.sendall(frames.pack(len(header), len(payload)) + header + payload)


def receive(connection):
    """The next message's header and payload; None if
    the stream has ended where a message would begin.

    `frames.unpack(frame)` takes those `frames.LENGTH` bytes,
    and gives the two lengths; FrameError if this is no frame.
    """
    first = connection.recv(1)
    if not first:
        return None
    frame = first + read_exactly(connection, frames.LENGTH - 1)
    header_length, payload_length = frames.unpack(frame)
    return read_exactly(connection, header_length), read_exactly(connection, payload_length)


# ------------------------------------------------------------------------------ what it is good for


class StreamTransport(Transport):
    """One rank's end: a connection to every other rank, and a thread for each that hears it.

    Nobody asks who is calling (the library does: `transports/sockets/handshake.py`).
    """

    scheme = "stream"
    host = LOOPBACK  # or this machine's address, for ranks on other machines

    def __init__(self, rank, world_size, *rest):
        super().__init__(rank, world_size, *rest)
        self.news = self.clock.condition()
        self.connections, self.turns, self.hearing, self.lost = {}, {}, [], {}
        self.deliveries = self.reported = 0
        self.state = "not connected"

    def connect(self, store, inbox, timeout=None):
        """Everybody listens, says where, calls the ranks below, and is called by those above."""
        self.inbox = inbox
        with socket.create_server((self.host, 0)) as listener:  # 0: any port that is free
            listener.settimeout(timeout)
            mine = b"%b:%d" % (self.host.encode(), listener.getsockname()[1])
            cards = rendezvous.exchange(
                store, self.scheme, self.rank, self.world_size, mine, self.clock, timeout
            )
            for peer in range(self.rank):
                host, port = cards[peer].decode().split(":")
                connection = socket.create_connection((host, int(port)))
                send(connection, b"%d" % self.rank, b"")
                self.talk(peer, connection)
            while len(self.connections) < self.world_size - 1:
                connection, _ = listener.accept()
                self.talk(int(receive(connection)[0]), connection)
        self.state = "open"

    def talk(self, peer, connection):
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections[peer], self.turns[peer] = connection, self.clock.condition()
        hear = partial(self.hear, peer, self.prepared(connection))
        self.hearing.append(self.clock.start(hear, f"rank {self.rank} hears {peer}"))

    def prepared(self, connection):
        return connection

    def hear(self, peer, connection):
        """In a thread of its own: hand over what comes, until it ends."""
        reason = CLOSED
        try:
            while (message := receive(connection)) is not None:
                self.deliver(peer, *message)
        except (OSError, EOFError, DistNetworkError) as error:
            reason = str(error)
        with suppress(OSError):  # a rank that hears goodbye says goodbye
            self.connections[peer].shutdown(socket.SHUT_RDWR)
        with self.news:
            self.lost[peer] = PeerLost(peer, reason)
            if self.state != "closed":
                self.inbox.lost(peer, self.lost[peer])
                self.tell()

    def deliver(self, src, header, payload):
        with self.news:
            if self.state != "closed":
                sink = self.inbox.sink(src, bytes(header), len(payload))
                if len(payload):
                    sink.write(memoryview(payload))
                self.tell()

    def tell(self):
        self.deliveries += 1
        self.news.notify_all()

    def send(self, dst, header, payload):
        body = flat(header, payload)
        self.demand_open()
        if not 0 <= dst < self.world_size:
            raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
        if dst == self.rank:
            return self.deliver(dst, header, body)
        if dst in self.lost:
            raise PeerLost(dst, self.lost[dst].why)
        try:
            with self.turns[dst]:
                return send(self.connections[dst], header, body)
        except OSError as error:
            self.demand_open()
            raise PeerLost(dst, f"its connection broke while we sent: {error.strerror}") from error

    def progress(self, timeout, done=None):
        with self.news:
            self.demand_open()
            seen = self.reported if done is None else self.deliveries
            deadline = self.clock.deadline(timeout)
            while self.deliveries == seen and not deadline.is_over() and not (done and done()):
                self.news.wait(deadline.left())
                self.demand_open()
            found, self.reported = self.deliveries > self.reported, self.deliveries
            return found

    def demand_open(self):
        if self.state != "open":
            raise TransportClosed(f"the stream transport of rank {self.rank} is {self.state}")

    def close(self):
        """Say goodbye, and leave when everybody has: then they have read all we sent."""
        with self.news:
            self.state = "closed"
            self.news.notify_all()
        for connection in self.connections.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
        for thread in self.hearing:
            thread.join(LINGER)
        for connection in self.connections.values():
            connection.close()
