"""One thread at a time, and none that waits is forgotten."""

from __future__ import annotations

import threading

from transports.clock import SYSTEM
from transports.driven import Turn


def test_one_at_a_time() -> None:
    turn, inside, most = Turn(SYSTEM), [0], [0]

    def work() -> None:
        for _ in range(300):
            with turn.held(SYSTEM):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert most == [1] and inside == [0] and turn.token


def test_who_waits_may_be_called_off() -> None:
    turn, news = Turn(SYSTEM), list[int]()
    assert turn.try_take() and not turn.try_take()
    assert not turn.take(SYSTEM.deadline(0))
    got: list[bool] = []
    waiter = threading.Thread(target=lambda: got.append(turn.take(SYSTEM.deadline(60), lambda: bool(news))))
    waiter.start()
    news.append(1)
    turn.wake()
    waiter.join(300)
    assert got == [False] and not turn.token
    turn.give()
    assert turn.take(SYSTEM.deadline(60))
