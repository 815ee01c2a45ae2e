"""The end of a world: did all ranks come to the same end?

A mismatch is found where a message meets another operation than its own. The last operations of a
program may send no message that anybody still reads: two ranks that both broadcast, each as the root;
one call more that only sends. So a rank that leaves tells the others its last operation, and compares:

    all      farewell ──►    of each group: how many operations were begun, and the headers of the last
             ◄── farewell    of those who have left already, or do so now
    compare  the same number, the same fingerprints?  if not: DistMismatch, with both lines

Work that it has begun beside the program comes to its end first, as in torch, if that takes no longer than
ten seconds. Nobody waits for a rank that is not at its end: it will find our farewell when it comes there,
and compare. A moment's patience is for farewells that cross on their way. So for any two ranks at least one
knows. Nothing is said where something has failed: then the ranks' ends differ for a reason that is known.

Messages that were sent and not received are only mentioned (see `leftover_messages`).

In virtual time nothing is sent, as it would take time: ranks look at each other's groups.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from minitorch_dist.distributed import leftover_messages
from minitorch_dist.distributed.exceptions import DistError, DistMismatch
from minitorch_dist.distributed.execution.notices import FEW
from minitorch_dist.distributed.execution.operations import GroupChannel
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.distributed.world import World
from transports.stores.store import PrefixStore

LAST: Final = 4  # operations of each group that a farewell tells of
SHORTEST: Final = 0.5  # seconds that a peer has at least to take our farewell
LINGER: Final = 10.0  # seconds for one's own work, and for peers that have too much to take already
_log = logging.getLogger("minitorch_dist.distributed")
_LENGTH: Final = struct.Struct("<H")


class GroupProgress(NamedTuple):
    """Where a rank has come to in a group."""

    begun: int  # operations
    headers: Mapping[int, bytes]  # of the last ones, by number


def part(world: World) -> DistMismatch | None:
    """Say farewell, once. Returns the mismatch, if there is one that has not been raised yet."""
    if world.has_parted or world.default_group is None:
        return None
    world.has_parted = True
    is_real = not world.clock.is_virtual
    with suppress(DistError, OSError):
        if all(group.channel.is_sound for group in world.groups.values()):
            _finish(world)
        if is_real:
            world.mailbox.poll()
        if world.default_group.channel.is_sound:
            ends = _exchanged(world) if is_real else _progress_of_the_departed(world)
        else:
            ends = {}
        for channel in world.channels:  # it may have been found by a message, before or meanwhile
            if isinstance(channel.unsaid, DistMismatch):
                return channel.unsaid
        if not world.default_group.channel.is_sound:
            return None
        for peer, theirs in ends.items():
            for channel in world.channels:
                found = _difference(channel, peer, theirs.get(channel.number))
                if found is not None:
                    return found
        leftover_messages.mention(world, _left(world))
    return None


# ------------------------------------------------------------------------------------- finding out


def _finish(world: World) -> None:
    """Work that was begun beside the program, and that nobody has waited for: others may need it."""
    end = world.clock.deadline(LINGER)
    for group in list(world.groups.values()):
        for worker in (group._worker, group._sender):
            if worker is None or worker.is_idle() or worker.is_me():
                continue
            if not worker.finish(end.left() or 0.0):
                doing = ", ".join(each.describe() for each in group.channel.under_way())
                _log.warning(
                    "rank %d leaves while %s is still going on: wait() for its Work first",
                    world.rank,
                    doing or repr(worker),
                )


def _neighbours(world: World) -> list[int]:
    """All others; of many those before and after us, since likeness is passed on."""
    if world.world_size <= FEW:
        return [rank for rank in range(world.world_size) if rank != world.rank]
    return sorted({(world.rank + step) % world.world_size for step in (-1, 1)})


def _exchanged(world: World) -> dict[int, dict[int, GroupProgress]]:
    """Send our farewell, and take in those that are there or on their way."""
    mailbox, peers = world.mailbox, _neighbours(world)
    number = world.default_group.channel.number
    header = wire.encode(wire.Header(number, wire.FAREWELL, 0, Fingerprint("notice"), ""))
    said = encode(world.channels)
    before, end = mailbox.transport.patience, world.clock.deadline(LINGER)
    for peer in peers:
        if peer not in mailbox.gone:
            mailbox.transport.patience = max(end.left() or 0.0, SHORTEST)
            with suppress(DistError, OSError):
                mailbox.transport.send(peer, header, said)
    mailbox.transport.patience = before

    def done() -> bool:
        return all(peer in mailbox.gone for peer in peers)

    deadline = world.clock.deadline(mailbox.transport.usual_delay)  # farewells are on their way
    while not done() and not deadline.is_over():
        mailbox.transport.progress(deadline.left(), done)
    return {peer: decode(words) for peer, words in list(mailbox.farewells.items())}


def _progress_of_the_departed(world: World) -> dict[int, dict[int, GroupProgress]]:
    """The ends of those who have left before us in this simulation."""
    left = _left(world)
    left[world.rank] = list(world.channels)
    return {peer: _ends(left[peer]) for peer in _neighbours(world) if peer in left}


def _left(world: World) -> dict[int, list[GroupChannel]]:
    """Of a simulated world: the groups of those who have left it. Its ranks share one clock."""
    if not world.clock.is_virtual:
        return {}
    clock: Any = world.clock
    store = world.store
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    found: dict[int, list[GroupChannel]] = clock.worlds_left.setdefault((id(store), world.identity), {})
    return found


def left_after(world: World, rank: int, group: int) -> str:
    """`after barrier #4 at train.py:9`: the last operation of a rank that has left, in a group, if it is known."""
    said = world.mailbox.farewells.get(rank)
    ends = _ends(_left(world).get(rank, [])) if said is None else decode(said)
    end = ends.get(group)
    if end is None:
        return ""
    if not end.headers:
        return "without any collective of this group"
    return f"after {world.mailbox.said(end.headers[max(end.headers)])}"


def _ends(channels: Iterable[GroupChannel]) -> dict[int, GroupProgress]:
    return {channel.number: end_of(channel) for channel in channels if channel.is_sound}


def end_of(channel: GroupChannel) -> GroupProgress:
    latest = channel.latest(LAST)
    return GroupProgress(channel.count, {operation.sequence: operation.header() for operation in latest})


def encode(channels: Iterable[GroupChannel]) -> bytes:
    """The ends of these groups: for each the headers of its last operations, or one of none."""
    said = b""
    for channel in channels:
        if not channel.is_sound:
            continue
        headers = list(end_of(channel).headers.values())
        if not headers:
            headers = [wire.encode(wire.Header(channel.number, 0, 0, Fingerprint("none"), ""))]
        words = b"".join(_LENGTH.pack(len(header)) + header for header in headers)
        if len(said) + len(words) > wire.MAX_FAREWELL:
            break
        said += words
    return said


def decode(said: bytes) -> dict[int, GroupProgress]:
    """The ends by the groups' numbers; a note that cannot be read is left out."""
    found: dict[int, GroupProgress] = {}
    at = 0
    with suppress(struct.error, wire.WireError):
        while at < len(said):
            (length,) = _LENGTH.unpack_from(said, at)
            header = said[at + 2 : at + 2 + length]
            at += 2 + length
            group, sequence, _, fingerprint, _ = wire.decode(header)
            if fingerprint.operation == "none":
                found.setdefault(group, GroupProgress(0, {}))
                continue
            before = found.get(group, GroupProgress(0, {}))
            headers = {**before.headers, sequence: header}
            found[group] = GroupProgress(max(before.begun, sequence + 1), headers)
    return found


