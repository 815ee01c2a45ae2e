"""Laptops of a class that do what costs its host most, all of it legal; and the cost.

    python -m tests.transports.pupils     a line for each: bytes, processor time and memory of the host, an honest laptop

As `members`, which asks this of a store. The host stands in a process of its own, behind a broker in another one. A
pupil holds the class's key, and speaks to the broker itself, in as many names as it likes.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random

from minitorch_dist.inventory.release import __version__
from mtd.course.classroom import messages
from mtd.course.classroom.host import STORE
from mtd.course.classroom.messages import Drawn, Gather, Hello, Leave, Lost, Pulse, Raced, Ready, Saved
from tests.transports.broker_members import MqttCrowd, said
from tests.transports.members import PATIENCE, Bill, Honest, Process, forget_peak
from transports import frames as streams
from transports.broker import launch
from transports.broker.credentials import OWNER, OWNER_KEY, owner_password
from transports.errors import QueueEmptyError
from transports.mqtt_protocol import frames
from transports.mqtt_protocol.frames import Frame
from transports.mqtt_protocol.store import MQTTStore
from transports.mqtt_protocol.store_end import Topics
from transports.stores import protocol
from transports.stores.protocol import StoreRequest

PROGRAM = """
import sys, threading
from mtd.course.classroom.guard import StoreGuard
from mtd.course.classroom.host import ClassHost
from mtd.course.classroom.room import ClassPlan, Room
from transports.mqtt_protocol.store import MQTTStore
guard = StoreGuard()
store = MQTTStore({place!r}, rank=0, timeout=60, guard=guard)
host = ClassHost(store, Room(20, ClassPlan(pace=0.0)), guard)
is_over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), is_over.set()), daemon=True).start()
print(f"{{store.mark:x}}", flush=True)
while not is_over.wait(0.02):
    host.pump()
    if host.room.phase == "lobby" and host.room.seats.here():
        host.room.start()
        host.send()
