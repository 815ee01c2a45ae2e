"""Copies of one rank between its device and the memory of the host: one after the other each way, beside what is computed.

begun, to the host      its end = max(now, end of the one before) + bytes / rate of the link
awaited                 the rank pauses until that end
"""

from __future__ import annotations

from typing import Any

from transports.virtual.clock import VirtualClock


class HostCopies:
    """Of one rank."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.is_used = False  # whether this rank keeps something in the memory of the host
        self._free = {True: 0, False: 0}  # the instant of the last end, to the host and back
        self._ends: dict[int, int] = {}
        self._numbers: dict[int, int] = {}

    def number(self, owner: Any) -> int:
        """Owners are numbered as they come. So ranks that do the same have the same numbers."""
        return self._numbers.setdefault(id(owner), len(self._numbers))

    def begin(self, owner: int, picos: int, to_host: bool) -> None:
        """A copy that takes so long by itself. A second one of the same owner ends later."""
        self._free[to_host] = max(self.clock.now(), self._free[to_host]) + picos
        self._ends[owner] = self._free[to_host]

    def wait(self, owner: int | None) -> None:
        """Pause until the owner's last copy is there; for None, until all copies to the host are."""
        end = self._free[True] if owner is None else self._ends.get(owner, 0)
        left = end - self.clock.now()
        if left > 0:
            self.clock.pause(left)

    def __repr__(self) -> str:
        return f"<HostCopies: of {len(self._ends)} owners>"
