"""A schedule on a board: a send is a notice that is put up, a receive is a look at it.

Where ranks share memory (`transports.board`), nobody needs to be sent anything. The same steps are
read in another way:

    Send, Exchange        put the chunk up in one's own slot, once, whoever is to read it
    Receive, Exchange     look at it in the sender's slot: copy it from there, or add it from there

A chunk is put up as soon as it has the values that somebody is to see. Data that a rank puts up together
are an *event* of that rank, and all that others wait for are events. So the direct all_gather of p ranks,
p-1 messages from each, is one event and p-1 looks; the two-shot all_reduce is two events; and a ring is
still a ring.

    all_gather by `direct`, rank 1 of 3         put up 1    look at rank 0's 0    look at rank 2's 2

Order of addition, chunks and results are those of the schedule: this is the same data, and `bill`
draws up what it costs so. The actions of a rank follow from its own steps and, since it must know where the
others have put things, from theirs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.distributed.schedules.steps import PlainStep

NOTHING: Final = -1  # the "chunk" of a message without content


class BoardWrite(NamedTuple):
    """Put these chunks up, each at its place, and say that the event has come."""

    event: int
    chunks: tuple[tuple[int, int], ...]  # (place, chunk)


class BoardRead(NamedTuple):
    """Wait for an event of `source`, then copy (`reduce`: add) what is at its place into a chunk."""

    source: int
    event: int
    place: int
    chunk: int
    reduce: bool


class BoardCopy(NamedTuple):
    """Copy or add a chunk of one's own."""

    into: int
    of: int
    reduce: bool


Act: TypeAlias = BoardWrite | BoardRead | BoardCopy


class _Own(NamedTuple):
    """The data that a rank puts up, by its own steps alone."""

    posts: dict[int, tuple[BoardWrite, ...]]  # by the step before which they belong
    sent: dict[int, list[list[tuple[int, int, int]]]]  # messages to each: (event, place, chunk)
    places: int
    events: int


def _own(schedule: Schedule, rank: int, size: int, root: int | None) -> _Own:
    """Follow the rank's steps: when does which chunk get which values, and who is sent them?"""
    made: dict[int, list[int]] = defaultdict(lambda: [0])  # of a chunk: after how many steps
    heard = 0
    wanted: list[tuple[int, int, int]] = []  # (step, chunk, version) in order
    messages: list[tuple[int, list[tuple[int, int]]]] = []
    for at, step in enumerate(schedule.plain(rank, size, root)):
        if step.to is not None:
            content = [(chunk, len(made[chunk])) for chunk in step.sent] or [(NOTHING, heard)]
            wanted += [(at, *item) for item in content]
            messages.append((step.to, content))
        if step.source is not None:
            heard = at + 1
        for chunk in step.taken:
            made[chunk].append(at + 1)
    return _events(wanted, messages, made)


def _events(
    wanted: list[tuple[int, int, int]], messages: list[tuple[int, list[tuple[int, int]]]], made: dict[int, list[int]]
) -> _Own:
    """Put up together what can be, as soon as the last of it is there."""

    def there(chunk: int, version: int) -> int:
        return version if chunk == NOTHING else made[chunk][version - 1]

    up: dict[tuple[int, int], tuple[int, int]] = {}  # (chunk, version): (event, place)
    posts: dict[int, list[BoardWrite]] = defaultdict(list)
    events = places = 0
    for at, chunk, version in wanted:
        if (chunk, version) in up:
            continue
        now = []
        for _, other, of in wanted:
            if (other, of) not in up and there(other, of) <= at:
                up[other, of] = events, places
                now.append((places, other))
                places += 1
        when = max(there(c, v) for (c, v), (event, _) in up.items() if event == events)
        posts[when].append(BoardWrite(events, tuple(item for item in now if item[1] != NOTHING)))
        events += 1
    sent: dict[int, list[list[tuple[int, int, int]]]] = defaultdict(list)
    for to, content in messages:
        sent[to].append([(*up[item], item[0]) for item in content])
    return _Own({when: tuple(found) for when, found in posts.items()}, sent, places, events)


