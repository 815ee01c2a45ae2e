"""Questions to the store that must hold up nobody: a thread of its own asks.

The store may be behind a cable that was pulled, and then it takes ten seconds until that is known. A thread that
drives a transport has no such time, because it is the one that finds out who is lost. A note about a long wait
only explains, and the word that a rank has left only tidies up. So they are asked aside, with a short deadline.

In virtual time a store answers at once, and is asked directly.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from minitorch_dist.distributed.exceptions import DistError
from transports.clock import Clock, Thread


class Answer:
    """The result of one question, once it is there. It stays None where the store failed."""

    def __init__(self, question: Callable[[], Any]) -> None:
        self.question = question
        self.is_there, self.value = False, None

    def find(self) -> None:
        with suppress(DistError, OSError):
            self.value = self.question()
        self.is_there = True


class Aside:
    """Asks one question after the other, in order. Its thread lives as long as there are any."""

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock, self._name = clock, name
        self._changed = clock.condition(f"the answers of {name}")
        self._waiting: deque[Answer] = deque()
        self._is_busy = False
        self._thread: Thread | None = None

    def ask(self, question: Callable[[], Any]) -> Answer:
        """Return at once; the answer comes later."""
        answer = Answer(question)
        if self._clock.is_virtual:
            answer.find()
            return answer
        with self._changed:
            self._waiting.append(answer)
            is_first, self._is_busy = not self._is_busy, True
        if is_first:
            self._thread = self._clock.start(self._work, self._name)
        return answer

    def settle(self, answer: Answer, seconds: float) -> bool:
        """Wait for an answer, at most so long; whether it is there."""
        deadline = self._clock.deadline(seconds)
        with self._changed:
            while not answer.is_there and not deadline.is_over():
                self._changed.wait(deadline.left())
            is_last = answer.is_there and not self._waiting
        if is_last and self._thread is not None:
            self._thread.join(seconds)  # it has nothing more to do
        return answer.is_there

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._is_busy = False
                    return
                answer = self._waiting.popleft()
            answer.find()
            with self._changed:
                self._changed.notify_all()
