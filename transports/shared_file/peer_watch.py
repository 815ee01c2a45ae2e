"""Does a peer still live? A rank that waits for one asks this now and then.

A peer whose process this one can see is looked up by its number and the instant it began. So a death is
noticed however it came (kill -9 included), and no other process is taken for it. A peer in another
container or on another host is known by its pulse, a number that it changes each second. A peer that is a
thread of this very process lives as long as that thread.
"""

from __future__ import annotations

import threading  # noqa: TID251 - only to see whether a rank's thread has ended
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

from transports.clock import Clock, Deadline
from transports.identity import PeerIdentity

BEAT, STALE = 1.0, 10.0  # seconds between two beats, and without one until a peer counts as dead

_threads: WeakValueDictionary[tuple[bytes, int], threading.Thread] = WeakValueDictionary()


class PeerWatch:
    """One rank's eye on all the others."""

    def __init__(self, generation: bytes, rank: int, identities: Sequence[PeerIdentity], clock: Clock) -> None:
        self._generation, self._clock = generation, clock
        self._identities, self._me = identities, identities[rank]
        self._pulses: dict[int, tuple[int, Deadline]] = {}
        _threads[generation, rank] = threading.current_thread()

    def has_neighbours(self) -> bool:
        """Whether other ranks live in this process."""
        return self._identities.count(self._me) > 1

    def has_to_beat(self) -> bool:
        """Whether some peer can know us by our pulse only."""
        return any(not self._me.is_watched_from(peer) for peer in self._identities)

    def death_of(self, peer: int, pulse: Callable[[int], int]) -> str | None:
        """How `peer` died; None if it lives. `pulse` tells the number it changes."""
        identity = self._identities[peer]
        if identity == self._me:
            thread = _threads.get((self._generation, peer))
            if thread is None or not thread.is_alive():
                return f"its thread in {identity} ended without close"
        elif identity.is_watched_from(self._me):
            if not identity.is_alive():
                return f"{identity} ended without close. Look at its output for the first error"
        else:
            return self._stale(peer, pulse(peer))
        return None

    def _stale(self, peer: int, pulse: int) -> str | None:
        last = self._pulses.get(peer)
        if last is None or last[0] != pulse:
            self._pulses[peer] = pulse, self._clock.deadline(STALE)
        elif last[1].is_over():
            who = f"{self._identities[peer]}"
            return f"{who} has shown no heartbeat for {STALE:.0f} s: it ended, its host is off, or cut off from ours"
        return None
