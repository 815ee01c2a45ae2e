"""Timelines as a page: one rank of each role, and the critical path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from mtd.pages import step_page
from mtd.timelines import critical_path, words
from mtd.timelines.roles import Timelines
from mtd.timelines.timeline import AwaitedSpan, ComputedSpan, Key, RankTimeline
from transports.quantities import in_words

MOST_ROLES: Final = 16
GIB: Final = 1 << 30
Moving = Mapping[Key, int]  # by collective, since when it moves: its last rank has come


def page(
    lines: Timelines,
    title: str,
    said: Sequence[str] = (),
    room: Callable[[int], tuple[int | None, int | None]] = lambda rank: (None, None),
    tables: Sequence[step_page.PageTable] = (),
    notes: Sequence[str] = (),
    marks: Callable[[int], Sequence[tuple[int, str]]] = lambda rank: (),
) -> str:
    """`room`: how many bytes a rank's device has, and how many were held at the peak. `marks`: the instants that a
    rank's program has named."""
    moving: dict[Key, int] = {}
    for line in lines.ranks:
        for key, span in line.collectives.items():
            moving[key] = max(moving.get(key, 0), span.began)
    by_rank = {line.rank: line for line in lines.ranks}
    lanes = []
    for role in lines.roles[:MOST_ROLES]:
        line = by_rank[role[0]]
        has, peak = room(line.rank)
        name = _name(role) + ("" if peak is None else f"; {peak / GIB:.1f} GiB at the peak")
        program, beside = [*_program(line, by_rank, moving)], [*_beside(line, moving)]
        lanes.append(step_page.LaneOfRole(name, program, beside, line.memory, has, [*marks(line.rank)]))
    path, end = lines.critical_path, max(line.end for line in lines.ranks)
    more = len(lines.roles) - len(lanes)
    left_out = [f"{more} more roles are not shown."] if more > 0 else []
    return step_page.html(
        title, said, end, lanes, [*map(_chain_part, path.parts)], words.told(path), tables, [*notes, *left_out]
    )


def _name(role: Sequence[int]) -> str:
    if len(role) == 1:
        return f"rank {role[0]}"
    others = ", ".join(map(str, role[1:5])) + (" …" if len(role) > 5 else "")
    count = "1 rank that does" if len(role) == 2 else f"{len(role) - 1} ranks that do"
    return f"rank {role[0]}, and {count} the same ({others})"


def _program(line: RankTimeline, by_rank: Mapping[int, RankTimeline], moving: Moving) -> Iterator[step_page.StepSpan]:
    for span in line.spans():
        if isinstance(span, ComputedSpan):
            within = f" in {span.module}" if span.module else ""
            yield step_page.StepSpan(span.start, span.end, step_page.COMPUTING, f"{span.name}{within}")
            continue
        began, text = _awaited(span, line, by_rank, moving)
        middle = min(max(began, span.start), span.end)
        if middle > span.start:
            yield step_page.StepSpan(span.start, middle, step_page.WAITING, f"until others come to {text}")
        if span.end > middle:
            yield step_page.StepSpan(middle, span.end, step_page.EXPOSED, text)


def _awaited(
    span: AwaitedSpan, line: RankTimeline, by_rank: Mapping[int, RankTimeline], moving: Moving
) -> tuple[int, str]:
    """Since when it moved what the program waited for, and what that is."""
    if span.key is None:
        return span.end, "what its own worker does"
    if span.is_message:
        sender = by_rank.get(span.key[0])
        sent = None if sender is None else sender.sent.get(span.key)
        return (span.end if sent is None else sent.departed), f"a message from rank {span.key[0]}"
    own = line.collectives.get(span.key)
    if own is None:
        return span.end, "a collective"
    return moving[span.key], _named(own.name, own.owner)


def _named(name: str, owner: str) -> str:
    return f"{name} of {owner}" if owner else name


def _beside(line: RankTimeline, moving: Moving) -> Iterator[step_page.StepSpan]:
    """Collectives that the program did not wait for at once: while they move."""
    latest = 0
    for key, span in sorted(line.collectives.items(), key=lambda item: item[1].began):
        start = max(moving[key], span.began, latest)
        if span.issued is not None and span.ended > start:
            latest = span.ended
            yield step_page.StepSpan(start, span.ended, step_page.HIDDEN, _named(span.name, span.owner))


def _chain_part(part: critical_path.PathPart) -> step_page.StepSpan:
    kinds = {critical_path.COMPUTING: step_page.COMPUTING, critical_path.OTHER: step_page.WAITING}
    at = f"on rank {part.rank}, for {in_words(part.picos)}"
    if part.kind == critical_path.MESSAGE:
        text = f"a message from {part.owner}"
    elif part.kind == critical_path.COMPUTING:
        text = f"{part.name} in {part.owner} {at}" if part.owner else f"{part.name} {at}"
    else:
        text = f"{_named(part.name or 'nothing that was noted', part.owner)}, whose last rank is {part.rank}"
    return step_page.StepSpan(part.start, part.end, kinds.get(part.kind, step_page.EXPOSED), text)
