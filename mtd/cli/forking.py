"""What if this message had come first? The same run again, in which it does.

    run = journal.read("run.mtd")                 of sim.run(train, 4, journal="run.mtd")
    sim.come_first(run, 57)                       the faults that make event 57's message come first
    sim.fork(train, run, 57, 4, net=net, …)       the run with them

Of two messages to one rank either may come first, if neither is a cause of the other: the wires
decide. So those that came before it while it was on its way are late by as much as it took. Messages
of one sender keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from minitorch_dist.distributed.journal import Journal, Message
from minitorch_dist.sim.report import Report
from minitorch_dist.sim.runner import run as simulate
from transports.faults.plans import Fault, Strike

T = TypeVar("T")


def come_first(run: Journal, event: int) -> list[Fault]:
    """Delays of the messages that this event's (a send or a receive) was overtaken by.

    ValueError if the event has no message, or nothing came before it that could have come later.
    """
    chosen = _message_of(run, event)
    assert chosen.receive is not None
    numbers: dict[tuple[int, int], int] = {}
    late: list[Fault] = []
    for message in run.messages:  # by departure, as the network counts them
        pair = message.send.rank, message.send.peer
        number = numbers[pair] = numbers.get(pair, -1) + 1
        is_rival = (
            message.send.peer == chosen.send.peer
            and message.send.rank != chosen.send.rank
            and message.receive is not None
            and chosen.departed < message.arrived <= chosen.arrived
        )
        if is_rival:
            span = chosen.arrived - message.arrived + 1
            late.append(Strike("delay", span=span, src=pair[0], dst=pair[1], number=number))
    if not late:
        raise ValueError(
            f"nothing came to rank {chosen.send.peer} while this was on its way, so it came first "
            f"already: {chosen.send}"
        )
    return late


def _message_of(run: Journal, event: int) -> Message:
    if not run.is_virtual:
        raise ValueError("only a simulated run can be told otherwise; this one was real")
    found = run.events[event]
    for message in run.messages:
        if message.receive is not None and (message.send is found or message.receive is found):
            return message
    raise ValueError(f"this is no message that was received: {found}")


def fork(
    fn: Callable[..., T],
    run: Journal,
    event: int,
    world_size: int,
    args: Sequence[Any] = (),
    *,
    faults: Sequence[Any] = (),
    **how: Any,
) -> Report[T]:
    """Run again with all that was said then (as for `sim.run`), but let this message come first."""
    return simulate(fn, world_size, args, faults=[*faults, *come_first(run, event)], **how)
