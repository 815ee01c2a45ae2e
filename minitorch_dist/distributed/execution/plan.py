"""What one rank has to do to carry out a schedule: which bytes go where, and what waits for what.

A schedule speaks of chunks; a plan of parts of arrays, in *segments* small enough that one can be
sent on while the next still arrives. It is made once for each schedule, rank and vector, from the
schedule's data alone:

    Post     a receive may be posted as soon as nothing that came before still needs the place it
             goes to; mostly that is long before its message, which then is never copied twice
    Send     needs the receives whose data it passes on, and no others

Nobody's message may fill the memory of a rank that is not ready for it. Where a large exchange sends
and receives the same chunks, both sides take turns by segments. Where many large messages are to be
added into the same chunk one after the other (a tree's root), each is sent when its receiver has
asked for it: a *gate*, an empty message back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import Exchange, Receive, numbered

SEGMENT: Final = 1 << 20  # bytes
EAGER: Final = 1 << 16  # bytes that may arrive unasked, whatever there is room for

Name: TypeAlias = Any  # of an array: "work", ("source", 3), ("slot", 0) …


class Part(NamedTuple):
    """Elements start … stop of an array."""

    name: Name
    start: int
    stop: int


class Post(NamedTuple):
    """Post receive `number`: the next segment of message `step` from `source`."""

    number: int
    source: int
    step: int
    into: tuple[Part, ...]
    operand: tuple[Part, ...]  # what it is added to; () where it is copied
    needs: tuple[int, ...]  # receives that must have arrived before
    opens: bool  # tell the sender that it may send


class Sending(NamedTuple):
    """Send one segment of message `step`."""

    to: int
    step: int
    parts: tuple[Part, ...]
    needs: tuple[int, ...]
    waits: bool  # for the receiver to ask for it


class Local(NamedTuple):
    """Copy or add a chunk of one's own."""

    into: tuple[Part, ...]
    of: tuple[Part, ...]
    operand: tuple[Part, ...]
    needs: tuple[int, ...]


Action: TypeAlias = Post | Sending | Local


class Plan(NamedTuple):
    """The actions of one rank in order, how many receives there are, and the arrays it needs."""

    actions: tuple[Action, ...]
    receives: int
    slots: tuple[int, ...]  # elements of each scratch slot
    lends: bool = False  # ranks are threads: what is large is lent, and not sent (see `lending`)

    def posts(self) -> list[Post]:
        """Its receives, by number."""
        posts = (action for action in self.actions if isinstance(action, Post))
        return sorted(posts, key=lambda post: post.number)


class Vector(NamedTuple):
    """The chunks of one operation as this rank holds them. Hashable, so that plans can be kept.

    `sizes[c]` are the elements of chunk c. The caller's chunks are found in the array "source", or
    with `source_list` in one array ("source", c) each; results in "work" alike. Only chunks in
    `results` are results (None: all); others that arrive go to scratch slots. `in_place`: source
    and work are the same. In an all_to_all the arrays are numbered by peers: ("source", to) and
    ("work", from). `lent`: what is large is not sent, and needs no segments (see `lending`).
    """

    sizes: tuple[int, ...]
    itemsize: int
    in_place: bool = True
    source_list: bool = False
    work_list: bool = False
    results: tuple[int, ...] | None = None
    lent: bool = False


class Segment(NamedTuple):
    """Some whole chunks, or a part of one: (chunk, from, to) in elements of that chunk."""

    pieces: tuple[tuple[int, int, int], ...]


def segments(
    chunks: list[int], sizes: Any, itemsize: int, longest: int = SEGMENT
) -> Iterator[Segment]:
    """Cut a message. Sender and receiver do it alike: it depends on the chunks' sizes only."""
    limit = max(1, longest // itemsize)
    small = EAGER // itemsize
    together: list[tuple[int, int, int]] = []
    filled = 0
    whole = sum(sizes(chunk) for chunk in chunks) <= small
    for chunk in chunks:
        size = sizes(chunk)
        if together and not whole and filled + size > small:
            yield Segment(tuple(together))
            together, filled = [], 0
        if size <= small:
            together.append((chunk, 0, size))
            filled += size
            continue
        for start in range(0, size, limit):
            yield Segment(((chunk, start, min(start + limit, size)),))
    if together or not chunks:
        yield Segment(tuple(together))


@lru_cache(maxsize=4096)
def gated(
    schedule: Schedule,
    rank: int,
    size: int,
    root: int | None,
    sizes: tuple[int, ...],
    itemsize: int,
) -> frozenset[tuple[int, int]]:
    """The large messages, as (source, step), that `rank` has to ask for one by one.

    These are those that are added to what earlier messages from others are added to, if together
    they would take more room than a quarter of the vector (one and a quarter for an all_reduce,
    which needs no scratch).
    """
    if schedule.collective not in ("reduce", "all_reduce", "reduce_scatter"):
        return frozenset()
    total = schedule.total(size)
    last: dict[int, int] = {}
    counts: dict[int, int] = {}
    late: list[tuple[int, int]] = []
    waiting = 0
    for step in schedule.of(rank, size, root):
        if not isinstance(step, Receive | Exchange):
            continue
        source = int(step.source)
        number = counts[source] = counts.get(source, 0) + 1
        into = numbered(step.receive if isinstance(step, Exchange) else step.chunks, total)
        nbytes = sum(sizes[chunk % len(sizes)] for chunk in into) * itemsize
        out = numbered(step.send, total) if isinstance(step, Exchange) else []
        added_before = any(last.get(chunk, source) != source for chunk in into)
        if step.reduce and added_before and nbytes > EAGER and not set(into) & set(out):
            late.append((source, number))
            waiting += nbytes
        last.update(dict.fromkeys(into, source))
    quarters = 5 if schedule.collective == "all_reduce" else 1
    return frozenset(late) if 4 * waiting > quarters * sum(sizes) * itemsize else frozenset()
