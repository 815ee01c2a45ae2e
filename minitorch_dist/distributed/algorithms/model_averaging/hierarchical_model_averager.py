"""Average often within a few ranks, and seldom among all: hierarchical SGD.

step                 0 1 2 3 4 5 6 7 8      {2: 4, 4: 8}: every 2 steps in groups of 4 ranks,
averages among       8   4   8   4   8      every 4 among all 8; the widest that is due counts

Lin et al., Stagewise hierarchical averaging is analysed in https://arxiv.org/abs/2010.12998.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from minitorch_dist.distributed.algorithms.model_averaging.averagers import (
    ModelAverager,
    average,
    parameters_of,
)
from minitorch_dist.distributed.distributed_c10d import new_subgroups
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup


class HierarchicalModelAverager(ModelAverager):
    """`period_group_size_dict`: how many ranks average every how many steps, both rising; the last are all."""

    def __init__(
        self,
        period_group_size_dict: Mapping[int, int] | None = None,
        warmup_steps: int = 0,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        _demand_rising(periods, sizes, self.process_group.size())
        if periods[-1] == 1:
            warnings.warn(
                "When the maximum period in arg ``period_group_size_dict`` is 1, no need to use model "
                "averaging: DistributedDataParallel averages gradients at the same cost",
                stacklevel=2,
            )
        self.warmup_steps = warmup_steps
        self.period_process_group_dict: dict[int, Any] = {}
        for period, size in period_group_size_dict.items():
            everybody = size == self.process_group.size()
            self.period_process_group_dict[period] = (
                self.process_group
                if everybody
                else new_subgroups(group_size=size, group=self.process_group)[0]
            )

    def average_parameters(self, params: Any) -> None:
        """Called once per step, with parameters or an optimizer's groups of them."""
        group = self.due()
        if group is not None:
            average(parameters_of(params), group)
        self.step += 1

    def due(self) -> Any:
        """The widest group that averages at this step; None: nobody does."""
        if self.step < self.warmup_steps:
            return None
        found = [
            group
            for period, group in self.period_process_group_dict.items()
            if self.step % period == 0
        ]
        return found[-1] if found else None

    def __repr__(self) -> str:
        levels = ", ".join(
            f"{group.size()} ranks every {period} steps"
            for period, group in self.period_process_group_dict.items()
        )
        return f"<HierarchicalModelAverager: step {self.step}, {levels}>"


def _demand_rising(periods: list[int], sizes: list[int], ranks: int) -> None:
    if periods[0] <= 0:
        raise ValueError(
            "The minimum period in arg ``period_group_size_dict`` must be a positive value."
        )
    if sizes[-1] != ranks:
        raise ValueError(
            f"The last value in arg ``period_group_size_dict`` {sizes[-1]} must be equal to the size of "
            f"arg ``process_group`` {ranks}."
        )
    if sorted(set(periods)) != periods or sorted(sizes) != sizes:  # torch says nothing
        raise ValueError(
            f"periods and sizes must rise, since the last that is due counts: {dict(zip(periods, sizes, strict=True))}"
        )
