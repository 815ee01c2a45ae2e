"""The present actions of all ranks of a simulated run, from the calls of each.

    op #17 of group 'default_pg' is {all_reduce: 0, 2; broadcast: 1; missing: 3}
    rank 3 returned from its function at 1.1 ms, after op #16; it never comes to #17

Operations of a group are numbered in the order of the calls, and the same number must mean the same
call on every rank. So where a run is stuck, or broke, one looks for the lowest number at which they
differ. Several groups can form a circle: each waits for a rank that waits in another group. A rank that is
missing in one is found waiting in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from minitorch_dist.distributed.execution.operations import REMEMBERED, CollectiveOperation, GroupChannel
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.world import World
from transports.quantities import in_words
from transports.virtual.clock import VirtualClock
from transports.virtual.deadlock import listed
from transports.virtual.fault_injector import FaultInjector

MOST = 12  # lines about ranks


class RunView(Protocol):
    """The part of a run that must be known (see `stage`)."""

    clock: VirtualClock
    world_size: int
    worlds: dict[int, World]  # of each rank, the latest
    returned: dict[int, int]  # when
    raised: dict[int, BaseException]
    injector: FaultInjector | None


class GroupCall(NamedTuple):
    """One operation of a group, as its ranks see it: by rank, or None where it was not called."""

    channel: GroupChannel  # of one of them
    number: int
    calls: dict[int, CollectiveOperation | None]

    def kinds(self) -> dict[str, list[int]]:
        """The calls, each with its ranks; the same words mean the same call."""
        found: dict[str, list[int]] = {}
        names = {str(op.fingerprint).partition(" ")[0] for op in self.calls.values() if op}
        for rank, op in sorted(self.calls.items()):
            if op is not None:
                said = str(op.fingerprint)
                found.setdefault(said if len(names) == 1 else said.partition(" ")[0], []).append(rank)
        return found

    def sites(self) -> set[str]:
        """The lines it was called from."""
        return {op.site for op in self.calls.values() if op is not None}

    def missing(self) -> list[int]:
        return sorted(rank for rank, op in self.calls.items() if op is None)

    def __str__(self) -> str:
        parts = [f"{said}: {_ranks(ranks)}" for said, ranks in self.kinds().items()]
        if self.missing():
            parts.append(f"missing: {_ranks(self.missing())}")
        said = f"op #{self.number} of group {self.channel.name!r}"
        if len(parts) == 1:
            return f"{said} is the first that was called from different lines"
        return f"{said} is {{{'; '.join(parts)}}}"


def channels(stage: RunView) -> dict[int, list[GroupChannel]]:
    """The channels of each group, by its number on the wire."""
    found: dict[int, list[GroupChannel]] = {}
    for here in stage.worlds.values():
        for channel in here.channels:
            found.setdefault(channel.number, []).append(channel)
    return found


def differences(stage: RunView) -> Iterator[GroupCall]:
    """For each group the first operation that not all its ranks have called alike; and before it,
    if there is one, the first that they called from different lines. That may be meant so, but where
    something is wrong it is where to look."""
    for members in channels(stage).values():
        by_rank = {channel.mailbox.rank: channel for channel in members}
        ranks = members[0].ranks
        counts = [by_rank[rank].count if rank in by_rank else 0 for rank in ranks]
        known = {rank: channel.remembered() for rank, channel in by_rank.items()}
        elsewhere: GroupCall | None = None
        for op in range(max(0, max(counts) - REMEMBERED), max(counts)):
            calls = {rank: known[rank].get(op) if rank in known else None for rank in ranks}
            if op < min(counts) and None in calls.values():
                continue  # too long ago
            call = GroupCall(members[0], op, calls)
            if call.missing() or len(call.kinds()) > 1:
                yield call
                if elsewhere is not None:
                    yield elsewhere
                break
            if elsewhere is None and len(call.sites()) > 1:
                elsewhere = call


def cause(stage: RunView) -> str:
    """Where the ranks' calls part, in words; "" if they do not."""
    lines = stage.injector.story() if stage.injector is not None else []
    for call in sorted(differences(stage), key=_age):
        lines.append(str(call))
        lines += [f"  {line}" for line in _where(stage, call)]
    return "\n".join(lines[: 4 * MOST])


def describe(stage: RunView) -> str:
    """One line for each rank: in what it is, or how it ended."""
    lines = []
    for rank in range(stage.world_size):
        if rank >= 4 * MOST:
            lines.append(f"  … and {stage.world_size - rank} ranks more")
            break
        lines.append(f"  rank {rank} {doing(stage, rank)}")
    return "\n".join(lines)


def doing(stage: RunView, rank: int) -> str:
    """The call that a rank is in, or how it ended."""
    crash = stage.injector.crashed.get(rank) if stage.injector is not None else None
    if rank in stage.raised:
        error = stage.raised[rank]
        said = str(error).partition("\n")[0]
        return f"raised {type(error).__name__}: {said[:160]}"
    if rank in stage.returned:
        return f"returned from its function at {in_words(stage.returned[rank])}"
    if crash is not None and crash.restart is None:
        return f"was killed at {in_words(crash.at)}"
    here = stage.worlds.get(rank)
    under_way = [op for channel in here.channels for op in channel.under_way()] if here else []
    if under_way:
        return "is in " + " and in ".join(op.describe() for op in under_way[:4])
    elsewhere = stage.clock.stands(rank)
    return f"is in no operation; it {elsewhere}" if elsewhere else "is in no operation"


def last_sent(stage: RunView, rank: int) -> str:
    """The receiver of its last message, and the operation; "" if it has sent nothing."""
    here = stage.worlds.get(rank)
    latest = here.transport.last_sent if here is not None else None
    if here is None or latest is None:
        return ""
    dst, header = latest
    try:
        said = wire.decode(header)
    except wire.WireError:
        return ""
    number = "" if said.is_point_to_point else f" #{said.sequence}, step {said.step & ~wire.GATE}"
    return f"its last message went to rank {dst}, in {said.fingerprint.operation}{number}"


def _where(stage: RunView, call: GroupCall) -> list[str]:
    """The calls of the ranks with their lines, and what the missing ones do instead."""
    lines = []
    sites: dict[str, list[int]] = {}
    for rank, op in sorted(call.calls.items()):
        if op is not None:
            said = wire.describe(op.fingerprint, op.sequence, 0, op.site)
            sites.setdefault(said, []).append(rank)
    for said, ranks in sites.items():
        lines.append(f"{listed(ranks)} called {said}")
    for rank in sorted(call.missing(), key=lambda rank: _is_behind(stage, call, rank))[:MOST]:
        before = f", after op #{call.number - 1}" if call.number else ""
        lines.append(f"rank {rank} {doing(stage, rank)}{before}; it did not come to #{call.number}")
    if len(call.missing()) > MOST:
        lines.append(f"… and {len(call.missing()) - MOST} more")
    return lines


def _is_behind(stage: RunView, call: GroupCall, rank: int) -> bool:
    """Whether a rank is in an earlier operation of the same group: it may only be late."""
    here = stage.worlds.get(rank)
    mine = [] if here is None or rank in stage.returned else here.channels
    return any(c.number == call.channel.number and c.under_way() for c in mine)


def _age(call: GroupCall) -> tuple[bool, bool, int]:
    """Another kind of call explains more than a missing rank, and that explains more than another line."""
    is_same = len(call.kinds()) < 2 and not call.missing()
    return is_same, len(call.kinds()) < 2, call.number


def _ranks(ranks: list[int]) -> str:
    return listed(ranks).partition(" ")[2]
