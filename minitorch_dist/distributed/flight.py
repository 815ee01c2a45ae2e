"""The report behind a timeout: the actions of all ranks when one of them has waited too long.

    rank 0 waited 30.0 s for rank 2 in all_reduce #17 (…) at train.py:42 of group 'default_pg'; …
      rank 1: waits for rank 2 in all_reduce #17 (…) at train.py:42
      rank 2: last heard in barrier #16 at train.py:40
      this rank did before: barrier #16 at train.py:40, all_reduce #15 (…) at train.py:42

A rank that has waited for a second pins a note to the store. It looks whether the rank that it waits for has
pinned another operation of the same number. It also looks whether ranks wait for each other in a circle (see
`circles`). Then they are reported. A rank that
gives up reads the others' notes. It adds the last news of the ranks that left none, and its own last
operations. The debug level says how many of those (TORCH_DISTRIBUTED_DEBUG=OFF, INFO or DETAIL). Checks are
always on here, so a level says nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice

from minitorch_dist.distributed.aside import Aside
from minitorch_dist.distributed.circles import CircleFinder
from minitorch_dist.distributed.execution.operations import CollectiveOperation, GroupChannel
from minitorch_dist.distributed.mail.mailbox import Mailbox
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.mail.wire import MATCH
from transports.stores.store import Store

VARIABLE = "TORCH_DISTRIBUTED_DEBUG"
SHOWN = 16  # ranks
PATIENCE = 2.0  # seconds in which the store has to tell what the others wait for
OFTEN = 8  # looks for a circle, before they become rarer
LOOK = 0.005  # seconds between two looks whether it has


OPERATIONS = {"OFF": 3, "INFO": 10, "DETAIL": 64}  # of this rank that a report tells


def operations_to_tell() -> int:
    """By TORCH_DISTRIBUTED_DEBUG."""
    level = os.environ.get(VARIABLE, "").upper() or "OFF"
    if level not in OPERATIONS:
        raise RuntimeError(f"The value of {VARIABLE} must be OFF, INFO, or DETAIL, not {level!r}.")
    return OPERATIONS[level]


class FlightRecorder:
    """One rank's notes for the moment when something hangs. The store is asked aside, and the transport is
    driven meanwhile, so a lost rank is found all the same."""

    def __init__(self, mailbox: Mailbox, store: Store) -> None:
        self._mailbox, self._store = mailbox, store
        clock, name = mailbox.clock, f"notes of rank {mailbox.rank}"
        # In a simulation a deadlock is reported at once, and by name: nobody pins notes.
        self._aside = None if clock.is_virtual else Aside(clock, name)
        self._circles = None if clock.is_virtual else CircleFinder(mailbox, mailbox.traffic)
        mailbox.flight = self

    def pin(self, receive: PostedReceive, seconds: float) -> None:
        """Let the others know for whom we wait, and for how long by now."""
        if self._circles is None:
            return
        self._circles.enter(receive)
        source, owner = ("anybody" if receive.source is None else f"rank {receive.source}", receive.owner)
        header = owner.header().hex() if isinstance(owner, CollectiveOperation) else ""
        self._set(
            f"waits for {source} in {owner.describe()}, for {seconds:.0f} s by now\n{header}\n{self._circles.note().written()}"
        )

    def unpin(self) -> None:
        """We do not wait any more."""
        if self._circles is not None:
            self._circles.leave()
            self._set("")

    def _set(self, text: str) -> None:
        if self._aside is not None:
            self._aside.ask(partial(self._store.set, f"waiting/{self._mailbox.rank}", text))

    def contradiction(self, receive: PostedReceive) -> Exception | None:
        """The rank that we wait for waits itself, in another operation of the same number. Nobody will ever
        send the message at which that would be noticed, as when ranks gather to different roots.
        """
        owner, source = receive.owner, receive.source
        if source is None or not isinstance(owner, CollectiveOperation):
            return None
        theirs = bytes.fromhex(self._note(source).partition("\n")[2].partition("\n")[0])
        if not theirs.startswith(owner.prefix) or theirs.startswith(owner.expects, MATCH.size):
            return None
        doing = f"is in {owner.describe()}"
        return self._mailbox.difference(doing, source, theirs, owner.expects)

    def circle(self, turns: int) -> Exception | None:
        """The error, if ranks wait for each other in a circle that we are in, or wait for. The way is long where
        there are many ranks, so it is followed ever more rarely."""
        if turns > OFTEN and turns.bit_count() > 1 and (turns - 1).bit_count() > 1:
            return None
        if self._circles is None or self._mailbox.transport.is_unreliable:
            return None
        return self._circles.look(lambda rank: self._note(rank).rpartition("\n")[2])

    def report(self, receive: PostedReceive) -> str:
        """Lines on the others, and on what we did before."""
        owner = receive.owner
        channel = owner.channel if isinstance(owner, CollectiveOperation) else None
        ranks = range(self._mailbox.world_size) if channel is None else channel.ranks
        others = [rank for rank in ranks if rank != self._mailbox.rank]
        notes = self._notes(others[:SHOWN])
        seen = {rank: self._seen(rank, notes) for rank in others[:SHOWN]}
        lines = [f"\n  rank {rank}: {text}" for rank, text in seen.items()]
        if len(others) > SHOWN:
            lines.append(f"\n  and {len(others) - SHOWN} more")
        source = receive.source
        own, is_recv = self._mailbox.rank, source is not None and channel is None
        if is_recv and f"waits for rank {own} in recv" in notes.get(source or 0, ""):
            both = f"rank {own} and rank {source} wait for each other"
            lines.append(f"\n  {both}: one of them has to send first")
        before = [] if channel is None else recent(channel, operations_to_tell())
        if before:
            lines.append(f"\n  this rank did before: {', '.join(before)}")
        return "".join(lines)

    def _seen(self, rank: int, notes: Mapping[int, str]) -> str:
        return notes.get(rank, "").partition("\n")[0] or self._mailbox.last_heard(rank)

    def _note(self, rank: int) -> str:
        """The note that a rank has pinned, if any: a line to read, and its message's header."""
        return self._notes([rank]).get(rank, "")

    def _notes(self, ranks: Sequence[int]) -> Mapping[int, str]:
        """The notes of these ranks; none, if the store does not answer soon."""
        if self._aside is None:
            return {}
        answer = self._aside.ask(partial(self._read, ranks))
        deadline = self._mailbox.clock.deadline(PATIENCE)
        while not answer.is_there and not deadline.is_over():
            self._mailbox.transport.progress(LOOK, lambda: answer.is_there)
        return answer.value or {}

    def _read(self, ranks: Sequence[int]) -> dict[int, str]:
        keys = {rank: f"waiting/{rank}" for rank in ranks}
        there = {rank: key for rank, key in keys.items() if self._store.check([key])}
        return {rank: self._store.get(key).decode() for rank, key in there.items()}


def recent(channel: GroupChannel, count: int) -> list[str]:
    """The last operations that this rank has finished in a group, the latest first."""
    return [done.describe().removesuffix(f" of group {channel.name!r}") for done in islice(channel.finished(), count)]
