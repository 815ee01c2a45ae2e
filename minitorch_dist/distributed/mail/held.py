"""How much a mailbox holds that nobody has asked for, and when the log mentions it.

A send does not wait for its recv, so a rank that sends faster than its peer receives fills the peer's
memory. The peer's log says so: from 256 MB on, and again whenever the amount has doubled. It names the held
messages, their senders, and the lines that sent them. MINITORCH_DIST_HELD=1GB sets a limit. A rank that
sends more is given up, so that every wait for it raises, with the same words.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from minitorch_dist.distributed.mail.receives import Arrival
from transports.quantities import amount

VARIABLE: Final = "MINITORCH_DIST_HELD"
WORTH_A_LINE: Final = 256_000_000  # bytes
SHOWN: Final = 3  # kinds of messages
_log = logging.getLogger("minitorch_dist.distributed")


class HeldMessages(NamedTuple):
    """The messages that one rank holds, in bytes and in words."""

    rank: int
    nbytes: int
    kinds: str


def log(found: Iterable[HeldMessages]) -> None:
    """One line, however many ranks hold something: it names the one that holds most."""
    ranks = list(found)
    most = max(ranks, key=lambda each: each.nbytes)
    who = f"rank {most.rank} holds" if len(ranks) == 1 else f"{len(ranks)} ranks hold up to"
    named = "" if len(ranks) == 1 else f"rank {most.rank} "
    _log.warning(
        "%s %s of messages that %s not received: %s%s. A send does not wait for its "
        "recv here. If this goes on growing, receive as often as is sent, or let the sender wait for "
        "an answer now and then; %s=1GB makes more than that an error",
        who, megabytes(most.nbytes), "it has" if len(ranks) == 1 else "they have", named, most.kinds,
        VARIABLE,
    )  # fmt: skip


class SaysHeaders(Protocol):
    """A mailbox, as its bounds see it."""

    rank: int

    def said(self, header: bytes) -> str: ...


def log_one(found: HeldMessages) -> None:
    log([found])


class MailboxBounds:
    """The bounds of one mailbox."""

    __slots__ = ("_mailbox", "most", "next", "told")

    def __init__(self, mailbox: SaysHeaders) -> None:
        self._mailbox = mailbox
        self.most: int | None = amount(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None
        self.told: Callable[[HeldMessages], None] = log_one
        self.next = WORTH_A_LINE  # bytes, at which it is worth telling again
        if self.most is not None:
            self.next = min(self.next, self.most)

    def refusal(self, early: Iterable[Arrival], nbytes: int) -> str:
        """Why so much cannot be held."""
        return (
            f"rank {self._mailbox.rank} would hold {megabytes(nbytes)} that it has not received, more than "
            f"{VARIABLE}={os.environ.get(VARIABLE)}: {self._kinds(early)}"
        )

    def tell(self, early: Iterable[Arrival], held: int) -> None:
        """Let the log know (or who else has asked), and be silent until it is twice as much."""
        self.next = 2 * held if self.most is None else min(2 * held, self.most)
        self.told(HeldMessages(self._mailbox.rank, held, self._kinds(early)))

    def _kinds(self, early: Iterable[Arrival]) -> str:
        """`300 × send (float32[1000]) at train.py:12 of group 'default_pg' from rank 0`"""
        many: Counter[tuple[int, bytes]] = Counter()
        bytes_of: Counter[tuple[int, bytes]] = Counter()
        for arrival in early:
            many[arrival.sender, arrival.header] += 1
            bytes_of[arrival.sender, arrival.header] += arrival.nbytes
        kinds = [
            f"{many[sender, header]} × {self._mailbox.said(header)} from rank {sender}"
            for (sender, header), _ in bytes_of.most_common(SHOWN)
        ]
        more = sum(many.values()) - sum(many[kind] for kind, _ in bytes_of.most_common(SHOWN))
        return ", ".join(kinds) + (f", and {more} others" if more else "")

    def __repr__(self) -> str:
        most = "" if self.most is None else f", at most {megabytes(self.most)}"
        return f"<Held by rank {self._mailbox.rank}: tells from {megabytes(self.next)} on{most}>"


def megabytes(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f} MB"
