"""Simulated ranks for a test of a PyTorch program (see `mtd_fixtures`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as torch_dist

from minitorch_dist import sim
from minitorch_dist.pytorch.simulated import WithPyTorch


class Ranks:
    """So many ranks. `options` are those of `sim.run`: net, seed, faults, journal …

    `group`: whether the ranks have a process group when the function begins. A function that calls
    `init_process_group` itself needs group=False.
    """

    def __init__(self, world_size: int, *, group: bool = True, **options: Any) -> None:
        self.world_size, self.group, self.options = world_size, group, options

    def run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
        """The results by rank; the first error of any rank is raised here."""
        return self._on(self.world_size, fn, args, kwargs, self.options)

    def same_as_one(
        self, fn: Callable[..., Any], *args: Any, rtol: float | None = None, atol: float | None = None
    ) -> None:
        """Each rank's result is close to that of one rank alone, as `torch.testing.assert_close` has it."""
        (alone,) = self._on(1, fn, args, {}, {})
        for rank, result in enumerate(self.run(fn, *args)):
            torch.testing.assert_close(
                result,
                alone,
                rtol=rtol,
                atol=atol,
                msg=lambda said, rank=rank: f"rank {rank} of {self.world_size} differs from one rank alone: {said}",
            )

    def _on(self, count: int, fn: Callable[..., Any], args: Any, kwargs: Any, options: Any) -> list[Any]:
        def live() -> Any:
            if not self.group:
                return fn(*args, **kwargs)
            torch_dist.init_process_group("mtd")
            result = fn(*args, **kwargs)
            torch_dist.destroy_process_group()
            return result

        attached = [*options.get("with_", ()), WithPyTorch()]
        return list(sim.run(live, count, **{**options, "with_": attached}).results)

    def __repr__(self) -> str:
        return f"<{self.world_size} simulated ranks for PyTorch>"
