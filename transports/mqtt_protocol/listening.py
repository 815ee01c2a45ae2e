"""The common part of those who listen to a connection: since when the broker is away, and why."""

from __future__ import annotations

from collections import Counter

from transports.clock import PICO, Clock
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.connection import TICK
from transports.mqtt_protocol.peers import ASLEEP


class BrokerWatch:
    """Everything is guarded by `changed`."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self.address, self.clock = address, clock
        self.changed = clock.condition()
        self.dropped: Counter[str] = Counter()  # frames, by why
        self._down_since: float | None = self._now()
        self._why_down = "it was not reached yet"
        self._last_tick = self._now()

    def _now(self) -> float:
        return self.clock.now() / PICO

    def down(self, reason: str) -> None:
        with self.changed:
            if self._down_since is None:
                self._down_since = self._now()
            self._why_down = reason
            self.changed.notify_all()

    def away(self) -> float:
        """For how many seconds the broker has been away."""
        return 0.0 if self._down_since is None else self._now() - self._down_since

    def why_away(self, seconds: float | None = None) -> str:
        """Why there is no broker."""
        seconds = self.away() if seconds is None else seconds
        return f"the broker at {self.address.shown} was away for {seconds:.0f} s: {self._why_down}"

    def _slept(self, now: float) -> float:
        """Seconds for which we were stopped, or starved, since the last look at the time: silence was ours then."""
        late, self._last_tick = now - self._last_tick - TICK, now
        return late if late > ASLEEP else 0.0
