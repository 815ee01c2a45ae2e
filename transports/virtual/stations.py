"""The links inside a network, which messages of all ranks pass: those of a torus, or between switches.

    transmit port ──► station ──► station ──► … ──► receive port        each arrow an event of the clock

A station serves first come, first served. Messages that come at the same instant are served in the order of
the senders' ranks. Each is held for α + βm of its own. The head of a message goes on at once; its last byte
passes a station when the station has had the time for all bytes, and not before it has come there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from transports.virtual.event_queue import Timeline

Message: TypeAlias = Any  # of `medium`, which needs this


class Stations:
    """All such links of one medium. `times` says in which time messages move; `arrived` is called with
    a message that has passed its last station."""

    def __init__(self, times: Callable[[], Timeline], arrived: Callable[[Message], None]) -> None:
        self._times, self._arrived = times, arrived
        self._free: dict[Any, int] = {}  # the instant at which each link is free again
        self._here: list[Message] = []  # they have come to their next station, at this instant

    def begin(self, message: Message, start: int) -> None:
        """Its sender's port takes it from `start` on."""
        message.leg, message.end = 0, start + message.hold
        self._go(message, start)

    def come(self, message: Message) -> None:
        """Its head is at its next station."""
        if not self._here:
            self._times().settle(self._settle)
        self._here.append(message)

    def _go(self, message: Message, start: int) -> None:
        """On to the next one, or to the receiver's port."""
        via, leg = message.way.via, message.leg
        ahead = via[leg].ahead if leg < len(via) else message.way.wire
        self._times().at(start + ahead, message.come)

    def _settle(self) -> None:
        """Nobody else comes at this instant: the links take what there is."""
        here, self._here = self._here, []
        here.sort(key=lambda message: message.src.rank)
        now = self._times().now()
        for message in here:
            via, leg = message.way.via, message.leg
            if leg == len(via):
                self._arrived(message)
                continue
            port, link, ahead, is_port = via[leg]
            hold = link.hold(message.nbytes)
            if is_port and message.medium.injector is not None:
                hold = message.medium.injector.hold(message.src.rank, message.dst.rank, hold)
            start = max(self._free.get(port, 0), now)
            self._free[port] = start + hold
            message.end = max(start + hold, message.end + ahead)
            message.leg += 1
            self._go(message, start)
