"""A light-bulb protocol or a folder becomes a network
by numbers on messages and checksums on records.

sent     0  1  2          A wire may lose a message, bring it twice, or after a later one …
came     1  0  1  2  2
read     ·  01 ·  2  ·    … and yet each is read once, in order.

written  [5|check|hello] [5|check|wor         A writer that is killed leaves half a record behind …
read      hello                               … which nobody may ever read.
"""

import os
import struct
import zlib
from pathlib import Path

from transports import frames, rendezvous
from transports.contract import Transport, flat
from transports.errors import CLOSED, PeerLost, TransportClosed


class Once:
    """Messages (letters) of one sender, in order and once each."""

    def __init__(self):
        # The number of the next message to be read. The sender is told it after each message.
        self.expected = 0
        self.early = {}  # messages that came before their turn, by number

    def take(self, number, letter, again=False):
        """Message `number` has come. Return the messages that
        can be read now, in order: none, one, or several.

        `again`: the sender says that it has sent this message before.
        """
        # BLANK 1: the messages to read now (about 6 lines)
        # Keep `expected` and `early` up to date, and `early` small.
        if number >= self.expected:
            self.early[number] = letter
        ready = []
        while self.expected in self.early:
            ready.append(self.early.pop(self.expected))
            self.expected += 1
        return ready
        # END


class Kept:
    """Messages to one receiver, which are sent again and again until it says that it has them."""

    def __init__(self):
        self.next = 0
        self.letters = {}

    def add(self, letter):
        number, self.next = self.next, self.next + 1
        self.letters[number] = letter
        return number

    def acknowledge(self, expected):
        """The receiver expects this number next: all before it have come."""
        self.letters = {
            number: letter for number, letter in self.letters.items() if number >= expected
        }


HEAD = struct.Struct("<II")  # of a record: the length of its body, and a checksum


def record(body):
    """The bytes that a log has for this body: a head, and the body."""
    return HEAD.pack(len(body), checksum(body)) + body


def checksum(body):
    return zlib.crc32(body, 1 + len(body))  # not 0 where all is 0, as in a hole of a file


def records(data, start=0):
    """The bodies of all whole records from byte `start`
    on, and the byte at which the next one begins.
    """
    found = []
    # BLANK 2: read until a record is not whole (about 8 lines)
    # It may lack bytes, of the head or of the body; or its bytes are not what the checksum says.
    while start + HEAD.size <= len(data):
        length, check = HEAD.unpack_from(data, start)
        body = data[start + HEAD.size : start + HEAD.size + length]
        if len(body) < length or checksum(body) != check:
            break
        found.append(body)
        start += HEAD.size + length
    # END
    return found, start


class Writer:
    """Appends to a log. It may be killed at any instant, and started again."""

    def __init__(self, path):
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        _, end = records(os.pread(self.file, os.fstat(self.file).st_size, 0))
        os.ftruncate(self.file, end)  # or the next record would stand behind half a record
        os.lseek(self.file, end, os.SEEK_SET)

    def append(self, body):
        os.write(self.file, record(body))

    def close(self):
        os.close(self.file)


class Reader:
    """Reads a log, while it grows."""

    def __init__(self, path):
        self.path = Path(path)
        self.place = 0  # in the file, of the first record not read yet

    def new(self):
        """The records that were appended since the last call."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self.place)
            found, end = records(file.read())
        self.place += end
        return found


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
        self.writers = {peer: Writer(self.log(self.rank, peer)) for peer in others}
        self.readers = {peer: Reader(self.log(peer, self.rank)) for peer in others}
        self.state = "open"

    def send(self, dst, header, payload):
        """Bring both to rank `dst`: ValueError if there is none, PeerLost if it has left.

        Threads may call it at once.
        """
        body = flat(header, payload)
        self.demand_open()
        # BLANK 3: a transport of your own: one record for one message, none for one to this rank (about 8 lines)
        # frames.pack(header's length, payload's length) is a head that tells where the header
        # ends. `with self.turn:` lets one thread in. `deliver` takes a message to this rank.
        if not 0 <= dst < self.world_size:
            raise ValueError(f"there is no rank {dst} in a world of {self.world_size}")
        if dst in self.lost:
            raise self.lost[dst]
        with self.turn:
            if dst == self.rank:
                self.deliver(dst, header, body)
            else:
                self.writers[dst].append(frames.pack(len(header), len(body)) + header + body)
        # END

    def look(self):
        """Deliver all messages that have come since the last look."""
        # BLANK 4: read all logs. GOODBYE is no message: tell `leaves` of it (about 8 lines)
        # frames.unpack takes the first frames.LENGTH bytes
        # of a record, and gives the two lengths back.
        for peer, reader in self.readers.items():
            for message in reader.new():
                if message == GOODBYE:
                    self.leaves(peer)
                else:
                    length, _ = frames.unpack(message[: frames.LENGTH])
                    end = frames.LENGTH + length
                    self.deliver(peer, message[frames.LENGTH : end], message[end:])
        # END

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
