"""One schedule after the other on one optimizer."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from minitorch_dist.optim.lr_scheduler.plateau import ReduceLROnPlateau
from minitorch_dist.optim.lr_scheduler.schedule import LRScheduler, assign
from minitorch_dist.optim.optimizer import Optimizer


class SequentialLR(LRScheduler):
    """`schedulers[i]` from epoch `milestones[i − 1]` on; each starts at its own epoch 0."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        for schedule in schedulers:
            if schedule.optimizer is not optimizer or isinstance(schedule, ReduceLROnPlateau):
                raise ValueError(
                    "SequentialLR expects all schedulers to belong to the same optimizer, and to step "
                    f"without a metric, but got {schedule!r}"
                )
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self.optimizer = schedulers, optimizer
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        # Each of the schedules has made its first step when it was constructed. Undo these.
        for group in optimizer.param_groups:
            assign(group, "lr", group["initial_lr"])
        for schedule in schedulers:
            schedule.last_epoch -= 1
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        self.last_epoch += 1
        number = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            schedule._update_lr(0)
        else:
            schedule.step()
        self._last_lr = schedule.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        own = self._schedulers
        super().load_state_dict(state_dict)
        self._schedulers = own
        for schedule, saved in zip(own, state_dict["_schedulers"], strict=True):
            schedule.load_state_dict(saved)
