"""A run's timelines as the nodes of a trace, and those of a picture's scene.

Computing comes after what the program did before, and after what it waited for. A collective or a message that is begun
beside comes after what the program had done by then. So the same nodes can run on another network.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from mtd.timelines.roles import Timelines
from mtd.timelines.timeline import AwaitedSpan, ComputedSpan, Key, RankTimeline
from mtd.traces.chakra import COLLECTIVES, NodeKind, TraceNode

POSTED, OVER, BEGUN, COMPUTING = range(4)  # the order of what happens at one instant
KINDS: Final = sorted(COLLECTIVES, key=len, reverse=True)


class _Begun(NamedTuple):
    """Something that the program began, or waited for until then."""

    at: int
    order: int  # among things of one instant
    key: Key | None
    node: TraceNode | None


def nodes_of(lines: Timelines) -> list[list[TraceNode]]:
    """By rank."""
    return [_of_rank(line) for line in lines.ranks]


def _of_rank(line: RankTimeline) -> list[TraceNode]:
    found: list[TraceNode] = []
    numbers: dict[Key, int] = {}  # of what was begun
    program: tuple[int, ...] = ()  # the next node comes after these
    for begun in sorted(_all_begun(line), key=lambda each: (each.at, each.order)):
        if begun.node is None:
            if begun.key in numbers:
                program = tuple(dict.fromkeys((*program, numbers[begun.key])))
            continue
        number = len(found)
        found.append(replace(begun.node, number=number, after=program))
        if begun.key is not None:
            numbers[begun.key] = number
        if begun.key is None or begun.node.kind == NodeKind.SEND:
            program = (number,)
    return found


def _all_begun(line: RankTimeline) -> Iterator[_Begun]:
    for span in line.spans():
        if isinstance(span, ComputedSpan):
            name = f"{span.name} in {span.module}" if span.module else span.name
            node = TraceNode(0, name, NodeKind.COMPUTE, (), span.start, span.end - span.start)
            yield _Begun(span.start, COMPUTING, None, node)
        elif isinstance(span, AwaitedSpan) and span.key is not None and not span.is_message:
            yield _Begun(span.end, OVER, span.key, None)
    for call in line.collectives.values():
        at = call.began if call.issued is None else call.issued
        name = f"{call.name} of {call.owner}" if call.owner else call.name
        what = kind_of(call.name), call.nbytes, call.group
        node = TraceNode(0, name, NodeKind.COLLECTIVE, (), at, call.ended - at, *what)
        yield _Begun(at, BEGUN, call.key, node)
        if call.issued is None:
            yield _Begun(call.ended, OVER, call.key, None)
    for key, sent in line.sent.items():
        _, to, _, tag, _ = key
        message = "", sent.nbytes, (), to, tag
        node = TraceNode(0, "send", NodeKind.SEND, (), sent.departed, 0, *message)
        yield _Begun(sent.departed, BEGUN, key, node)
    for key, (posted, taken, nbytes) in line.received.items():
        source, _, _, tag, _ = key
        message = "", nbytes, (), source, tag
        node = TraceNode(0, "receive", NodeKind.RECEIVE, (), posted, taken - posted, *message)
        yield _Begun(posted, POSTED, key, node)
        yield _Begun(taken, OVER, key, None)


def kind_of(name: str) -> str:
    """Chakra's collective of ours: `all_gather_into_tensor` is an all_gather. Others count as an all_reduce."""
    return next((known for known in KINDS if name.startswith(known)), "all_reduce")
