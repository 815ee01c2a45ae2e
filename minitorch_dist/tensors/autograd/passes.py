"""The backward pass that is running: what hooks and DDP ask of it."""

from __future__ import annotations

from collections.abc import Callable

from minitorch_dist.tensors.core import engine
from minitorch_dist.tensors.core.engine import BackwardPass


def queue_callback(function: Callable[[], None]) -> None:
    """Call `function` when the running backward pass of this thread has finished."""
    running = engine.current.get()
    if running is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    running.callbacks.append(function)


def outermost() -> BackwardPass | None:
    """The backward pass that this thread is in; of nested ones the first."""
    running = engine.current.get()
    while running is not None and running.outer is not None:
        running = running.outer
    return running
