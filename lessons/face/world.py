"""This process among all ranks.

Lesson 05's `send` and `recv` work here as they are: to them this is a world whose other ranks are in other processes.

    send(tensor, 1, tag=7)   messages.encode (08)  ──▶  wire (09, 28)  ──▶  messages.decode  ──▶  mailbox ──▶ recv
"""

import struct
from collections import deque

from .. import mailboxes, messages
from .contract import Clock
from .errors import DistTimeout
from .tensors import Tensor

TAG = struct.Struct("<q")  # in front of a message's header
OBJECTS = -1  # the tag of what `post` sends: bytes that are no tensor
PATIENCE = 60.0  # seconds without any message, after which a waiting rank gives up


class World:
    def __init__(self, rank, size, store, transport):
        self.rank = self.running = rank
        self.size = self.world_size = size
        self.store, self.transport, self.clock = store, transport, Clock()
        self.mailboxes = {rank: []}
        self.objects = deque()  # (src, bytes)
        self.asks = {}
        self.journal = deque(maxlen=100)
        self.under_way = self  # what lesson 05 appends to world.under_way[src, dst] leaves at once
        self.extras = {}
        self.gone, self.error = {}, None
        self.patience = PATIENCE
        transport.connect(store, self, PATIENCE)

    def __getitem__(self, link):
        return Link(self, link[1])

    def hand_on(self):
        """The other ranks run anyway."""

    def post(self, dst, tag, array):
        header, payload = messages.encode(array)
        self.transport.send(dst, TAG.pack(tag) + header, payload)

    def wait(self, seconds=None):
        """Return when something has come; whether it has, where `seconds` are given."""
        if self.error:
            raise self.error
        if self.gone and seconds is None:
            raise next(iter(self.gone.values()))
        found = self.transport.progress(self.patience if seconds is None else seconds)
        if not found and seconds is None:
            asked = self.asks.get(self.rank, "a message")
            raise DistTimeout(
                f"rank {self.rank} waits for {asked}, and nothing has come for {self.patience:g} s"
            )
        return found

    # The transport calls these.

    def sink(self, src, header, nbytes):
        return Sheet(self, src, header, nbytes)

    def lost(self, src, error):
        self.gone[src] = error

    def leave(self):
        self.transport.close()


class Link:
    """The way to one rank."""

    def __init__(self, world, dst):
        self.world, self.dst = world, dst

    def append(self, message):
        self.world.post(self.dst, message.tag, message.tensor.array)


class Sheet:
    """A message that is coming. When it is whole it goes into the mailbox."""

    def __init__(self, world, src, header, nbytes):
        self.world, self.src, self.nbytes = world, src, nbytes
        self.header, self.payload = header, bytearray()
        if nbytes == 0:
            self.open()

    def write(self, piece):
        self.payload += piece
        if len(self.payload) == self.nbytes:
            self.open()

    def open(self):
        try:
            (tag,) = TAG.unpack(self.header[: TAG.size])
            array = messages.decode(self.header[TAG.size :], self.payload)
            if tag == OBJECTS:
                self.world.objects.append((self.src, array.tobytes()))
            else:
                message = mailboxes.Message(self.src, tag, Tensor(array))
                self.world.mailboxes[self.world.rank].append(message)
        except Exception as error:  # the rank that waits raises it
            self.world.error = error


def enter(rank, size, store, transport):
    mailboxes.world = World(rank, size, store, transport)
    return mailboxes.world


def current():
    return mailboxes.world
