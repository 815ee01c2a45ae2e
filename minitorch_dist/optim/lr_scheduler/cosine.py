"""Cosine annealing, and the same with warm restarts (Loshchilov & Hutter, arXiv:1608.03983).

lr(t) = eta_min + ½ (base_lr − eta_min) (1 + cos(π t / T))
"""

from __future__ import annotations

import math

from minitorch_dist.optim.lr_scheduler.schedule import LRScheduler
from minitorch_dist.optim.optimizer import Optimizer


def annealed(low: float, high: float, progress: float) -> float:
    """From `high` at progress 0 along half a cosine to `low` at progress 1."""
    return low + (high - low) * (1 + math.cos(math.pi * progress)) / 2


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs (and up again, if one goes on)."""

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _get_closed_form_lr(self) -> list[float]:
        return [annealed(self.eta_min, b, self.last_epoch / self.T_max) for b in self.base_lrs]

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial:
            return self.current()
        before, now = (
            1 + math.cos(math.pi * t / self.T_max) for t in (self.last_epoch - 1, self.last_epoch)
        )
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # leaving the minimum
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                rate + (base - self.eta_min) * rise
                for rate, base in zip(self.current(), self.base_lrs, strict=True)
            ]
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self.current()]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down to `eta_min`, then back at once. The first round takes T_0 epochs, each next T_mult times as many."""

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        return [annealed(self.eta_min, base, self.T_cur / self.T_i) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, which may lie between two (after each batch)."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            rounds = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            done = self.T_0 * (self.T_mult**rounds - 1) / (self.T_mult - 1)
            self.T_i, self.T_cur = self.T_0 * self.T_mult**rounds, epoch - done
        self.last_epoch = math.floor(epoch)
        with self._stepping():
            rates = self.get_lr()
        self._set(rates)
