"""Is the process that wrote this still alive? A mark that outlives reboots and reused numbers.

A process number alone says little: after a crash another process gets it. Together with the boot
and the moment the process started it names one process for ever (Linux; elsewhere the number alone
has to do).
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from pathlib import Path


def mark() -> str:
    """This process: "host boot pid start"."""
    pid = os.getpid()
    return f"{socket.gethostname()} {_boot()} {pid} {_start(pid)}"


def is_alive(mark: str) -> bool:
    """Whether the process of a mark still runs. One of another host counts as running: we cannot
    see it."""
    host, boot, pid, start = mark.split()
    if host != socket.gethostname():
        return True
    if boot != _boot():
        return False
    if start != "-":
        return _start(int(pid)) == start
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def shown(mark: str) -> str:
    host, boot, pid, _ = mark.split()
    when = "" if boot == _boot() else ", before the last reboot"
    return f"pid {pid} on {host}{when}"


def age_of(path: Path) -> str:
    """How long ago a file was written, as people say it."""
    seconds = max(0.0, _now() - path.stat().st_mtime)
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def _now() -> float:
    """The wall clock, which the times of files are written in."""
    return time.time()  # noqa: TID251 - compared with a file's date


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return "-"


def _start(pid: int) -> str:
    """When a process started, in ticks since the boot; "-" where that is not told, "" if it is gone."""
    if not Path("/proc/self/stat").exists():
        return "-"
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        state, *rest = fields.rpartition(")")[2].split()
        return "" if state in "ZX" else rest[18]
    return ""
