"""What the processes of these tests do; in a module, so that every start method finds it."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path


def write(index: int, folder: str, text: str = "") -> None:
    Path(folder, str(index)).write_text(f"{index} {text}", encoding="utf-8")


def fail(index: int, who: int, folder: str) -> None:
    """One raises; the others would stay for ever."""
    Path(folder, f"pid{index}").write_text(str(os.getpid()), encoding="ascii")
    if index == who:
        raise ValueError(f"process {index} will not go on")
    time.sleep(1000)


def fail_at_length(index: int) -> None:
    raise ValueError("x" * 300_000)


def leave(index: int, how: int) -> None:
    if index == 1:
        if how < 0:
            os.kill(os.getpid(), -how)
        sys.exit(how)
    time.sleep(1000)


def ignore(index: int) -> None:
    """Does not care for SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if index == 0:
        time.sleep(0.2)
        raise ValueError("now")
    time.sleep(1000)


def wait(index: int, folder: str) -> None:
    Path(folder, f"pid{index}").write_text(str(os.getpid()), encoding="ascii")
    time.sleep(1000)
