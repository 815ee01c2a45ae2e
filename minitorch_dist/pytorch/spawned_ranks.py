"""`torch.multiprocessing.spawn` in a simulated program. The run has started the ranks already, so each calls the function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch.multiprocessing

from minitorch_dist.distributed import world
from minitorch_dist.launching.wall_clock import is_simulated
from minitorch_dist.pytorch.replacing import replaced

_start: Final = torch.multiprocessing.start_processes


@contextmanager
def in_place() -> Iterator[None]:
    """For all ranks of a run."""
    module = sys.modules[_start.__module__]  # where `spawn` finds it
    with replaced(module, _start.__name__, _call_here), replaced(torch.multiprocessing, _start.__name__, _call_here):
        yield


def _call_here(
    fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, *others: Any, **more: Any
) -> Any:
    if not is_simulated():
        return _start(fn, args, nprocs, join, *others, **more)
    given = world.place().given
    if nprocs != given["world_size"]:
        raise ValueError(
            f"torch.multiprocessing.spawn is to start {nprocs} ranks, and this run has {given['world_size']} already. "
            f"Give the run as many: mtd run --ranks {nprocs}, or sim.run(…, {nprocs})"
        )
    fn(given["rank"], *args)
    return None if join else Joined()


class Joined:
    """The result of `spawn(join=False)`: processes that are over."""

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        return True
