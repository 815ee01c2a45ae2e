"""Counters of multiplications and additions. Usually there is none, and then an operation pays one test.

Products of matrices, attention and convolutions report their operations here, forwards and backwards. A
multiplication and an addition are two operations. `utils.flop_counter` listens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock  # noqa: TID251 - guards a count; nothing waits in here
from typing import Any

from minitorch_dist.tensors.core import observers

on = False  # whether there is a listener

Listener = Callable[[str, int], None]  # the operation, and how much it was
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners_of_work", default=())
running: ContextVar[Any] = ContextVar(
    "running_node", default=None
)  # of a backward pass, while `on`
_count = 0  # of listeners, in all threads
_counting = Lock()


def done(name: str, operations: int) -> None:
    """Called while `on`."""
    for listener in _listeners.get():
        listener(name, operations)


def multiplied(name: str, result: Sequence[int], inside: int) -> None:
    """A product with this shape, each of whose elements is a sum of `inside` products."""
    done(name, 2 * math.prod(result) * inside)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener` with what this thread multiplies inside."""
    token = _listeners.set((*_listeners.get(), listener))
    _change(+1)
    try:
        yield
    finally:
        _listeners.reset(token)
        _change(-1)


def is_heard_by(listener: Listener) -> bool:
    """Whether it listens to this thread."""
    return listener in _listeners.get()


def _change(by: int) -> None:
    global on, _count
    with _counting:
        _count += by
        on = _count > 0
        observers.stand_around(_noted, on)


def _noted(node: Any, execute: observers.Execute) -> observers.Execute:
    """`execute`, while which `running` tells the node."""

    def run(grads: Sequence[Any]) -> Sequence[Any]:
        outer = running.set(node)
        try:
            return execute(grads)
        finally:
            running.reset(outer)

    return run
