"""How fast the ranks of a simulated world compute, and how long a computation takes on this very rank."""

from __future__ import annotations

from collections.abc import Mapping

from transports.clock import PICO
from transports.quantities import amount
from transports.virtual.clock import VirtualClock


class Power:
    """`flops`: operations a second ("10T" are 10¹³); `speeds`: factors of single ranks."""

    def __init__(self, flops: float | str | None, speeds: Mapping[int, float]) -> None:
        self.flops = None if flops is None else float(amount(flops) if isinstance(flops, str) else flops)
        self.speeds = dict(speeds)
        wrong = {rank: speed for rank, speed in self.speeds.items() if not speed > 0}
        if wrong or (self.flops is not None and not self.flops > 0):
            raise ValueError(f"a speed is a factor above 0, and flops too: {wrong or self.flops}")

    def span(self, rank: int, picos: int) -> int:
        """The time that this rank needs for work that takes `picos` elsewhere."""
        speed = self.speeds.get(rank, 1.0)
        return picos if speed == 1.0 else round(picos / speed)

    def of(self, operations: float) -> int:
        """Picoseconds for so many operations, at speed 1."""
        if self.flops is None:
            raise ValueError(
                'sim.compute(flops=…) needs to know how many a rank does in a second: pass sim.run(…, flops="10T")'
            )
        return round(operations * PICO / self.flops)

    def __repr__(self) -> str:
        return f"<Power of {self.flops} flops, {len(self.speeds)} ranks differ>"


def slowed(clock: VirtualClock, picos: int) -> int:
    """The time that the calling rank needs for work that takes `picos` at full speed."""
    rank = clock.me().rank
    power, moving = clock.power, clock.medium
    if power is not None:
        picos = power.span(rank, picos)
    if moving is not None and moving.injector is not None:
        picos = moving.injector.compute(rank, picos)
    if moving is not None and moving.witness is not None:
        moving.witness("compute", rank, picos)
    return picos
