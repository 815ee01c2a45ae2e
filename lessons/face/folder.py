"""A shared folder as a wire: lesson 28's logs, one for each pair of ranks, with a record for each message."""

from pathlib import Path

from .. import wires
from . import frames, rendezvous
from .contract import Transport, flat
from .errors import CLOSED, PeerLost, TransportClosed

PAUSE = 0.0005  # seconds between two looks into the folder
GOODBYE = b""  # the last record of a log: its rank has left


class FolderTransport(Transport):
    """One rank's end over a folder: for each pair of ranks
    a log, src-dst.log, with a record for each message.
    """

    scheme = "folder"

    def __init__(self, rank, world_size, folder, *rest):
        super().__init__(rank, world_size, *rest)
        self.folder, self.turn = Path(folder), self.clock.condition()
        self.state = "not connected"
        self.lost = {}  # by rank: the error for those that have left
        self.deliveries = self.reported = 0

    def log(self, src, dst):
        return self.folder / f"{src}-{dst}.log"

    def connect(self, store, inbox, timeout=None):
        """Meet all other ranks, and open a log to each and one from each."""
        self.inbox = inbox
        rendezvous.exchange(
            store, self.scheme, self.rank, self.world_size, b"", self.clock, timeout
        )
        others = [peer for peer in range(self.world_size) if peer != self.rank]
        self.writers = {peer: wires.Writer(self.log(self.rank, peer)) for peer in others}
        self.readers = {peer: wires.Reader(self.log(peer, self.rank)) for peer in others}
        self.state = "open"

    def send(self, dst, header, payload):
        """Bring both to rank `dst`: ValueError if there is none, PeerLost if it has left.

        Threads may call it at once.
        """
        body = flat(header, payload)
        self.demand_open()
        if not 0 <= dst < self.world_size:
            raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
        if dst in self.lost:
            raise self.lost[dst]
        with self.turn:
            if dst == self.rank:
                self.deliver(dst, header, body)
            else:
                self.writers[dst].append(frames.pack(len(header), len(body)) + header + body)

    def look(self):
        """Deliver all messages that have come since the last look."""
        for peer, reader in self.readers.items():
            for message in reader.new():
                if message == GOODBYE:
                    self.leaves(peer)
                else:
                    length, _ = frames.unpack(message[: frames.LENGTH])
                    end = frames.LENGTH + length
                    self.deliver(peer, message[frames.LENGTH : end], message[end:])

    def deliver(self, src, header, payload):
        """Hand a message to the inbox."""
        sink = self.inbox.sink(src, bytes(header), len(payload))
        if len(payload):
            sink.write(memoryview(payload))
        self.deliveries += 1

    def leaves(self, peer):
        self.lost[peer] = PeerLost(peer, CLOSED)
        self.inbox.lost(peer, self.lost[peer])
        self.deliveries += 1

    def progress(self, timeout, done=None):
        """Deliver what comes, until something has come, `done()`,
        or that many seconds are over; whether something came.
        """
        deadline = self.clock.deadline(timeout)
        with self.turn:
            seen = self.reported if done is None else self.deliveries
            while True:
                self.demand_open()
                self.look()
                if self.deliveries > seen or deadline.is_over() or (done and done()):
                    found, self.reported = self.deliveries > self.reported, self.deliveries
                    return found
                self.turn.wait(PAUSE)

    def demand_open(self):
        if self.state != "open":
            raise TransportClosed(f"the folder of rank {self.rank} is {self.state}")

    def close(self):
        """Say goodbye to all others.

        All messages are in the logs, and they can read them at any time.
        """
        with self.turn:
            was_open, self.state = self.state == "open", "closed"
            for writer in self.writers.values() if was_open else ():
                writer.append(GOODBYE)
                writer.close()
