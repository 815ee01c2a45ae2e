"""The identity of a process, and whether it still lives, as seen by another one.

A process number alone says little: numbers are used again, and a process that was killed but not
yet waited for still has its own. So an identity is the number and the instant at which the process began,
which the kernel tells in `/proc`. It also says where that number means anything: this boot of this machine,
and this namespace of numbers (containers have their own). Where there is no `/proc`, the number has to do.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from transports.plain_text import clean

PROC = Path("/proc")


@dataclass(frozen=True)
class PeerIdentity:
    host: str  # its name, for people
    boot: str  # one boot of one machine
    numbers: str  # the namespace in which `pid` is its number
    pid: int
    started: int  # in the kernel's ticks since it booted; 0 where that is not known

    def is_watched_from(self, other: PeerIdentity) -> bool:
        """Whether `other` can see if this process lives."""
        return (self.boot, self.numbers) == (other.boot, other.numbers)

    def is_alive(self) -> bool:
        """Whether the process lives; asked where it can be watched from."""
        if self.started:
            return _started(self.pid) == self.started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def __str__(self) -> str:
        return f"process {self.pid} on {clean(self.host, lines=False)}"


def here() -> PeerIdentity:
    """This process."""
    pid = os.getpid()
    return PeerIdentity(socket.gethostname(), _boot(), _numbers(), pid, _started(pid))


def _boot() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"host-{socket.gethostname()}"


def _numbers() -> str:
    with suppress(OSError):
        return f"{(PROC / 'self/ns/pid').readlink()}"
    return ""


def _started(pid: int) -> int:
    """When a living process began; 0 if there is none (or only what is left of a killed one)."""
    try:
        text = (PROC / f"{pid}/stat").read_bytes()
    except OSError:
        return 0
    after = text.rfind(b")") + 2  # its name, in brackets, may hold anything
    state, *fields = text[after:].split()
    return 0 if state in (b"Z", b"X", b"x") else int(fields[18])
