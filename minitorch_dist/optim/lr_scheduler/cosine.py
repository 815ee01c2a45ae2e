"""Cosine annealing (Loshchilov & Hutter, arXiv:1608.03983).

lr(t) = eta_min + ½ (base_lr − eta_min) (1 + cos(π t / T))
"""

from __future__ import annotations

import math

from minitorch_dist.optim.lr_scheduler.schedule import LRScheduler
from minitorch_dist.optim.optimizer import Optimizer


class CosineAnnealingLR(LRScheduler):
    """Down to `eta_min` in `T_max` epochs (and up again, if one goes on)."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _get_closed_form_lr(self) -> list[float]:
        height = 1 + math.cos(math.pi * (self.last_epoch / self.T_max))
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self.current()
        before, now = (1 + math.cos(math.pi * t / self.T_max) for t in (self.last_epoch - 1, self.last_epoch))
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # leaving the minimum
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                rate + (base - self.eta_min) * rise for rate, base in zip(self.current(), self.base_lrs, strict=True)
            ]
        return [now / before * (rate - self.eta_min) + self.eta_min for rate in self.current()]
