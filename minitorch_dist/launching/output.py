"""Printing and logging, which a simulated rank may do as it likes.

In a notebook `sys.stdout` hands its text to a real thread and waits for it. Some handlers of the log do
this, too. Such a wait stops no rank: the thread that ends it is none, and belongs to no simulation.
"""

from __future__ import annotations

import io
import logging
import logging.handlers
import sys
from types import FrameType

ENTRANCES = frozenset({"write", "writelines", "flush", "emit", "handle", "close", "start", "stop"})
"""The methods by which streams and handlers are called. Of other calls the variables are not looked at: a frame that was
asked for them keeps all of them, and their arrays, until it ends."""
WRITERS = ("tensorboard.", "tensorboardX.")
"""Packages that hand what they write to a thread of their own, by a queue."""
KINDS = (io.IOBase, logging.Handler, logging.handlers.QueueListener)


def is_calling() -> bool:
    """Whether a method of a stream, or of a handler of the log, is on the caller's stack, or a package that writes."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if frame.f_globals.get("__name__", "").startswith(WRITERS):
            return True
        if code.co_argcount and code.co_name in ENTRANCES:
            own = frame.f_locals.get(code.co_varnames[0])
            if own is not None and (isinstance(own, KINDS) or own is sys.stdout or own is sys.stderr):
                return True
        frame = frame.f_back
    return False
