"""Look at a word of memory that another process writes, for as long as most answers take to come.

Where every rank has a core of its own the other one is at work, and its answer comes within a few
looks; otherwise it may be waiting for our core. How often to look before giving the core away is
learned from what has helped.
"""

from __future__ import annotations

from typing import Final

from transports.clock import ASIDE, Yielding, step_aside

FEW: Final = 10  # polls, where a peer shares our core


class Spin:
    """How one rank polls words that only grow."""

    __slots__ = ("_at_present", "_vain", "_yielding", "polls", "words", "yields")

    def __init__(self, words: memoryview) -> None:
        self.words = words
        self._vain = 0  # how many waits the polls were too few for
        self._yielding = Yielding()
        self.set(0, 0)

    def set(self, polls: int, yields: int) -> None:
        """How often to poll, and then to yield, before a rank waits in another way."""
        self.polls, self.yields = polls, yields
        self._at_present = polls

    def comes(self, word: int, number: int) -> bool:
        """Whether a word exceeds `number`, now or soon. Now and then one leaves the core for another."""
        words = self.words
        for _ in range(self._at_present):
            if words[word] > number:
                if self._at_present < self.polls:
                    self._at_present = min(2 * self._at_present, self.polls)
                return True
        self._vain += 1
        if self._vain % ASIDE == 0 and self.yields:
            step_aside()
            self._at_present = self.polls
        for turn in range(self.yields):
            if not self._yielding.give():
                break
            if words[word] > number:
                if turn < 2:  # it only wanted our core
                    self._at_present = max(self._at_present // 2, min(FEW, self.polls))
                return True
        return words[word] > number
