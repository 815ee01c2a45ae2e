"""Schedules stepped after every batch, in which the momentum moves against the learning rate.

CyclicLR: Smith, arXiv:1506.01186. OneCycleLR: Smith & Topin, arXiv:1708.07120.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

from minitorch_dist.optim.lr_scheduler.cosine import annealed
from minitorch_dist.optim.lr_scheduler.schedule import (
    LRScheduler,
    assign,
    check_optimizer,
    per_group,
)
from minitorch_dist.optim.optimizer import Optimizer


class _WithMomentum(LRScheduler):
    """The means of a schedule to move `momentum`, or the first of Adam's `betas`."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, low: Any, high: Any, fresh: bool) -> tuple[list[float], list[float]]:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in defaults
        highs = per_group("max_momentum", self.optimizer, high)
        lows = per_group("base_momentum", self.optimizer, low)
        if fresh:
            self._set_momentum(highs)
            for group, top, bottom in zip(self.optimizer.param_groups, highs, lows, strict=True):
                group["max_momentum"], group["base_momentum"] = top, bottom
        return lows, highs

    def _set_momentum(self, values: list[float]) -> None:
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            if self.use_beta1:
                group["betas"] = (value, *group["betas"][1:])
            else:
                group["momentum"] = value


class CyclicLR(_WithMomentum):
    """Up and down between `base_lr` and `max_lr`, with a height that may shrink.

    mode "triangular": constant height; "triangular2": halved every cycle; "exp_range": times
    gamma every step. `scale_fn` gives the height itself, of the cycle or of the step
    (`scale_mode`).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = check_optimizer(optimizer)
        low = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, low, strict=True):
                assign(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._begin_momentum(
                base_momentum, max_momentum, last_epoch == -1
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = low

    def scale_fn(self, x: float) -> float:
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return float(2.0 ** (1 - x))
        return float(self.gamma**x) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[float]:
        """A side effect, as in torch: the momentum is set here."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle  # how far through this cycle
        ratio = self.step_ratio
        height = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            self._set_momentum([high - (high - low) * height for low, high in pairs])
        return [
            low + (high - low) * height
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        saved = super().state_dict()
        fn = self._scale_fn_custom
        plain = fn is None or isinstance(fn, FunctionType)
        saved["_scale_fn_custom"] = None if plain else fn.__dict__.copy()
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        fn = self._scale_fn_custom
        super().load_state_dict(state_dict)
        self._scale_fn_custom = fn
        if state_dict["_scale_fn_custom"] is not None:
            fn.__dict__.update(state_dict["_scale_fn_custom"])


class OneCycleLR(_WithMomentum):
    """One cycle over the whole run: up from max_lr / div_factor, then down far below.

        max_lr    ╱╲
                 ╱  ╲            two phases: up in pct_start of the steps, down in the rest
    initial_lr  ╱    ╲           three_phase: down to initial_lr as fast as up, then to min_lr
        min_lr        ╲___
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = check_optimizer(optimizer)
        self.total_steps = _steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        peak = pct_start * self.total_steps - 1
        up = _phase(peak, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        last = self.total_steps - 1
        if three_phase:
            back = 2 * pct_start * self.total_steps - 2
            self._schedule_phases = [
                up,
                _phase(back, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                _phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            down = _phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum")
            self._schedule_phases = [up, down]
        if last_epoch == -1:
            peaks = per_group("max_lr", optimizer, max_lr)
            for group, rate in zip(optimizer.param_groups, peaks, strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, progress: float) -> float:
        if self._anneal_func_type == "cos":
            return annealed(end, start, progress)
        return start + (end - start) * progress

    def get_lr(self) -> list[float]:
        """A side effect, as in torch: the momentum is set here."""
        self._warn_outside_step()
        t = self.last_epoch
        if t > self.total_steps:
            raise ValueError(
                f"Tried to step {t} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if t <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        progress = (t - start) / (phase["end_step"] - start)

        def now(what: str) -> list[float]:
            first, last = phase[f"start_{what}"], phase[f"end_{what}"]
            groups = self.optimizer.param_groups
            return [self._between(g[first], g[last], progress) for g in groups]

        if self.cycle_momentum:
            self._set_momentum(now("momentum"))
        return now("lr")


def _phase(
    end_step: float, start_lr: str, end_lr: str, start_momentum: str, end_momentum: str
) -> dict[str, Any]:
    return {
        "end_step": float(end_step),
        "start_lr": start_lr,
        "end_lr": end_lr,
        "start_momentum": start_momentum,
        "end_momentum": end_momentum,
    }


def _steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        given = {"total_steps": total_steps}
    elif epochs is not None and steps_per_epoch is not None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())
