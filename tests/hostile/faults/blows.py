"""What can befall a rank."""

from __future__ import annotations

import errno
import os
import resource
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import NamedTuple

SIGNALS = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP, "interrupt": signal.SIGINT}
LIMITS = ("no disk", "few files", "little memory")


class Blow(NamedTuple):
    """`kind` befalls `victim`, `after` seconds from the start (signals), or from its `when`-th turn."""

    kind: str
    victim: int
    after: float
    amount: int  # bytes of disk or memory, or files

    def __str__(self) -> str:
        how = f"{self.amount}" if self.kind in LIMITS else f"after {self.after:.4f} s"
        return f"{self.kind} of rank {self.victim} ({how})"


def draw(random: Random, size: int, lasts: float, kinds: tuple[str, ...]) -> Blow:
    """One for a world of so many ranks, whose program lasts about so long."""
    kind = random.choice(kinds)
    amount = {
        "no disk": random.choice((0, 1, 100, 4096, 10_000, 100_000)),
        "few files": random.randrange(25),
        "little memory": random.choice((0, 1, 4, 16, 64)) << 20,
    }.get(kind, 0)
    return Blow(kind, random.randrange(size), 1.2 * lasts * random.random() ** 2, amount)


def strike(blow: Blow, pid: int) -> None:
    """From outside; the parent calls it when the time has come."""
    with suppress(ProcessLookupError):
        os.kill(pid, SIGNALS[blow.kind])
        if blow.kind == "freeze":
            time.sleep(0.05 + blow.after % 0.4)
            os.kill(pid, signal.SIGCONT)


def suffer(blow: Blow) -> None:
    """From inside: from now on there is no more of something."""
    if blow.kind == "no disk":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (blow.amount, blow.amount))
    elif blow.kind == "few files":
        most = len(list(Path("/proc/self/fd").iterdir())) + blow.amount
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    elif blow.kind == "little memory":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + blow.amount
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def is_told(blow: Blow, rank: int, kinds: list[str], text: str, number: int, failed: set[int]) -> bool:
    """Whether an error of `rank` is one that such a blow may lead to, and names the cause: a rank
    that has `failed`, or the store."""
    is_known = bool({"DistError", "CheckpointException", "SerializationError"} & set(kinds))
    if rank == blow.victim:
        if blow.kind == "interrupt":
            return "KeyboardInterrupt" in kinds
        if blow.kind == "little memory" and "MemoryError" in kinds:
            return True
        if blow.kind in LIMITS and "OSError" in kinds:
            return number in (errno.ENOSPC, errno.EFBIG, errno.EMFILE, errno.ENOMEM, errno.ENFILE)
        return is_known and blow.kind in LIMITS and bool(text)
    named = any(f"rank {one}" in text or f"{one}" in text.split() for one in failed - {rank})
    return is_known and (named or "store" in text)
