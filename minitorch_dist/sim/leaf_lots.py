"""Lots among the leaves of a graph whose gradients are complete at the same time: in which order they collect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock  # noqa: TID251 - guards a count; nothing waits in here

from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.engine import NodeTask
from minitorch_dist.tensors.core.graph import AccumulateGrad, Node

_leaf_order: ContextVar[Callable[[], int] | None] = ContextVar("leaf_order", default=None)
_blocks = 0  # that are open, in all threads
_entering = Lock()


def order_leaves(draw: Callable[[], int]) -> None:
    """Draw lots among the leaves in the passes of this thread.

    Of those that are complete at the same time, the one with the highest lot collects first, and its hooks are
    called. Without it they have torch's order, which torch does not promise. It holds within `lots_are_drawn`.
    """
    _leaf_order.set(draw)


@contextmanager
def lots_are_drawn() -> Iterator[None]:
    """Within the block, passes look for a lot. Outside, no pass takes the longer way."""
    global _blocks
    with _entering:
        _blocks += 1
        observers.watch("passes", _draw_lots, True)
    try:
        yield
    finally:
        with _entering:
            _blocks -= 1
            observers.watch("passes", _draw_lots, _blocks > 0)


def _draw_lots(tasks: Mapping[Node, NodeTask]) -> None:
    draw = _leaf_order.get()
    if draw is not None:
        for node, task in tasks.items():
            if isinstance(node, AccumulateGrad):
                task.priority += draw()
