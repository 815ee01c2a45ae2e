"""Is the process that wrote this still alive? A mark that outlives reboots and reused numbers.

A process number alone says little: after a crash another process gets it. Together with the boot
and the moment the process started it names one process for ever (Linux; elsewhere the number alone
has to do).
"""

from __future__ import annotations

from transports import identity
from transports.identity import PeerIdentity

LARGEST = 2**31 - 1  # number of a process


def mark() -> str:
    """This process: "host boot pid start"."""
    me = identity.here()
    return f"{me.host} {me.boot} {me.pid} {me.started}"


def read(mark: str) -> PeerIdentity:
    """The process of a mark; ValueError if it is none."""
    host, boot, pid, started = mark.split()
    if not (pid + started).isdecimal() or not 0 < int(pid) <= LARGEST:
        raise ValueError(f"{mark[:80]!r} is no mark of a process")
    return PeerIdentity(host, boot, "", int(pid), int(started))


def is_alive(mark: str) -> bool:
    """Whether the process of a mark still runs. One of another host counts as running: we cannot
    see it."""
    process, me = read(mark), identity.here()
    if process.host != me.host:
        return True
    return process.boot == me.boot and process.is_alive()


def shown(mark: str) -> str:
    host, boot, pid, _ = mark.split()
    when = "" if boot == identity.here().boot else ", before the last reboot"
    return f"pid {pid} on {host}{when}"