store.close()
"""


class ClassProcess:
    """The broker of a class, and its host."""

    def __init__(self) -> None:
        owner = os.urandom(8).hex()
        self.broker = launch.start("--private", f"mtd/{STORE}/s", environment={**os.environ, OWNER_KEY: owner})
        self.port = int(self.broker.address.rpartition(":")[2])
        place = f"mqtt://{OWNER}:{owner_password(owner)}@127.0.0.1:{self.port}/{STORE}"
        self.host = Process(PROGRAM.format(place=place))
        self.mark = int(self.host.said, 16)

    def close(self) -> None:
        self.host.close()
        self.broker.stop()


@dataclass
class PupilCrowd(MqttCrowd):
    """Pupils who ask the store of the class."""

    host: int = 0  # its mark
    topics: Topics = field(default_factory=lambda: Topics(STORE))
    numbers: dict[int, int] = field(default_factory=dict)
    speaker: socket.socket | None = None

    def ask(self, mark: int, *asked: StoreRequest, times: int = 1, settles: bool = False) -> None:  # type: ignore[override]
        """Requests in the name of this mark, each said so often; nobody hears the answers."""
        if self.speaker is None:
            self.speaker = self.member()
        data = bytearray()
        for one in asked:
            number = self.numbers[mark] = self.numbers.get(mark, -1) + 1
            body = protocol.pack_request(one)[streams.LENGTH :]
            frame = Frame(frames.ASK, 0, 0, mark, self.host, seq=number, acked=number if settles else 0)
            data += said(self.topics.ask, bytes(frames.seal(self.topics.key, frame, body))) * times
        self.say(self.speaker, bytes(data), PATIENCE)

    def word(self, mark: int, *words: messages.Said | bytes) -> None:
        """Say this at the desk."""
        asked = []
        for one in words:
            text = one if isinstance(one, bytes) else messages.encode(one)
            asked.append(StoreRequest("queue_push", ["desk"], [f"{mark:016x} ".encode() + text], 1.0))
        self.ask(mark, *asked)


def wait_for_many_keys(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """Keys of a world in which they have no part, and many of them."""
    for mark in range(1, int(20 * scale) + 2):
        keys = [f"g/1/0/{n}" for n in range(int(20_000 * scale))]
        crowd.ask(mark, StoreRequest("wait", keys, [], 600.0))
    crowd.word(1, Hello("Mallory", __version__, messages.PROTOCOL, ""))


def wait_with_a_part(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """A laptop that has its part in the first generations waits for many keys of these, again and again."""
    crowd.word(1, Hello("Mallory", __version__, messages.PROTOCOL, ""))
    for _ in range(20):
        crowd.word(1, *map(Ready, range(6)))
        time.sleep(0.1)
    for turn in range(int(60 * scale)):
        keys = [f"g/{turn % 6}/0/{turn}/{n}" for n in range(1900)]
        crowd.ask(1, StoreRequest("wait", keys, [], 600.0))
    for turn in range(int(100 * scale)):
        crowd.ask(1, StoreRequest("set", [f"g/{turn % 6}/0/{turn // 6}"], [b"x"], 0.0))


def wait_for_orders(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """Thousands wait for their orders, in names of their own, and leave it at that."""
    for mark in range(1, int(2000 * scale)):
        crowd.ask(mark, *[StoreRequest("wait", [f"to/{mark:016x}"], [], 600.0)] * 3)


def speak_without_end(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """More words than the desk takes."""
    crowd.word(1, Hello("Mallory", __version__, messages.PROTOCOL, ""))
    for _ in range(int(40 * scale)):
        crowd.word(1, *[Pulse()] * 200)


def come_and_go(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """Each time it leaves or comes, all are called together anew."""
    crowd.word(1, Hello("Mallory", __version__, messages.PROTOCOL, ""))
    for _ in range(int(20 * scale)):
        crowd.word(1, *[Leave(), Pulse(), Ready(random.randrange(50))] * 20)


def large_words(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """Words as long as they may be, of lists within lists, of drawings and of weights."""
    crowd.word(1, Hello("Mallory", __version__, messages.PROTOCOL, ""))
    texts = [
        b"[" * 100_000,
        b'["Drawn", 1, 1, "' + b"\\n" * 90_000 + b'"]',
        b'["Saved", 1, 1, 0.5, "' + b"0" * 200_000 + b'"]',
    ]
    for _ in range(int(30 * scale)):
        crowd.word(1, random.choice(texts), Saved(1, 1, 0.5, "0" * 3000), Drawn(1, 1, "x" * 90_000))
        crowd.word(1, Lost(1, 0, "x" * 400), Raced(1, 0.5, 3, True))


def ask_again(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """One question is said a thousand times; each time it is answered again."""
    crowd.ask(1, StoreRequest("get", ["x" * 100_000], [], 0.0), times=int(100 * scale))
    crowd.ask(2, StoreRequest("queue_pop_now", [f"to/{2:016x}"], [], 0.0), times=int(3000 * scale))


def many_names(crowd: PupilCrowd, random: Random, scale: float) -> None:
    """Each word in another name; and each name says hello."""
    for mark in range(1, int(3000 * scale)):
        crowd.word(mark, Hello(f"Mallory {mark}", __version__, messages.PROTOCOL, ""))


PupilAttack = Callable[[PupilCrowd, Random, float], None]
ATTACKS: tuple[PupilAttack, ...] = (
    wait_for_many_keys,
    wait_with_a_part,
    wait_for_orders,
    speak_without_end,
    come_and_go,
    large_words,
    ask_again,
    many_names,
)


@contextmanager
def honest_laptop(port: int) -> Iterator[Honest]:
    """Another laptop, which says that it is there and looks for its orders."""
    store = MQTTStore(f"mqtt://127.0.0.1:{port}/{STORE}", rank=1, timeout=PATIENCE)
    me = f"{store.mark:016x}"

    def tell(word: messages.Said) -> None:
        store.queue_push("desk", f"{me} ".encode() + messages.encode(word))

    def work(turn: int) -> None:
        tell(Pulse() if turn > 1 else Hello("Ada", __version__, messages.PROTOCOL, ""))
        if turn == 1:
            store.wait([f"to/{me}"], PATIENCE)  # it is welcome, or there is no seat left
        with suppress(QueueEmptyError):
            order = messages.decode(store.queue_pop(f"to/{me}", block=False), messages.ORDERS)
            if isinstance(order, Gather):
                tell(Ready(order.generation))

    honest = Honest(work)
    try:
        yield honest
        honest.end()
    finally:
        honest._is_over = True
        store.close()


def cost_of(attack: PupilAttack, made: ClassProcess, random: Random, scale: float = 1.0) -> Bill:
    """Let it come, with an honest laptop beside it; AssertionError if that gets a wrong answer, or none."""
    crowd = PupilCrowd(made.port, host=made.mark)
    forget_peak(made.host.pid)
    seconds, memory = made.host.seconds(), made.host.memory()
    with honest_laptop(made.port) as honest:
        try:
            attack(crowd, random, scale)
            rounds = honest.rounds
            while honest.rounds < rounds + 3 and honest.trouble is None:
                honest.wait()
        finally:
            crowd.bill.seconds = made.host.seconds() - seconds
            crowd.bill.memory = made.host.memory() - memory
            crowd.leave()
    crowd.bill.slowest = honest.slowest
    return crowd.bill


def main(arguments: list[str]) -> None:
    for attack in ATTACKS:
        if arguments and attack.__name__ not in arguments:
            continue
        made = ClassProcess()
        try:
            line = f"{cost_of(attack, made, Random(1))}"
        except (AssertionError, OSError, EOFError) as error:
            line = f"FAILED: {error!r}"[:150]
            line += f"; {made.host.seconds():.1f} s, {made.host.memory() >> 20} MiB"
        print(f"{attack.__name__:24} {line}", flush=True)
        made.close()


if __name__ == "__main__":
    main(sys.argv[1:])
