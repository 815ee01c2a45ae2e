"""Schedules that multiply the learning rate by a simple factor."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

from minitorch_dist.optim.lr_scheduler.schedule import ChainableLR, LRScheduler
from minitorch_dist.optim.optimizer import Optimizer

Factor: TypeAlias = Callable[[int], float]


class StepLR(ChainableLR):
    """Times gamma, every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def closed(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))

    def chained(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0


class MultiStepLR(ChainableLR):
    """Times gamma, at each of the `milestones`."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def closed(self) -> float:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return float(self.gamma**passed)

    def chained(self) -> float:
        return float(self.gamma ** self.milestones[self.last_epoch])


class LinearLR(ChainableLR):
    """The factor moves from `start_factor` to `end_factor` in `total_iters` equal steps."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def closed(self) -> float:
        rise = self.end_factor - self.start_factor
        return self.start_factor + rise * min(self.total_iters, self.last_epoch) / self.total_iters

    def chained(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return 1.0 + rise / before


class ExponentialLR(ChainableLR):
    """Times gamma, every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def closed(self) -> float:
        return float(self.gamma**self.last_epoch)

    def chained(self) -> float:
        return 1.0 if self._is_initial else self.gamma


class LambdaLR(LRScheduler):
    """lr(t) = base_lr · lr_lambda(t).

    Args:
        optimizer: Its learning rates are changed.
        lr_lambda: One function for all groups, or one for each.
        last_epoch: The epoch before the first; -1 begins.

    Example:
        >>> optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=0.8)
        >>> schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
        >>> optimizer.step(); schedule.step()
        >>> schedule.get_last_lr()
        [0.4]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        several = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas: list[Any] = list(lr_lambda) if several else [lr_lambda] * groups  # type: ignore[arg-type]
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        pairs = zip(self.base_lrs, self.lr_lambdas, strict=True)
        return [base * function(self.last_epoch) for base, function in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Functions are not saved; callable objects are, by what they hold."""
        saved = super().state_dict()
        saved["lr_lambdas"] = [
            None if isinstance(f, (FunctionType, BuiltinFunctionType)) else f.__dict__.copy() for f in self.lr_lambdas
        ]
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = own
        for function, saved in zip(own, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)
