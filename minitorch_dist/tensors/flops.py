"""Counters of multiplications and additions. Usually there is none, and then an operation pays one test.

Products of matrices, attention and convolutions report their operations here, forwards and backwards. A
multiplication and an addition are two operations. `utils.flop_counter` listens, and so does a simulated
device that takes time.
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

Sizes = tuple[int, int, int]  # rows and columns of a product, and how many terms each element has
Listener = Callable[
    [str, int, "Sizes | None"], None
]  # the operation, how much it was, and its sizes
_everywhere: tuple[Listener, ...] = ()  # in all threads
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners_of_work", default=())
running: ContextVar[Any] = ContextVar(
    "running_node", default=None
)  # of a backward pass, while `on`
_count = 0  # of listeners, in all threads
_counting = Lock()


def done(name: str, operations: int, sizes: Sizes | None = None) -> None:
    """Called while `on`. `sizes` are None for work that is not one product of matrices."""
    for listener in (*_everywhere, *_listeners.get()):
        listener(name, operations, sizes)


def multiplied(name: str, result: Sequence[int], inside: int) -> None:
    """A product with this shape, each of whose elements is a sum of `inside` products."""
    sizes = (*result[-2:], inside) if len(result) > 1 else (1, 1, inside)
    done(name, 2 * math.prod(result) * inside, sizes)  # type: ignore[arg-type]


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


def listen_everywhere(listener: Listener, wanted: bool) -> None:
    """Call `listener` with what all threads multiply from now on, or no longer."""
    global _everywhere
    with _counting:
        others = tuple(each for each in _everywhere if each != listener)
        _everywhere = (*others, listener) if wanted else others
    _change(+1 if wanted else -1)


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
