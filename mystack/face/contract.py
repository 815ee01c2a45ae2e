"""The contract of a wire: it brings messages of a header and a payload to a rank's inbox, in order.

transport.connect(store, inbox)        meet all other ranks
transport.send(dst, header, payload)   both are bytes; it may be written to afterwards
transport.progress(seconds)            wait until something has come; whether it has
transport.close()                      say goodbye

inbox.sink(src, header, nbytes)        something begins to come: an object whose write(piece) takes the payload
inbox.lost(src, error)                 nothing more will come from there
"""

import threading
import time


def flat(header, payload):
    """The payload's bytes in one row."""
    view = memoryview(payload)
    return view.cast("B") if view.nbytes else memoryview(b"")


class Deadline:
    """An instant; None: it never comes."""

    def __init__(self, seconds):
        self.instant = None if seconds is None else time.monotonic() + seconds

    def left(self):
        return None if self.instant is None else max(0.0, self.instant - time.monotonic())

    def is_over(self):
        return self.instant is not None and self.left() == 0


class Clock:
    """All waiting is done by means of this."""

    condition, deadline = threading.Condition, Deadline

    def start(self, function, name):
        thread = threading.Thread(target=function, name=name, daemon=True)
        thread.start()
        return thread


class Transport:
    scheme = ""

    def __init__(self, rank, world_size):
        self.rank, self.world_size, self.clock = rank, world_size, Clock()
