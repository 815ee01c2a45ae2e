"""Is the other host still there? A connection whose host is off, or cut off, says nothing, and goes on saying nothing.

    nothing is on its way    the system asks (keepalive): the third question without an answer is the end
    something is             it has to be acknowledged, and the system knows when it last heard from the other host

Both take some ten seconds, for the connections between ranks and for those to a store alike. A host whose program is
frozen, or too busy to read, acknowledges all the same: that is not this module's affair.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from transports.clock import Deadline

UNHEARD = 10_000  # milliseconds without an acknowledgement, while some are due
SLICE = 1.0  # seconds of waiting, between two looks whether the other host still acknowledges
# seconds, seconds, times
KEEPALIVE = ("TCP_KEEPIDLE", 6), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3)
SILENT = f"its host has not acknowledged anything for {UNHEARD // 1000} s: off, or cut off from us"

Found = TypeVar("Found")


class Unheard(ConnectionError):
    """The other host does not acknowledge what it is sent."""

    def __init__(self) -> None:
        super().__init__(SILENT)


def watch_over(connection: socket.socket) -> None:
    """Options of every connection: no delay for small messages, and word from silent hosts."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE:
        with suppress(OSError, AttributeError):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def is_unheard(connection: socket.socket) -> bool:
    """Whether the other host has stopped acknowledging: off, or cut off (Linux).

    Not TCP_USER_TIMEOUT: that also ends connections to programs that are merely too busy to read,
    and busy is what ranks are.
    """
    with suppress(OSError, AttributeError, struct.error):
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        retransmits, probes = info[2], info[3]
        since = struct.unpack_from("<I", info, 56)[0]
        return bool((retransmits or probes) and since > UNHEARD)
    return False


def patiently(connection: socket.socket, deadline: Deadline, act: Callable[[], Found]) -> Found:
    """The result of a call to the system that may have to wait, such as `recv`. TimeoutError after `deadline`,
    Unheard as soon as the other host is."""
    while True:
        left = deadline.left()
        connection.settimeout(SLICE if left is None else max(min(left, SLICE), 0.001))
        try:
            return act()
        except TimeoutError as error:
            if error.errno is not None:  # the system's own word: its questions were not answered
                raise Unheard from error
            if is_unheard(connection):
                raise Unheard from None
            if deadline.is_over():
                raise
