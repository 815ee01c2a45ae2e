"""Clients of a broker that do what costs it most, all of it legal; and the cost.

    python -m tests.transports.broker_members     a line for each: bytes, processor time, memory, an honest pair

As `members`, which asks this of a store. The honest pair passes a message on from one to the other, again and again.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random

from tests.transports.brokers import connect_packet, text
from tests.transports.members import PATIENCE, Bill, Crowd, Honest, forget_peak, memory_of, names, seconds_of
from transports.broker import launch, packets
from transports.broker.credentials import credentials
from transports.broker.packets import PublishedMessage

HONEST = "mtd/honest/x"


@dataclass
class MqttCrowd(Crowd):
    """Members of one broker."""

    def member(self, takes: int = 0, will: bytes = b"", subscribe: str = "") -> socket.socket:
        found = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        if takes:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
        self.sockets.append(found)
        username, password = credentials()
        left = ("left", will, 0, False) if will else None
        self.say(found, connect_packet(f"m{id(found)}", username, password, will=left))
        self.hear(found, 4)
        if subscribe:
            self.say(found, subscription([subscribe]))
            self.hear(found, 5)
        return found

    def hear(self, member: socket.socket, nbytes: int) -> bytes:
        """So many bytes."""
        member.settimeout(PATIENCE)
        found = bytearray()
        while len(found) < nbytes:
            piece = member.recv(nbytes - len(found))
            if not piece:
                raise EOFError("the broker hung up")
            found += piece
        self.bill.taken += len(found)
        return bytes(found)

    def in_time(self, member: socket.socket) -> None:
        """Return when all that this member has said was heard."""
        self.say(member, b"\xc0\0", PATIENCE)
        with suppress(OSError, EOFError):
            member.settimeout(PATIENCE)
            while piece := member.recv(1 << 16):
                self.bill.taken += len(piece)
                if piece.endswith(b"\xd0\0"):
                    break


def subscription(filters: list[str], qos: int = 0) -> bytes:
    return packets.packet(0x82, b"\0\1", *(text(name) + bytes((qos,)) for name in filters))


def said(topic: str, payload: bytes, retain: bool = False, qos: int = 0) -> bytes:
    return b"".join(packets.publish_pieces(PublishedMessage(topic, payload, qos, retain), 1 if qos else 0))


def take_nothing(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """Many subscribe and take nothing; one of them publishes much."""
    for _ in range(int(20 * scale)):
        crowd.member(1 << 12, subscribe="load")
    speaker = crowd.member()
    for _ in range(int(30 * scale)):
        crowd.bill.values += 1 << 20
        crowd.say(speaker, said("load", bytes(1 << 20)), PATIENCE)
    crowd.in_time(speaker)


def take_a_little(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """A reader for whom more waits than may takes a byte now and then; its sender is another member's friend."""
    reader, speaker = crowd.member(1 << 12, subscribe="load"), crowd.member()
    for _ in range(int(90 * scale)):
        crowd.bill.values += 1 << 20
        crowd.say(speaker, said("load", bytes(1 << 20)), 0.2)
        with suppress(OSError):
            reader.recv(1)


def pings_in_a_row(crowd: MqttCrowd, random: Random, scale: float) -> None:
    members = [crowd.member() for _ in range(4)]
    for member in members:
        crowd.say(member, b"\xc0\0" * int(100_000 * scale))
    for member in members:
        crowd.hear(member, 2 * int(100_000 * scale))


