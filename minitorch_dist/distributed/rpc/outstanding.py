"""The calls of a worker that have no answer yet, by number, and what is due of them when.

its time is over                 given up: an answer may still come, and is let go of
long without an answer           asked for, where messages can get lost (PROBE)
"""

from __future__ import annotations

from typing import Final

from minitorch_dist.distributed.rpc.calls import Call
from transports.clock import PICO

RETRY: Final = round(0.25 * PICO)  # without an answer, after which it is asked for


class Outstanding(dict[int, Call]):
    """Changed and looked at by any thread; so it is copied before it is gone through."""

    def __init__(self, may_lose: bool) -> None:
        super().__init__()
        self._may_lose = may_lose
        self._given_up: set[int] = set()
        self.has_given_up = False  # some call, some time

    def all(self) -> list[Call]:
        return list(self.values())

    def of_users(self) -> list[Call]:
        return [call for call in self.all() if not call.is_system]

    def floor(self, id: int) -> int:
        """All calls with smaller numbers are over; `id` if there are none at all."""
        return min(list(self), default=id)

    def next_of(self, call: Call) -> int | None:
        """When something is due of this call."""
        if not self._may_lose:
            return call.end
        asked = call.probed + RETRY
        return asked if call.end is None else min(call.end, asked)

    def next_instant(self) -> int | None:
        instants = [self.next_of(call) for call in self.all()]
        return min((instant for instant in instants if instant is not None), default=None)

    def over(self, now: int) -> list[Call]:
        """Give up those whose time is over."""
        late = [call for call in self.all() if call.end is not None and now >= call.end]
        found = [call for call in late if self.pop(call.id, None) is not None]
        self._given_up.update(call.id for call in found)
        self.has_given_up = self.has_given_up or bool(found)
        return found

    def to_ask_for(self, now: int) -> list[Call]:
        """Those that have been long without an answer; from now on the wait counts anew."""
        found = [call for call in self.all() if self._may_lose and now >= call.probed + RETRY]
        for call in found:
            call.probed = now
        return found

    def was_given_up(self, id: int) -> bool:
        """Whether an answer comes too late; asked once for each."""
        is_late = id in self._given_up
        self._given_up.discard(id)
        return is_late

    def __repr__(self) -> str:
        return f"<Outstanding: {len(self)} calls>"
