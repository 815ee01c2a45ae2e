"""How a connection of a `tcp` world is closed, so that what was sent last still arrives.

A connection that is closed while something unread lies in it is reset, and the reset overtakes what
is still on its way. So each side ends its own direction, reads and forgets what comes, and leaves
when everything it sent has been acknowledged by the peer's host.

A killed process ends its connections in the same way, by its system. So the last word of one that closes is a frame
which says so (`frames.END`). It is not said amid a message, that is, where another thread is still sending.
"""

from __future__ import annotations

import socket
from contextlib import suppress

from transports import frames
from transports.clock import Clock
from transports.sockets.links import PeerConnection

LINGER = 10.0  # seconds for which a peer may take nothing, before we leave all the same
PAUSE = 0.0005


def say_goodbye(parting: list[PeerConnection], scratch: memoryview, clock: Clock) -> list[int]:
    """Return when the peers' hosts have what we sent, or have taken nothing for LINGER seconds. The result
    are the ranks that may not have it."""
    for link in parting:
        link.unsaid = frames.END if link.sending.try_take() else b""
        if not link.unsaid:
            _end(link)
    try:
        return _await(parting, scratch, clock)
    finally:
        for link in parting:
            if link.unsaid:
                _end(link)
                link.sending.give()


def _await(parting: list[PeerConnection], scratch: memoryview, clock: Clock) -> list[int]:
    deadline, before = clock.deadline(LINGER), -1
    while parting := [link for link in parting if not _has_ended(link, scratch)]:
        for link in parting:
            _say_rest(link)
        late = [link for link in parting if link.unsaid or _unacknowledged(link)]
        waiting = sum(len(link.unsaid) + _unacknowledged(link) for link in late)
        if deadline.is_over() or all(link.is_unheard() for link in late):
            return [link.peer for link in late]
        if waiting != before:
            deadline, before = clock.deadline(LINGER), waiting
        clock.sleep(PAUSE)
    return []


def _say_rest(link: PeerConnection) -> None:
    """The rest of the last word, as far as there is room for it; behind it nothing goes out."""
    if not link.unsaid:
        return
    try:
        link.unsaid = b"" if link.is_half_sent else link.unsaid[link.outgoing.send(link.unsaid) :]
    except BlockingIOError:
        return
    except OSError:
        link.unsaid = b""
    if not link.unsaid:
        _end(link)
        link.sending.give()


def _end(link: PeerConnection) -> None:
    with suppress(OSError):
        link.outgoing.shutdown(socket.SHUT_WR)


def _has_ended(link: PeerConnection, scratch: memoryview) -> bool:
    """Read and forget; whether the peer has ended its direction too."""
    try:
        while got := link.incoming.recv_into(scratch):
            if got < len(scratch):
                return False
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _unacknowledged(link: PeerConnection) -> int:
    """Bytes that the peer's host does not have yet; 0 where the system does not tell."""
    try:
        import fcntl
        import termios

        found = fcntl.ioctl(link.outgoing, termios.TIOCOUTQ, bytes(4))
        return int.from_bytes(found, "little", signed=True)
    except (ImportError, OSError, AttributeError):
        return 0
