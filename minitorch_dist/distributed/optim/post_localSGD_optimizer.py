"""An optimizer that averages the ranks' parameters from time to time (post-local SGD)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from minitorch_dist.distributed.algorithms.model_averaging.averagers import ModelAverager
from minitorch_dist.optim.optimizer import Closure, Group, Optimizer


class PostLocalSGDOptimizer(Optimizer):
    """Steps with `optim`, then lets `averager` average the parameters if it is time."""

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self._make_hooks()
        self.optim, self.averager = optim, averager
        self.defaults = optim.defaults

    @property
    def param_groups(self) -> list[Group]:  # type: ignore[override]
        return self.optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        return self.optim.state

    def __repr__(self) -> str:
        return f"PostLocalSGDOptimizer({self.optim!r}, {self.averager!r})"

    def step(self, closure: Closure | None = None) -> Any:
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group: Group) -> None:
        self.optim.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's, with the averager's step."""
        saved = self.optim.state_dict()
        saved["step"] = self.averager.step
        return saved

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        saved = dict(state_dict)
        step = saved.pop("step", None)
        self.optim.load_state_dict(saved)
        if step is None:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step "
                "counter to 0.",
                stacklevel=2,
            )
        self.averager.step = step or 0
