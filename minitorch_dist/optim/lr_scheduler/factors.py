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

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def closed(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))

    def chained(self) -> float:
        return self.gamma if self.last_epoch and self.last_epoch % self.step_size == 0 else 1.0


class MultiStepLR(ChainableLR):
    """Times gamma, at each of the `milestones`."""

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def closed(self) -> float:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return float(self.gamma**passed)

    def chained(self) -> float:
        return float(self.gamma ** self.milestones[self.last_epoch])


class ConstantLR(ChainableLR):
    """Times `factor` until epoch `total_iters`, then as it was."""

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def closed(self) -> float:
        return self.factor if self.last_epoch < self.total_iters else 1.0

    def chained(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1.0 / self.factor if self.last_epoch == self.total_iters else 1.0


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
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
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


class PolynomialLR(ChainableLR):
    """Down to zero at epoch `total_iters`, as (1 − t / total_iters) to the given power."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _left(self, epoch: int) -> float:
        return 1.0 - min(self.total_iters, epoch) / self.total_iters

    def closed(self) -> float:
        return float(self._left(self.last_epoch) ** self.power)

    def chained(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        return float((self._left(self.last_epoch) / self._left(self.last_epoch - 1)) ** self.power)


class _FunctionLR(LRScheduler):
    """Schedules given by a function of the epoch, one for all groups or one for each."""

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Factor | list[Factor], last_epoch: int = -1
    ) -> None:
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != groups:
                raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
            self.lr_lambdas: list[Factor] = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * groups
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, last_epoch)

    def factors(self) -> list[float]:
        return [function(self.last_epoch) for function in self.lr_lambdas]

    def state_dict(self) -> dict[str, Any]:
        """Functions are not saved; callable objects are, by what they hold."""
        saved = super().state_dict()
        saved["lr_lambdas"] = [
            None if isinstance(f, (FunctionType, BuiltinFunctionType)) else f.__dict__.copy()
            for f in self.lr_lambdas
        ]
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = own
        for function, saved in zip(own, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                function.__dict__.update(saved)


class LambdaLR(_FunctionLR):
    """lr(t) = base_lr · lr_lambda(t)"""

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        return [base * f for base, f in zip(self.base_lrs, self.factors(), strict=True)]


class MultiplicativeLR(_FunctionLR):
    """lr(t) = lr(t − 1) · lr_lambda(t)"""

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial:
            return self.current()
        return [rate * f for rate, f in zip(self.current(), self.factors(), strict=True)]