# --------------------------------------------------------------------------------------- comparing


def _difference(channel: GroupChannel, peer: int, theirs: GroupProgress | None) -> DistMismatch | None:
    """The operations that a peer and this rank did differently in a group."""
    if theirs is None or not channel.is_sound or not channel.has(peer):
        return None
    mailbox, ours = channel.mailbox, {op.sequence: op for op in channel.latest(LAST)}
    for sequence in sorted(ours.keys() & theirs.headers.keys()):
        operation, header = ours[sequence], theirs.headers[sequence]
        if not header.startswith(operation.expects, wire.MATCH.size):
            doing = f"has finished {operation.describe()}"
            return mailbox.difference(doing, peer, header, operation.expects, "has finished")
    if channel.count == theirs.begun:
        return None
    said = {number: mailbox.said(header) for number, header in theirs.headers.items()}
    own = {number: operation.describe() for number, operation in ours.items()}
    if channel.count > theirs.begun:
        more, less, did, had = mailbox.rank, peer, own, said
    else:
        more, less, did, had = peer, mailbox.rank, said, own
    first = min((number for number in did if number >= min(channel.count, theirs.begun)), default=None)
    after = f"after {had[max(had)]}" if had else f"without any operation of group {channel.name!r}"
    called = f"an operation of group {channel.name!r}" if first is None else did[first]
    return DistMismatch(
        f"rank {more} has called {called}, which rank {less} never called: it has left {after}. All "
        "ranks of a group must call the same operations in the same order. Look for a branch or a loop "
        "in which ranks go different ways; if one only had less to do, see algorithms.join.Join"
    )
