"""Waiting for what other ranks say in the store, and no longer than they live.

A store knows nothing of ranks, so a wait in it would go on until its timeout for a rank that was killed.
The transport knows: between short waits it is asked who is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from minitorch_dist.distributed.exceptions import PeerLost
from transports.clock import Deadline
from transports.errors import DistNetworkError, StoreTimeout
from transports.stores.store import Store

LOOK: Final = 0.25  # seconds between two looks at who is still there


ENDING: Final = (KeyboardInterrupt, SystemExit)  # a program may catch them and live on
R = TypeVar("R")


def attempt(call: Callable[[], R]) -> tuple[R | None, BaseException | None]:
    """Its result, or its error: other ranks wait to hear of either, also of Ctrl-C."""
    try:
        return call(), None
    except (Exception, *ENDING) as error:
        return None, error


def hear(group: Any, store: Store, words: Mapping[str, int], what: str) -> None:
    """Return when all keys are there; `words` says which rank of the group sets each. Raises PeerLost,
    with `what` it still had to do, if one of those is lost, and StoreTimeout as the store would."""
    mailbox = group.world.mailbox
    deadline = Deadline(mailbox.clock, store.timeout.total_seconds())
    while True:
        left = deadline.left()
        last = left is not None and left <= LOOK
        try:
            store.wait(list(words), left if last else LOOK)
            return
        except (StoreTimeout, DistNetworkError) as error:
            mailbox.poll()
            for key, rank in words.items():
                lost = group.ranks[rank]
                if lost in mailbox.gone and not _is_there(store, key):
                    doing = f"rank {mailbox.rank} waits for: it had still {what}"
                    raise PeerLost(lost, mailbox.gone[lost], doing) from error
            if not isinstance(error, StoreTimeout):
                raise
            if last:
                note = f"Rank {mailbox.rank} waits for others, which had still {what}. {error.note}"
                raise StoreTimeout(
                    store.timeout.total_seconds(), error.missing, error.present, note
                ) from None


def _is_there(store: Store, key: str) -> bool:
    try:
        return store.check([key])
    except DistNetworkError:  # the store was the lost rank's
        return False
