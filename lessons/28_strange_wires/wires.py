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


class Once:
    """Messages of one sender, in order and once each."""

    def __init__(self):
        # The number of the next message to be read. The sender is told it after each message.
        self.expected = 0
        self.early = {}  # messages that came before their turn, by number

    def take(self, number, message, again=False):
        """Message `number` has come. Return the messages that
        can be read now, in order: none, one, or several.

        `again`: the sender says that it has sent this message before.
        """
        # BLANK 1: the messages to read now (about 6 lines)
        # Keep `expected` and `early` up to date, and `early` small.
        if number >= self.expected:
            self.early[number] = message
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
        self.messages = {}

    def add(self, message):
        number, self.next = self.next, self.next + 1
        self.messages[number] = message
        return number

    def acknowledge(self, expected):
        """The receiver expects this number next: all before it have come."""
        self.messages = {
            number: message for number, message in self.messages.items() if number >= expected
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
