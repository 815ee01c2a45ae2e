"""A rank that has to wait for others to begin names them: after ten seconds, and then ever more rarely.

    init_rpc of 'ps' has waited 10 s for ranks 2, 3 of a world of 4. Were they started?
    init_process_group has waited 20 s for the store at node0:29500, which rank 0 serves: …

torch waits for half an hour and says nothing. MINITORCH_DIST_SLOW changes the ten seconds; 0 is never.
Not in virtual time, where nobody watches and a deadlock is reported at once.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from minitorch_dist.distributed.aside import Aside
from minitorch_dist.distributed.mail.mailbox import SLOW, SLOW_VARIABLE
from transports.clock import Clock
from transports.errors import DistError
from transports.stores.store import Store

_log = logging.getLogger("minitorch_dist.distributed")
TRY: Final = 2.0  # seconds in which a host that is there answers
ANSWER: Final = 3.0  # seconds in which the store has to tell who is missing


class Word:
    """The present wait, in words for somebody who asks."""

    def __init__(self) -> None:
        self.what: Callable[[], str] = lambda: "the others"


@contextmanager
def saying(who: str, clock: Clock) -> Iterator[Word]:
    """While the block lasts, say now and then what it waits for: `word.what()`."""
    word = Word()
    seconds = 0.0 if clock.is_virtual else float(os.environ.get(SLOW_VARIABLE) or SLOW)
    if not seconds:
        yield word
        return
    changed, is_over = clock.condition("word of who is late"), False
    aside = Aside(clock, f"questions of {who}")

    def speak() -> None:
        began, nap = clock.deadline(None), seconds
        while not is_over:
            deadline = clock.deadline(nap)
            with changed:
                while not is_over and not deadline.is_over():
                    changed.wait(deadline.left())
            if not is_over:
                answer = aside.ask(word.what)
                is_known = aside.settle(answer, ANSWER) and answer.value is not None
                what = answer.value if is_known else "the store, which does not answer"
                if not is_over:
                    _log.warning("%s has waited %.0f s for %s", who, began.elapsed(), what)
                nap *= 2

    thread = clock.start(speak, f"patience of {who}")
    try:
        yield word
    finally:
        with changed:
            is_over = True
            changed.notify_all()
        thread.join(ANSWER + 1)


def of_store(init_method: str) -> str:
    """The store that `rendezvous` is to find, and what is wrong with it as far as can be seen."""
    parts = urlsplit(init_method)
    host, port = parts.hostname or "", str(parts.port or "")
    if parts.scheme == "env":
        host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
    if not host or not port.isdecimal():
        return f"the store of {init_method}"
    try:
        socket.create_connection((host, int(port)), TRY).close()
        trouble = "somebody listens there, but has not answered"
    except OSError as error:
        trouble = str(error)
    return (
        f"the store at {host}:{port}, which rank 0 serves: {trouble}. Was rank 0 started, and with "
        "this address and port?"
    )


def of_ranks(store: Store, size: int) -> str:
    """The ranks of a world that have not come to its store (see `bootstrap.arrive`)."""
    try:
        missing = [rank for rank in range(size) if not store.check([f"here/{rank}"])]
    except (DistError, OSError) as error:
        return f"the store, which does not answer: {error}"
    if not missing:
        return "connections to the others, which have all come to the store"
    word = "rank" if len(missing) == 1 else "ranks"
    return f"{word} {', '.join(map(str, missing))} of a world of {size}. Were they started?"
