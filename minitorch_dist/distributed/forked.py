"""A forked child has the sockets and files of the rank that it was forked from.

Others would take what it sends for that rank's, and compute with it in silence. So in the child the worlds
of its parent take no operation, and end without a word to anybody. The child may make a world of its own.
"""

from __future__ import annotations

import os
from typing import Any, NoReturn
from weakref import WeakSet

_worlds: WeakSet[Any] = WeakSet()


def watch(here: Any) -> None:
    """A world of this process."""
    _worlds.add(here)


def _leave_behind() -> None:
    """In the child."""
    for here in list(_worlds):
        here.is_left_behind = True
        for group in here.groups.values():
            group.is_closed, group.demand_open = True, _refusal(here.rank)
    _worlds.clear()


def _refusal(rank: int) -> Any:
    def demand_open() -> NoReturn:
        raise RuntimeError(
            f"this process was forked from rank {rank} after init_process_group, and cannot use that rank's connections. Let the "
            "rank itself communicate; or call destroy_process_group here and make a world of these processes, with a port of its own"
        )

    return demand_open


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_behind)