def filters_by_the_thousand(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """One packet subscribes to more than anybody may."""
    member = crowd.member()
    many = [f"{number:x}/+/#" for number in range(int(200_000 * scale))]
    crowd.say(member, subscription(many))
    with suppress(OSError, EOFError):
        crowd.in_time(member)


def look_up_again(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """Thousands of subscriptions, and each new one makes the broker look up topics again."""
    members = [crowd.member() for _ in range(4)]
    for number, member in enumerate(members):
        crowd.say(member, subscription([f"mtd/+/{number}/{n}/#" for n in range(990)]))
    for turn in range(int(200 * scale)):
        crowd.say(members[0], subscription([f"mtd/{turn % 5}"]))
        crowd.say(members[1], said(f"mtd/x/{turn}/y", b"") * 3)
    for member in members:
        crowd.in_time(member)


def deep_filters(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """Subscriptions of thousands of levels; then short messages."""
    member = crowd.member()
    for number in range(int(40 * scale)):
        crowd.say(member, subscription([f"{number}" + "/+" * 15_000 + f"/{n}" for n in range(10)]))
    for turn in range(int(300 * scale)):
        crowd.say(member, said(f"a/{turn}", b""))
    crowd.in_time(member)


def wildcards_over_retained(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """Thousands of small retained messages; subscriptions that match none of them."""
    keeper, member = crowd.member(), crowd.member()
    crowd.say(keeper, b"".join(said(name, b"x", True) for name in names(random, int(4000 * scale))))
    crowd.in_time(keeper)
    many = [f"+/{n}/+/nothing" for n in range(900)]
    for _ in range(int(5 * scale) + 1):
        crowd.say(member, subscription(many), 1.0)
    crowd.say(keeper, b"".join(said(name, b"", True) for name in names(random, 10)))
    crowd.in_time(keeper)


def large_retained(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """A few large retained messages, for which many subscribe who take nothing."""
    keeper = crowd.member()
    for number in range(int(10 * scale)):
        crowd.bill.values += 1 << 20
        crowd.say(keeper, said(f"big/{number}", bytes(1 << 20), True), PATIENCE)
    crowd.in_time(keeper)
    for _ in range(int(40 * scale)):
        member = crowd.member(1 << 12)
        crowd.say(member, subscription(["big/#"]) * 3)
    crowd.in_time(crowd.member())
    crowd.say(keeper, b"".join(said(f"big/{n}", b"", True) for n in range(10)))


def wills(crowd: MqttCrowd, random: Random, scale: float) -> None:
    """They come with a will, and vanish."""
    for _ in range(3):
        crowd.member(subscribe="left")
    for _ in range(int(100 * scale)):
        member = crowd.member(will=bytes(10_000))
        member.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        member.close()


def many_topics(crowd: MqttCrowd, random: Random, scale: float) -> None:
    member = crowd.member()
    for number in range(int(4000 * scale)):
        crowd.say(member, said(f"{number}/" + "x" * random.choice((1, 100, 5000)), b""))
    crowd.in_time(member)


MqttAttack = Callable[[MqttCrowd, Random, float], None]
ATTACKS: tuple[MqttAttack, ...] = (
    take_nothing,
    take_a_little,
    pings_in_a_row,
    filters_by_the_thousand,
    look_up_again,
    deep_filters,
    wildcards_over_retained,
    large_retained,
    wills,
    many_topics,
)


@contextmanager
def honest_pair(port: int) -> Iterator[Honest]:
    crowd = MqttCrowd(port)
    listener, speaker = crowd.member(subscribe=HONEST), crowd.member()

    def work(turn: int) -> None:
        data = said(HONEST, f"message {turn}".encode() * (turn % 40 + 1))
        crowd.say(speaker, data, PATIENCE)
        assert crowd.hear(listener, len(data)) == data

    honest = Honest(work)
    try:
        yield honest
        honest.end()
    finally:
        honest._is_over = True
        crowd.leave()


def cost_of(attack: MqttAttack, port: int, pid: int, random: Random, scale: float = 1.0) -> Bill:
    """Let it come, with an honest pair beside it; AssertionError if that gets a wrong message, or none."""
    crowd = MqttCrowd(port)
    forget_peak(pid)
    seconds, memory = seconds_of(pid), memory_of(pid)
    with honest_pair(port) as honest:
        try:
            attack(crowd, random, scale)
        finally:
            crowd.bill.seconds = seconds_of(pid) - seconds
            crowd.bill.memory = memory_of(pid) - memory
            crowd.leave()
    crowd.bill.slowest = honest.slowest
    return crowd.bill


def main(arguments: list[str]) -> None:
    for attack in ATTACKS:
        if arguments and attack.__name__ not in arguments:
            continue
        with launch.start() as broker:
            port = int(broker.address.rpartition(":")[2])
            try:
                line = f"{cost_of(attack, port, broker.pid, Random(1))}"
            except (AssertionError, OSError, EOFError) as error:
                line = f"FAILED: {error!r}"[:120]
                line += f"; {seconds_of(broker.pid):.1f} s, {memory_of(broker.pid) >> 20} MiB"
        print(f"{attack.__name__:24} {line}", flush=True)
    assert threading.active_count() < 20


if __name__ == "__main__":
    main(sys.argv[1:])
