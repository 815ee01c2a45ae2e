"""The times of the last iteration, which `_get_ddp_logging_data` shows."""

from __future__ import annotations

from typing import Any

from transports.clock import Clock


class StepTimes:
    """Instants in nanoseconds of the world's clock; those of a bucket by its number."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.forward_start = self.backward_start = 0
        self.computed = self.end = 0
        self.sent: dict[int, int] = {}
        self.back: dict[int, int] = {}
        self._totals: dict[str, int] = {}
        self._count = 0

    def _now(self) -> int:
        return self._clock.now() // 1000

    def forward_begins(self) -> None:
        self.forward_start = self._now()

    def backward_begins(self) -> None:
        self.backward_start = self._now()
        self.sent, self.back = {}, {}

    def bucket_is_sent(self, index: int) -> None:
        self.sent[index] = self._now()

    def bucket_is_back(self, index: int) -> None:
        self.back[index] = self._now()

    def backward_is_computed(self) -> None:
        self.computed = self._now()

    def backward_ends(self) -> None:
        self.end = self._now()
        for name, time in self.times().items():
            self._totals[name] = self._totals.get(name, 0) + time
        self._count += 1

    def times(self) -> dict[str, int]:
        """How long the parts of the last iteration took."""
        first, last = min(self.sent.values(), default=0), max(self.back.values(), default=0)
        return {
            "forward_compute_time": max(0, self.backward_start - self.forward_start),
            "backward_compute_time": self.computed - self.backward_start,
            "backward_comm_time": max(0, last - first),
            "backward_compute_comm_overlap_time": max(0, min(self.computed, last) - first),
        }

    def averages(self) -> dict[str, int]:
        return {f"avg_{name}": total // self._count for name, total in self._totals.items()}

    def per_bucket(self) -> list[dict[str, Any]]:
        """For each bucket: when it was sent and was back, counted from the start of backward."""
        return [
            {
                "bucket": index,
                "sent": sent - self.backward_start,
                "back": self.back.get(index, sent) - self.backward_start,
                "hidden": max(0, min(self.computed, self.back.get(index, sent)) - sent),
            }
            for index, sent in sorted(self.sent.items())
        ]
