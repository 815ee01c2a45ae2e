"""Lesson 28 over real wires: a transport by your rules, over wires that lose and double.

Over sim and tcp one packet in five is lost, and one comes twice. Over file your logs are the wire. Over mqtt
a client publishes with QoS 1, and every third packet twice.
"""

from pathlib import Path

import wires

import minitorch_dist.distributed as dist
from minitorch_dist.distributed import world
from mtd.course.lossy_wires import Bulb, Folder, StrangeTransport
from mtd.course.post import MessageBox
from transports.conformance.bench import Tray, draw
from transports.stores.store import PrefixStore

MESSAGES = 8
END = b""


class Bad:
    """Messages of the library's, of which some are lost and some doubled: which ones depends on their number."""

    patience, linger = 0.05, 0.2

    def __init__(self):
        self.post, self.count = MessageBox(), 0
        self.others = set(range(self.post.size)) - {self.post.rank}

    def put(self, dst, packet):
        self.count += 1
        chance = draw(5, self.post.rank, self.count)
        for _ in range((0, 2, 1, 1, 1)[chance]):
            self.post.send(dst, packet)

    def take(self):
        found = []
        while (come := self.post.receive(0.0005)) is not None:
            self.heard(*come, found)
        return found

    def heard(self, src, packet, found):
        if packet == END:
            self.others.discard(src)
        else:
            found.append(packet)

    def close(self):
        """Take what still comes until all have closed, or the next run would hear it."""
        for dst in range(self.post.size):
            if dst != self.post.rank:
                self.post.send(dst, END)
        while self.others:
            self.heard(*self.post.receive(), [])
        self.post.leave()


def wire_under(wire, turn):
    rank, size = dist.get_rank(), dist.get_world_size()
    if wire.name == "file":
        folder = Path(wire.folder) / f"logs{turn}"
        folder.mkdir(exist_ok=True)
        return Folder(folder, rank, size, wires)
    if wire.name == "mqtt":
        return Bulb(wire.address, f"lesson28-{turn}", rank)
    return Bad()


def program(wire):
    rank, size, here = dist.get_rank(), dist.get_world_size(), world.current()
    turn = here.extras["lesson 28"] = here.extras.get("lesson 28", 0) + 1
    transport = StrangeTransport(rank, size, wire_under(wire, turn), wires, here.clock)
    tray = Tray(lambda _: False)
    transport.connect(PrefixStore(f"lesson 28, {turn}", here.store), tray, wire.patience)
    left = (rank - 1) % size
    for number in range(MESSAGES):
        transport.send((rank + 1) % size, b"%d" % number, bytes([rank] * number))
    deadline = here.clock.deadline(wire.patience)
    while tray.count(left) < MESSAGES:
        assert not deadline.is_over(), (
            f"rank {rank} waits for message {tray.count(left)} of {MESSAGES} from rank {left}, and it does not come"
        )
        transport.progress(0.1)
    key = f"lesson 28, {turn}, ranks that have all"
    here.store.add(key, 1)
    while here.store.add(key, 0) < size:
        transport.progress(0.005)
    transport.close()
    heard = [(header.decode(), bytes(body).hex()) for header, body in tray.messages[left]]
    wanted = [(str(number), (bytes([left]) * number).hex()) for number in range(MESSAGES)]
    assert heard == wanted, f"rank {rank} reads {heard} from rank {left}, expected {wanted}"
    return heard