class BoardSteps(NamedTuple):
    """The actions of one rank, and how many places and events the busiest rank has."""

    acts: tuple[Act, ...]
    places: int
    events: int


@lru_cache(maxsize=256)
def _all(schedule: Schedule, size: int, root: int | None) -> tuple[_Own, ...]:
    return tuple(_own(schedule, rank, size, root) for rank in range(size))


def _with_messages(
    schedule: Schedule, rank: int, size: int, root: int | None
) -> Iterator[tuple[PlainStep, list[tuple[int, int, int]]]]:
    """The steps of a rank, and what is put up for it in each: (event, place, chunk)."""
    everybody, heard = _all(schedule, size, root), Counter[int]()
    for step in schedule.plain(rank, size, root):
        message: list[tuple[int, int, int]] = []
        if step.source is not None:
            message = everybody[step.source].sent[rank][heard[step.source]]
            heard[step.source] += 1
        yield step, message


@lru_cache(maxsize=1024)
def program(schedule: Schedule, rank: int, size: int, root: int | None) -> BoardSteps:
    """The actions of `rank` on a board."""
    everybody = _all(schedule, size, root)
    acts: list[Act] = []
    for at, (step, message) in enumerate(_with_messages(schedule, rank, size, root)):
        acts += everybody[rank].posts.get(at, ())
        if step.source is not None:
            for (event, place, _), chunk in zip(message, step.taken or [NOTHING], strict=True):
                acts.append(BoardRead(step.source, event, place, chunk, step.reduce))
        elif step.is_own:
            acts.append(BoardCopy(step.taken[0], step.sent[0], step.reduce))
    places = max(one.places for one in everybody)
    return BoardSteps(tuple(acts), places, max(one.events for one in everybody))


@lru_cache(maxsize=1024)
def is_fit(schedule: Schedule, size: int, root: int | None) -> bool:
    """Whether a board will do, so that what is cut into rounds is cut alike by all: a chunk goes into
    one of the same size; and in an all_to_all, whose blocks differ, nothing is passed on."""
    total = schedule.total(size)
    if schedule.collective == "all_to_all":
        return all(one.events <= 1 for one in _all(schedule, size, root))
    for rank in range(size):
        for step, message in _with_messages(schedule, rank, size, root):
            out = [chunk % total for _, _, chunk in message if chunk != NOTHING]
            if step.source is not None and out != [chunk % total for chunk in step.taken]:
                return False
    return True


def bill(schedule: Schedule, size: int, nbytes: int, links: Links, root: int | None = None) -> int:
    """Picoseconds until the last rank is done. They are α for each event put up and each one waited for, β for
    each byte copied, and γ for each byte added where it stands.
    """
    sizes = (schedule.sizes(size, nbytes)).tolist() or [0]
    programs = [program(schedule, rank, size, root) for rank in range(size)]
    clocks, at = [0] * size, [0] * size
    come: dict[tuple[int, int], int] = {}
    busy = True
    while busy:
        busy = False
        for rank, (acts, _, _) in enumerate(programs):
            while at[rank] < len(acts):
                act = acts[at[rank]]
                if isinstance(act, BoardRead) and (act.source, act.event) not in come:
                    break
                clocks[rank] = _after(act, rank, clocks[rank], come, sizes, links)
                at[rank] += 1
                busy = True
    assert all(done == len(p.acts) for done, p in zip(at, programs, strict=True)), schedule
    return max(clocks)


def _after(act: Act, rank: int, clock: int, come: dict[tuple[int, int], int], sizes: Any, links: Links) -> int:
    """The rank's clock after this act."""

    def count(chunk: int) -> int:
        return 0 if chunk == NOTHING else int(sizes[chunk % len(sizes)])

    if isinstance(act, BoardWrite):
        clock += links.alpha + links.beta * sum(count(chunk) for _, chunk in act.chunks)
        come[rank, act.event] = clock
    elif isinstance(act, BoardRead):
        each = links.gamma if act.reduce else links.beta
        clock = max(clock, come[act.source, act.event]) + links.alpha + each * count(act.chunk)
    else:
        each = links.gamma if act.reduce else links.beta
        clock += each * count(act.into)
    return clock
