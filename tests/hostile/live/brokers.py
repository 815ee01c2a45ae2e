"""The embedded broker: two honest members at work, odd members, and strangers of all kinds."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.hostile.bending import bytes_bender
from tests.hostile.doors import wires
from tests.hostile.judging import Verdict
from tests.hostile.live.crowd import GREETINGS, PATIENCE, Watch, Wrong, stranger
from tests.hostile.running import Session, Tried
from tests.transports.brokers import connect_packet
from transports.broker import launch, packets
from transports.broker.credentials import credentials
from transports.broker.packets import PublishedMessage

CROWD = 20
BEND = bytes_bender(wires.packet_fields)


def open_plain(seed: int, folder: Path) -> Session:
    return Brokers(seed)


class Member:
    """A client that holds the password, and speaks as it is told to."""

    def __init__(self, port: int, name: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        username, password = credentials()
        self.socket.sendall(connect_packet(name, username, password))
        self._heard = bytearray()

    def hear(self) -> tuple[int, bytes]:
        """The next packet; EOFError at the end, TimeoutError where none comes."""
        while True:
            found = self._packet()
            if found is not None:
                return found
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError("the broker closed the connection")
            self._heard += data

    def _packet(self) -> tuple[int, bytes] | None:
        length = shift = 0
        for at in range(1, min(len(self._heard), 5)):
            length |= (self._heard[at] & 127) << shift
            shift += 7
            if self._heard[at] < 128:
                end = at + 1 + length
                if len(self._heard) < end:
                    return None
                found = self._heard[0], bytes(self._heard[at + 1 : end])
                del self._heard[:end]
                return found
        return None


class Brokers:
    name = "live-broker"

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.broker = launch.start()
        self.port = int(self.broker.address.rpartition(":")[2])
        self.guests: list[socket.socket] = []
        self.listener, self.speaker = self._member("listener"), self._member("speaker")
        self.listener.socket.sendall(packets.packet(0x82, b"\0\1", _text(b"honest/#") + b"\1"))
        self._expect(self.listener, 0x90)
        self.said = 0
        self.watch = Watch(self.broker.pid)

    def _member(self, name: str) -> Member:
        try:
            member = Member(self.port, name)
            self._expect(member, 0x20)
        except (OSError, EOFError) as error:
            raise Wrong(f"a member is not let in: {error!r}") from error
        return member

    def _expect(self, member: Member, first: int) -> bytes:
        got, body = member.hear()
        if got != first:
            raise Wrong(f"a packet {got:#x} came where {first:#x} was due")
        return body

    def attempt(self, number: int) -> Tried:
        random = Random(f"{self.name}/{self.seed}/{number}")
        for place in range(CROWD):
            (self._odd if random.random() < 0.5 else self._stranger)(random)
            if place % 4 == 0:
                self._work()
        self._work()
        if number % 20 == 19:  # a newcomer is let in, however many stand at the door
            self._member(f"newcomer {number}").socket.close()
        while len(self.guests) > 150:
            self.guests.pop(0).close()
        self.watch.check()
        return Tried(Verdict("accepted"), CROWD)

    def _work(self) -> None:
        """One honest message: it comes, whole, in its turn."""
        self.said += 1
        text = f"message {self.said}".encode() * (self.said % 50 + 1)
        message = PublishedMessage("honest/topic", text, 1, False)
        try:
            self.speaker.socket.sendall(b"".join(packets.publish_pieces(message, self.said % 0xFFFF + 1)))
            body = self._expect(self.listener, 0x32)
            self._expect(self.speaker, 0x40)
            end = 2 + int.from_bytes(body[:2], "big")
            self.listener.socket.sendall(packets.puback(int.from_bytes(body[end : end + 2], "big")))
        except (OSError, EOFError) as error:
            raise Wrong(f"the honest members are hindered: {error!r}") from error
        if body[end + 2 :] != text:
            raise Wrong("an honest message came changed, or out of its turn")

    def _odd(self, random: Random) -> None:
        """A member, of whom each packet may be bent."""
        with suppress(OSError, EOFError):
            member = Member(self.port, f"odd {random.randrange(9)}")
            for _ in range(random.choice((1, 2, 5))):
                given = wires.make_packet(random, random.randrange(5))
                for _ in range(random.randrange(3)):
                    given = BEND(random, given, [given])
                if given and b"honest" not in given and given[:1] != b"\x10":
                    sent = packets.packet(given[0], given[1:])
                    if random.random() < 0.1:
                        sent = sent[:1] + b"\xff\xff\xff\xff" + sent[2:]
                    member.socket.sendall(sent)
            if random.random() < 0.3:
                self.guests.append(member.socket)
            else:
                member.socket.close()

    def _stranger(self, random: Random) -> None:
        left = stranger(random, ("127.0.0.1", self.port), GREETINGS)
        if left is not None:
            self.guests.append(left)

    def close(self) -> None:
        for guest in (*self.guests, self.listener.socket, self.speaker.socket):
            guest.close()
        self.broker.stop()
        until = time.monotonic() + 10
        while Path(f"/proc/{self.broker.pid}").exists() and time.monotonic() < until:
            time.sleep(0.01)


def _text(words: bytes) -> bytes:
    return len(words).to_bytes(2, "big") + words
