"""Messages that had not been received when their receiver left. The log mentions them; they are no error.

Here a send does not wait for its receive, so a program with a send too many comes to its end. In torch
(gloo) that send would wait, to its timeout. So it is worth a line: the message, and where it was sent.

A rank that leaves with such a message in its mailbox writes the line. In virtual time, there are two more
cases. A rank leaves while a message is on the way between it and a rank that left before. Or a message arrives
at a rank that has left.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from minitorch_dist.distributed.execution.operations import GroupChannel
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.world import World

SHOWN: Final = 3  # messages
MANY: Final = 256  # ranks, of which each does not look at what all others have sent
_mentioned: set[str] = set()
_log = logging.getLogger("minitorch_dist.distributed")


def mention(world: World, left: Mapping[int, list[GroupChannel]]) -> None:
    """This rank has come to its end. In virtual time, `left` are those that have left before."""
    mailbox = world.mailbox
    if mailbox.transport.is_unreliable:
        return  # a message that is left over may be a copy, which nobody has sent
    with mailbox.lock:
        came = [(each.sender, each.header) for each in mailbox.strangers(b"")]
    _mention(world, world.rank, came)
    if not world.clock.is_virtual:
        return
    mailbox.on_missed = lambda src, header: _mention(world, world.rank, [(src, header)])
    to, header = mailbox.transport.under_way or (-1, b"")
    if to in left and to != world.rank:  # a message is on its way to a rank that has left,
        _mention(world, to, [(world.rank, header)])
    for rank, channels in left.items() if len(left) <= MANY else ():  # or from such a rank to us
        to, header = channels[0].mailbox.transport.under_way or (-1, b"")
        if to == world.rank != rank:
            _mention(world, to, [(rank, header)])


def _mention(world: World, rank: int, came: Sequence[tuple[int, bytes]]) -> None:
    """Say what did not get to `rank`."""
    sends = [(src, world.mailbox.said(header)) for src, header in came if _is_of_send(header)]
    if not sends:
        return
    shown, srcs = ", ".join(text for _, text in sends[:SHOWN]), sorted({src for src, _ in sends})
    if world.clock.is_virtual:  # a simulation is run again and again
        if shown in _mentioned:
            return
        _mentioned.add(shown)
    _log.warning(
        "rank %d leaves and has not received what rank%s %s sent: %s%s. Each send needs its recv: with "
        "the same tag, in the same group, and as often. Here a send does not wait for its recv; "
        "torch's would, until the timeout",
        rank,
        "s" if len(srcs) > 1 else "",
        ", ".join(map(str, srcs)),
        shown,
        f", and {len(sends) - SHOWN} more" if len(sends) > SHOWN else "",
    )


def _is_of_send(header: bytes) -> bool:
    try:
        decoded = wire.decode(header)
    except wire.WireError:
        return False
    return decoded.is_point_to_point and decoded.fingerprint.operation in ("send", "send_object_list")
