"""One thread drives a transport, and the others wait beside it; in this they are all alike.

    the driver     reads from the medium and delivers, in its own call of `progress`
    the others     wait for their turn to drive, or for the driver to deliver something

`tcp` waits in the system meanwhile; media that can only be polled are built on `polled`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from transports.clock import SYSTEM, Clock
from transports.contract import Transport
from transports.errors import TransportClosed
from transports.turn import Turn


class DrivenTransport(Transport):
    """A transport whose threads take turns as its driver. Only the driver changes `_deliveries`."""

    def __init__(
        self, rank: int, world_size: int, address: str = "", clock: Clock = SYSTEM
    ) -> None:
        super().__init__(rank, world_size, address, clock)
        self._state: Literal["not connected", "open", "closed"] = "not connected"
        self._turn = Turn(clock)  # to drive
        self._deliveries = self._reported = 0

    def _wait_beside(
        self, timeout: float | None, seen: int, done: Callable[[], bool] | None
    ) -> bool:
        """Another thread drives: wait for our turn (True), or for something to be delivered."""

        def unless() -> bool:
            return (
                self._state != "open" or self._deliveries != seen or (done is not None and done())
            )

        is_ours = self._turn.take(self.clock.deadline(timeout), unless)
        if not is_ours and self._state != "open":
            raise self._not_open()
        return is_ours

    def _report(self) -> bool:
        """The result of `progress`: whether anything was delivered since the last report."""
        found, self._reported = self._deliveries > self._reported, self._deliveries
        return found

    def _not_open(self) -> TransportClosed:
        return TransportClosed(f"the {self.scheme} transport of rank {self.rank} is {self._state}")
