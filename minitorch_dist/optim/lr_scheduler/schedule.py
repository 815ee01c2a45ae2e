"""The common part of all schedules of the learning rate.

A schedule is a function of the epoch t = 0, 1, 2, …, written down in up to two forms:

    closed      lr(t) = base_lr · closed(t)         easy to read, and to jump to any t
    chained     lr(t) = lr(t − 1) · chained(t)      used step by step, so that several schedules, or
                                                    a hand on param_groups, can act on one optimizer

Both give the same numbers as long as nothing else changes the rate; a test says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist.optim.optimizer import Optimizer, number
from minitorch_dist.tensors.tensor import Tensor

EPOCH_IS_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. With an epoch the closed form "
    "is used instead of the chained one, where there is one."
)
_ORDER = "See https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


class LRScheduler:
    """Base class. `last_epoch` is the t of the rate that is set now; −1 starts from the beginning.

    With `last_epoch=k` a run is continued: every group must know its `initial_lr`.
    """

    optimizer: Optimizer
    base_lrs: list[float]
    last_epoch: int
    _last_lr: list[float]
    _step_count: int
    _get_lr_called_within_step: bool = False
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
        if "_step_when_scheduled" not in optimizer.__dict__:
            optimizer._opt_called = False  # steps before the schedule began do not count
        optimizer.__dict__["_step_when_scheduled"] = optimizer.__dict__.get("step")
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the rate of the first epoch."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch. Call it after optimizer.step()."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_IS_DEPRECATED, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        own = self.optimizer.__dict__
        if own.get("step") is not own.get("_step_when_scheduled"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer._opt_called and own.get("step") is None:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in "
                "the opposite order: `optimizer.step()` before `lr_scheduler.step()`, or the first "
                f"value of the schedule is skipped. {_ORDER}",
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._stepping():
            if epoch is None:
                self.last_epoch += 1
                rates = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", self.get_lr)
                rates = closed()
        self._set(rates)

    @contextmanager
    def _stepping(self) -> Iterator[None]:
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

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

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)

    def __repr__(self) -> str:
        rates = ", ".join(f"{rate:.4g}" for rate in self.current())
        return f"<{type(self).__name__} at epoch {self.last_epoch}, lr {rates}>"


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
        self._warn_outside_step()
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


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """`value` for every group, where one is given for all."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [number(value)] * groups
    if len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} "
            f"values, param_groups has {groups}."
        )
    return [number(v) for v in value]
