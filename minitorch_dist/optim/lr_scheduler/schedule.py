"""The common part of all schedules of the learning rate.

A schedule is a function of the epoch t = 0, 1, 2, …, written down in up to two forms:

    closed      lr(t) = base_lr · closed(t)         easy to read, and to jump to any t
    chained     lr(t) = lr(t − 1) · chained(t)      used step by step, so that several schedules, or
                                                    a hand on param_groups, can act on one optimizer

Both give the same numbers as long as nothing else changes the rate; a test says so.
"""

from __future__ import annotations

import warnings
from typing import Any

from minitorch_dist.optim.optimizer import Optimizer, number
from minitorch_dist.tensors.tensor import Tensor


class LRScheduler:
    """Base class. `last_epoch` is the t of the rate that is set now; −1 starts from the beginning.

    With `last_epoch=k` a run is continued: every group must know its `initial_lr`.
    """

    optimizer: Optimizer
    base_lrs: list[float]
    last_epoch: int
    _last_lr: list[float]
    _step_count: int
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = check_optimizer(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", number(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0. To continue a run, load the optimizer's "
                    "state_dict first, or set 'initial_lr' in every group; a fresh run has "
                    "last_epoch=-1."
                )
        self.base_lrs = [number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        optimizer._opt_called = False  # steps before the schedule began do not count
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rate of the first epoch."""
        self._step_count = 0
        self._get_lr_called_within_step = False  # an entry of PyTorch's saved schedules
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to the given one. Call it after optimizer.step()."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in "
                "the opposite order: `optimizer.step()` before `lr_scheduler.step()`, or the first "
                "value of the schedule is skipped.",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr())
        else:
            self.last_epoch = epoch
            self._set(getattr(self, "_get_closed_form_lr", self.get_lr)())

    def _set(self, rates: list[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            assign(group, "lr", rate)
        self._last_lr = self.current()

    def current(self) -> list[float]:
        """The rates that are set now, one per group."""
        return [number(group["lr"]) for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rates this schedule has set last, one per group."""
        return self._last_lr

    def get_lr(self) -> list[float]:
        """The rates of epoch `last_epoch`: what a subclass defines."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr()")

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler  # its name in older programs


class ChainableLR(LRScheduler):
    """A schedule given by one number per epoch, the same for all groups."""

    def closed(self) -> float:
        """lr / base_lr at `last_epoch`."""
        raise NotImplementedError

    def chained(self) -> float:
        """lr at `last_epoch` / lr one epoch earlier."""
        raise NotImplementedError

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.closed() for base in self.base_lrs]

    def get_lr(self) -> list[float]:
        return [rate * self.chained() for rate in self.current()]


def check_optimizer(optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def assign(group: dict[str, Any], key: str, value: float) -> None:
    """Set an option; where it is a tensor, that tensor is filled and stays the same object."""
    if isinstance(group[key], Tensor):
        group[key].array[...] = value
        group[key].storage.version += 1
    else:
        group[key] = value
