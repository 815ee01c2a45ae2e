"""All that the server of an MQTT store knows of one of its clients, which numbers its questions."""

from __future__ import annotations

import heapq
from typing import TypeAlias

from transports.stores.protocol import StoreRequest

MAX_ASKERS = 1 << 16
MAX_WAITING = 1000  # questions of one asker; each of its threads has one

Waiter: TypeAlias = "tuple[int, int]"  # an asker's mark, and the number of its question


class Asker:
    """All that the store server knows of one client."""

    __slots__ = ("_open", "answers", "is_silent", "on_the_way", "settled", "waiting")

    def __init__(self) -> None:
        self.settled = 0  # it has the answers to all numbers below
        self.answers: dict[int, list[bytes] | Exception] = {}
        self.waiting: dict[int, StoreRequest] = {}
        self._open: list[int] = []  # a heap: the numbers of both
        self.on_the_way = 0  # bytes of answers that the broker has not taken yet
        self.is_silent = False  # a waiting client asks again each second: silence means that it is gone

    def keep(self, number: int, answer: list[bytes] | Exception) -> None:
        self.answers[number] = answer
        heapq.heappush(self._open, number)

    def wait(self, number: int, request: StoreRequest) -> None:
        self.waiting[number] = request
        heapq.heappush(self._open, number)

    def settle(self, number: int) -> list[int]:
        """All below this number is of no interest to it any more. The numbers that waited."""
        self.settled = max(number, self.settled)
        waited = []
        while self._open and self._open[0] < number:
            old = heapq.heappop(self._open)
            self.answers.pop(old, None)
            if old in self.waiting:
                waited.append(old)
        return waited
