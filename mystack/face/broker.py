"""A message broker as a wire: MQTT 3.1.1 over a socket, and lesson 28's `Once` against what comes twice.

    to publish      PUBLISH  mystack/run/1/0    (to rank 1, from rank 0), with a number
    to hear         SUBSCRIBE mystack/run/1/+

With quality of service 1 the broker brings a message at least once: it may come again, and after a later one.
"""

import socket
import struct
from urllib.parse import urlsplit

from .. import stream, wires
from . import frames, rendezvous
from .contract import Transport, flat
from .errors import DistNetworkError, TransportClosed

CONNECT, CONNACK, PUBLISH, PUBACK, SUBSCRIBE, SUBACK, DISCONNECT = 1, 2, 3, 4, 8, 9, 14
QOS_1 = 2  # the bit of it in a packet's first byte
NUMBER = struct.Struct("<Q")  # of a message, among those of its sender to its receiver


def text(words):
    data = words.encode()
    return struct.pack(">H", len(data)) + data


def packet(kind, flags, body):
    """A first byte, the body's length seven bits at a time, the body."""
    length, rest = bytearray(), len(body)
    while True:
        rest, low = divmod(rest, 128)
        length.append(low | (128 if rest else 0))
        if not rest:
            return bytes([kind << 4 | flags]) + bytes(length) + body


def next_packet(connection):
    """The next one: its kind, its flags, its body."""
    (first,) = stream.read_exactly(connection, 1)
    length = shift = 0
    while True:
        (byte,) = stream.read_exactly(connection, 1)
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return first >> 4, first & 15, bytes(stream.read_exactly(connection, length))
        if shift > 21:
            raise DistNetworkError("the broker announces a packet of endless length")


def address_of(words):
    """127.0.0.1:1883, or mqtt://user:password@host:port."""
    address = urlsplit(words if "://" in words else f"mqtt://{words}")
    if address.scheme != "mqtt" or not address.hostname or not address.port:
        raise ValueError(
            f"{words!r} is no address like 127.0.0.1:1883 or mqtt://user:password@host:port"
        )
    return address


class BrokerTransport(Transport):
    scheme = "mqtt"

    def __init__(self, rank, world_size, address, run):
        super().__init__(rank, world_size)
        self.address, self.run = address_of(address), run
        self.news, self.turn = self.clock.condition(), self.clock.condition()
        self.numbers = [0] * world_size  # of the next message to each rank
        self.once = [wires.Once() for _ in range(world_size)]
        self.packets = self.deliveries = self.reported = 0
        self.is_open, self.trouble = False, None

    def connect(self, store, inbox, timeout=None):
        """Introduce ourselves, subscribe, and wait until all others have."""
        self.inbox = inbox
        self.connection = socket.create_connection(
            (self.address.hostname, self.address.port), timeout
        )
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        user, password = self.address.username, self.address.password
        flags = 0xC2 if user else 0x02  # with both names, in a clean session
        hello = text("MQTT") + bytes([4, flags, 0, 0]) + text(f"{self.run}-{self.rank}")
        hello += text(user) + text(password or "") if user else b""
        self.ask(packet(CONNECT, 0, hello), CONNACK, refused=1)
        wanted = b"\x00\x01" + text(f"mystack/{self.run}/{self.rank}/+") + b"\x01"
        self.ask(packet(SUBSCRIBE, 2, wanted), SUBACK, refused=2)
        self.connection.settimeout(None)
        self.is_open = True
        rendezvous.exchange(
            store, self.scheme, self.rank, self.world_size, b"here", self.clock, timeout
        )
        self.clock.start(self.hear, f"rank {self.rank} hears the broker")

    def ask(self, said, answer, refused):
        """Send a packet, and read its answer, where byte `refused` tells whether the broker agrees."""
        self.connection.sendall(said)
        kind, _, body = next_packet(self.connection)
        if kind == CONNACK and body[1] in (4, 5):
            raise DistNetworkError(
                "the broker wants a name and a password: --broker NAME:PASSWORD@HOST:PORT "
                "(mtd broker does not with --open)"
            )
        if kind != answer or body[refused] > 1 or (kind == CONNACK and body[refused]):
            raise DistNetworkError(f"the broker refuses: packet {kind}, {body.hex(' ')}")

    def send(self, dst, header, payload):
        if not self.is_open:
            raise TransportClosed(f"the broker's connection of rank {self.rank} is closed")
        body = flat(header, payload)
        if dst == self.rank:
            return self.deliver(dst, bytes(header), bytes(body))
        number = self.numbers[dst]
        self.numbers[dst] += 1
        message = NUMBER.pack(number) + frames.pack(len(header), len(body)) + header + bytes(body)
        with self.turn:
            self.packets = self.packets % 65535 + 1
            topic = text(f"mystack/{self.run}/{dst}/{self.rank}") + struct.pack(">H", self.packets)
            return self.connection.sendall(packet(PUBLISH, QOS_1, topic + message))

    def hear(self):
        """In a thread of its own: take what the broker brings, until it or we leave."""
        try:
            while True:
                kind, flags, body = next_packet(self.connection)
                if kind == PUBLISH:
                    self.published(flags, body)
        except Exception as error:
            with self.news:
                if self.is_open:
                    self.trouble = error
                    self.news.notify_all()

    def published(self, flags, body):
        (length,) = struct.unpack_from(">H", body)
        src, place = int(body[2 : 2 + length].rpartition(b"/")[2]), 2 + length
        if flags & QOS_1:
            with self.turn:
                self.connection.sendall(packet(PUBACK, 0, body[place : place + 2]))
            place += 2
        (number,) = NUMBER.unpack_from(body, place)
        for message in self.once[src].take(number, body[place + NUMBER.size :], bool(flags & 8)):
            header_length, _ = frames.unpack(message[: frames.LENGTH])
            start = frames.LENGTH + header_length
            self.deliver(src, message[frames.LENGTH : start], message[start:])

    def deliver(self, src, header, body):
        with self.news:
            sink = self.inbox.sink(src, header, len(body))
            if body:
                sink.write(memoryview(body))
            self.deliveries += 1
            self.news.notify_all()

    def progress(self, timeout):
        with self.news:
            self.news.wait_for(self.has_news, timeout)
            if self.trouble:
                raise self.trouble
            found, self.reported = self.deliveries > self.reported, self.deliveries
            return found

    def has_news(self):
        return self.trouble or self.deliveries > self.reported

    def close(self):
        self.is_open = False
        with self.turn:
            self.connection.sendall(packet(DISCONNECT, 0, b""))
        self.connection.close()
