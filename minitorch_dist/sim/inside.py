"""What a program calls to take part in virtual time. In real time these do no harm."""

from __future__ import annotations

from minitorch_dist.distributed import world
from minitorch_dist.distributed.callsite import callsite
from transports.clock import PICO, picoseconds
from transports.quantities import span
from transports.virtual_clock import VirtualClock


def compute(duration: str | float) -> None:
    """Be busy for "3ms", or for so many seconds of virtual time. Where time is real it passes by
    itself while one computes: there this does nothing."""
    place = world.place()
    clock, recorder = place.clock, None if place.world is None else place.world.mailbox.recorder
    since = 0 if recorder is None else recorder.now()
    if isinstance(clock, VirtualClock):
        clock.pause(span(duration) if isinstance(duration, str) else picoseconds(duration))
    if recorder is not None:
        recorder.computed(since, callsite())


def now() -> float:
    """Seconds, since some instant, of the time in which this rank lives."""
    return world.place().clock.now() / PICO
