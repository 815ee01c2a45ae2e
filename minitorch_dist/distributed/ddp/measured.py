"""The times of the last iterations, which `_get_ddp_logging_data` shows.

The reducer only writes instants down. They become times when somebody asks, or when many steps have come together.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

MANY: Final = 256  # steps


@dataclass(slots=True)
class StepTimes:
    """Instants of one iteration in picoseconds of the world's clock; those of a bucket by its number."""

    forward_start: int = 0
    backward_start: int = 0
    computed: int = 0
    sent: dict[int, int] = field(default_factory=dict)
    back: dict[int, int] = field(default_factory=dict)

    def times(self) -> dict[str, int]:
        """How long the parts of this iteration took, in nanoseconds."""
        forward, backward, computed = map(
            _nano, (self.forward_start, self.backward_start, self.computed)
        )
        first = _nano(min(self.sent.values(), default=0))
        last = _nano(max(self.back.values(), default=0))
        return {
            "forward_compute_time": max(0, backward - forward),
            "backward_compute_time": computed - backward,
            "backward_comm_time": max(0, last - first),
            "backward_compute_comm_overlap_time": max(0, min(computed, last) - first),
        }

    def per_bucket(self) -> list[dict[str, Any]]:
        """For each bucket: when it was sent and was back, counted from the start of backward."""
        found, start, computed = [], _nano(self.backward_start), _nano(self.computed)
        for index in sorted(self.sent):
            sent = _nano(self.sent[index])
            back = _nano(self.back.get(index, self.sent[index]))
            hidden = max(0, min(computed, back) - sent)
            found.append(
                {"bucket": index, "sent": sent - start, "back": back - start, "hidden": hidden}
            )
        return found


class TotalTimes:
    """The times of all iterations. `steps` are those that are not counted yet."""

    def __init__(self) -> None:
        self.steps: list[StepTimes] = []
        self._totals: Counter[str] = Counter()
        self._count = 0

    def add_up(self) -> None:
        for step in self.steps:
            self._totals.update(step.times())
        self._count += len(self.steps)
        self.steps.clear()

    def averages(self) -> dict[str, int]:
        self.add_up()
        return {f"avg_{name}": total // self._count for name, total in self._totals.items()}


def _nano(picoseconds: int) -> int:
    return picoseconds // 1000
