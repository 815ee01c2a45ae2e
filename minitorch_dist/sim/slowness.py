"""How long a computation takes on this very rank: by its speed, and by faults."""

from __future__ import annotations

from transports.virtual.clock import VirtualClock


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
