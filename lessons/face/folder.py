"""A folder as a wire: each rank appends to a log for every other one, and reads theirs (lesson 28).

wire/0-1.log    what rank 0 has said to rank 1: records, each with its length and a checksum
"""

import time
from pathlib import Path

from .. import wires
from . import frames
from .contract import Transport, flat
from .errors import TransportClosed

PAUSE = 0.0005  # seconds between two looks into the folder


class FolderTransport(Transport):
    scheme = "file"

    def __init__(self, rank, world_size, folder):
        super().__init__(rank, world_size)
        self.folder, self.is_open = Path(folder), False

    def connect(self, store, inbox, timeout=None):
        self.inbox = inbox
        others = [peer for peer in range(self.world_size) if peer != self.rank]
        self.writers = {peer: wires.Writer(self.log(self.rank, peer)) for peer in others}
        self.readers = {peer: wires.Reader(self.log(peer, self.rank)) for peer in others}
        self.is_open = True

    def log(self, src, dst):
        return self.folder / f"{src}-{dst}.log"

    def send(self, dst, header, payload):
        if not self.is_open:
            raise TransportClosed(f"the folder of rank {self.rank} is closed")
        body = flat(header, payload)
        if dst == self.rank:
            return self.deliver(dst, header, body)
        return self.writers[dst].append(frames.pack(len(header), len(body)) + header + body)

    def deliver(self, src, header, body):
        sink = self.inbox.sink(src, bytes(header), len(body))
        if len(body):
            sink.write(memoryview(body))

    def progress(self, timeout):
        deadline = self.clock.deadline(timeout)
        while True:
            found = False
            for peer, reader in self.readers.items():
                for message in reader.new():
                    length, _ = frames.unpack(message[: frames.LENGTH])
                    start = frames.LENGTH + length
                    self.deliver(peer, message[frames.LENGTH : start], message[start:])
                    found = True
            if found or deadline.is_over():
                return found
            time.sleep(PAUSE)

    def close(self):
        self.is_open = False
        for writer in self.writers.values():
            writer.close()
