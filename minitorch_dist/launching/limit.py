"""How long a whole run may take. A simulated run has a limit of virtual time instead (`sim.run(limit=…)`)."""

from __future__ import annotations

from collections.abc import Iterable

from transports.errors import DistError


class OutOfTime(DistError):
    """The run took longer than it was allowed to, and was ended."""

    def __init__(self, seconds: float, late: Iterable[int]) -> None:
        said = ", ".join(f"rank {rank}" for rank in late)
        super().__init__(
            f"the run took longer than the {seconds:g} s that it may take. Not at their end: {said}. Look "
            "whether one of them waits for ever or sleeps, or allow more time"
        )
