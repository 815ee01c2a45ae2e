"""A forked child keeps the names and numbers of its parent's groups, and has no way to their connections.

The child has the parent's sockets and files, and what it sent on them would be taken for the parent's. So to communicate
is an error in words there. It may end its copy of the group, and make a group of its own.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn
from weakref import WeakSet

from minitorch_dist.distributed import world

_groups: WeakSet[Any] = WeakSet()


def watch(group: Any) -> None:
    """A process group of ours, which a forked child may not use."""
    _groups.add(group)


class LeftBehind:
    """It stands for the group's connections in the child."""

    def __init__(self, ours: Any) -> None:
        self._rank, self._size = ours.rank(), ours.size()

    def rank(self) -> int:
        return self._rank  # type: ignore[no-any-return]

    def size(self) -> int:
        return self._size  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(
            f"this process was forked from rank {self._rank} after init_process_group, and cannot use that rank's connections. "
            "Let the rank itself communicate; or call destroy_process_group here and make a group of these processes, with a "
            "port of its own"
        )


def _forget() -> None:
    """In the child."""
    for group in list(_groups):
        if not isinstance(group.ours, LeftBehind):
            group.ours = LeftBehind(group.ours)
            group._close = _leave
    _groups.clear()


def _leave() -> None:
    world.place().world = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
