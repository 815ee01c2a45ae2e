"""When the buckets of the last backward pass were sent and were back: `model.reducer.measured.per_bucket()`.

The reducer only writes instants down. They become times when somebody asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class StepTimes:
    """Instants of one backward pass in picoseconds of the world's clock; those of a bucket by its number."""

    backward_start: int = 0
    computed: int = 0
    sent: dict[int, int] = field(default_factory=dict)
    back: dict[int, int] = field(default_factory=dict)

    def per_bucket(self) -> list[dict[str, int]]:
        """For each bucket, in nanoseconds: when it was sent and was back, counted from the start of backward, and how
        much of that computing has hidden."""
        found, start, computed = [], _nano(self.backward_start), _nano(self.computed)
        for index in sorted(self.sent):
            sent, back = _nano(self.sent[index]), _nano(self.back.get(index, self.sent[index]))
            hidden = max(0, min(computed, back) - sent)
            found.append(
                {"bucket": index, "sent": sent - start, "back": back - start, "hidden": hidden}
            )
        return found


def _nano(picoseconds: int) -> int:
    return picoseconds // 1000
