"""Who wants to know when an operation is recorded. Usually nobody, and then it costs one question.

`detect_anomaly` wants to note the line that recorded each node; a checkpoint (`forgetting`) wants
the nodes of the function it runs.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock  # noqa: TID251 - guards a count; nothing waits in here
from typing import Any, Final

import numpy as np

on = False  # somebody does
anomaly = False
check_nan = True

Listener = Callable[[Any], None]
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
_count = 0  # of listeners, in all threads
_counting = Lock()
_HERE: Final = str(Path(__file__).parent)


def made(node: Any) -> None:
    """Called with every new node while `on`."""
    if anomaly:
        node.metadata["traceback_"] = _stack()
    for listener in reversed(_listeners.get()):
        listener(node)


@contextmanager
def listening(listener: Listener, alone: bool = False) -> Iterator[None]:
    """Call `listener` with every node that this thread records inside.

    Those that listen further out are called after it, unless it listens `alone`.
    """
    token = _listeners.set((listener,) if alone else (*_listeners.get(), listener))
    _change(+1)
    try:
        yield
    finally:
        _listeners.reset(token)
        _change(-1)


def depth() -> int:
    """How many listeners there are around."""
    return len(_listeners.get())


def _change(by: int) -> None:
    global on, _count
    with _counting:
        _count += by
        on = anomaly or _count > 0


# --------------------------------------------------------------------------------------- anomalies


def set_anomaly(mode: bool, nan: bool = True) -> None:
    """For the whole process, as in torch."""
    global anomaly, check_nan
    anomaly, check_nan = bool(mode), bool(nan)
    _change(0)


def _stack() -> list[str]:
    """Where the user called, without the frames of this package."""
    stack = traceback.extract_stack()
    while stack and stack[-1].filename.startswith(_HERE):
        stack.pop()
    return traceback.format_list(stack)


def report(node: Any) -> None:
    """Warn that the gradient of this node failed, and say where it was recorded."""
    stack = node.metadata.get("traceback_")
    if stack is None:
        message = (
            f"Error detected in {node.name()}. No forward pass information available. Enable "
            "detect anomaly during forward pass for more information."
        )
    else:
        message = (
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
            + "".join(stack)
        )
    warnings.warn(message, UserWarning, stacklevel=2)


def check_for_nan(name: str, results: Sequence[Any]) -> None:
    if not check_nan:
        return
    for index, grad in enumerate(results):
        if grad is not None and np.isnan(grad).any():
            raise RuntimeError(f"Function '{name}' returned nan values in its {index}th output.")
