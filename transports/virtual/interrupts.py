"""Ctrl-C, noted instead of raised: for code that must not be interrupted in the middle.

An exception that can come between any two instructions also comes at bad moments. It comes between starting
a thread and knowing that it was started, or between getting a lock and knowing that one has it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def noted(act: Callable[[int], None]) -> Iterator[list[int]]:
    """Within the block an interrupt calls `act(n)`, the n-th with n, and raises nothing; the list
    holds them. Only the main thread gets interrupts, and only where Python's own handler is
    installed; elsewhere this does nothing."""
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(len(seen) + 1)
        act(len(seen))

    is_ours = False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with suppress(ValueError):  # not in the main thread
            signal.signal(signal.SIGINT, note)
            is_ours = True
    try:
        yield seen
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
