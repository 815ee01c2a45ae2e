"""What may stand in place of the broadcast of buffers."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any, NamedTuple


class _BufferCommHookLocation(Enum):  # torch's name
    PRE_FORWARD = auto()
    POST_FORWARD = auto()


class BufferHook(NamedTuple):
    """`hook(state, named_buffers)` makes them equal; it may return futures, which backward awaits."""

    hook: Callable[..., Any]
    state: Any
    location: _BufferCommHookLocation
