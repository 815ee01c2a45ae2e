"""Schedules as text: the chunks that each rank holds after each round, and when each message is under way.

    chunk_matrix(bruck.all_gather, 3)              space_time(chain.broadcast, 3)

             at first   1       2                  rank 0  │▒▒▒▒▒▒▒▒ │
    rank 0   0 · ·      0 1 ·   0 1 2              rank 1  │░███████▒│
    rank 1   · 1 ·      · 1 2   0 1 2              rank 2  │ ░░░░░░░░│
    rank 2   · · 2      0 · 2   0 1 2

They are drawn from a replay, so they show what happens and not what was meant.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules.links import COUNTING, Links
from minitorch_dist.distributed.schedules.proof import Labels
from minitorch_dist.distributed.schedules.replay import Replay, ReplayedMessage
from minitorch_dist.distributed.schedules.schedule import Schedule


def rounds_of(
    schedule: Schedule, size: int, root: int | None = None
) -> list[list[ReplayedMessage]]:
    """The messages by the round in which they land, each taking one round."""
    replay = Replay(schedule, size, size, root=root, links=COUNTING).run()
    rounds: list[list[ReplayedMessage]] = [[] for _ in range(replay.time)]
    for event in replay.events:
        rounds[event.end - 1].append(event)
    return rounds


def chunk_matrix(schedule: Schedule, size: int, root: int | None = None) -> str:
    """A row per rank, a column per round: whose contributions are in each of its chunks.

    `·` is a chunk of which a rank holds nothing, `*` one that holds every rank.
    """
    history = _History(schedule, size, root or 0)
    replay = Replay(schedule, size, size, root=root, links=COUNTING, contents=history)
    history.replay = replay
    replay.run()
    columns = [history.column(time) for time in range(replay.time + 1)]
    heads = ["at first", *map(str, range(1, replay.time + 1))]
    widths = [max(len(h), *map(len, column)) for h, column in zip(heads, columns, strict=True)]
    lines = [f"{schedule}, {size} ranks", ""]
    lines.append("         " + "   ".join(h.ljust(w) for h, w in zip(heads, widths, strict=True)))
    for rank in range(size):
        cells = [column[rank].ljust(w) for column, w in zip(columns, widths, strict=True)]
        lines.append(f"rank {rank:<2}  " + "   ".join(cells))
    return "\n".join(line.rstrip() for line in lines)


class _History(Labels):
    """Labels that remember when each chunk became what it is."""

    def __init__(self, schedule: Schedule, size: int, root: int) -> None:
        super().__init__(schedule, size, root)
        self.replay: Replay | None = None
        self.changes: list[tuple[int, int, int, str]] = []
        for rank in range(size):
            for chunk in range(self.total):
                self.changes.append((0, rank, chunk, self._text(rank, chunk)))

    def put(self, rank: int, chunks: list[int], message: object, source: int, reduce: bool) -> None:
        super().put(rank, chunks, message, source, reduce)
        for chunk in chunks:
            self._changed(rank, chunk)

    def combine(self, rank: int, into: int, of: int, reduce: bool) -> None:
        super().combine(rank, into, of, reduce)
        self._changed(rank, into)

    def _changed(self, rank: int, chunk: int) -> None:
        assert self.replay is not None
        if chunk < self.total:
            now = self.replay.finish[rank]
            self.changes.append((now, rank, chunk, self._text(rank, chunk)))

    def column(self, time: int) -> list[str]:
        """One cell per rank: its chunks at this time."""
        found: dict[tuple[int, int], str] = {}
        for at, rank, chunk, text in self.changes:
            if at <= time:
                found[rank, chunk] = text
        return [
            " ".join(found[rank, chunk] for chunk in range(self.total)) for rank in range(self.size)
        ]

    def _text(self, rank: int, chunk: int) -> str:
        counts = self.held[rank].get(chunk)
        if counts is None:
            return "·"
        if self.size > 1 and (counts == 1).all():
            return "*"
        return "".join(_digit(peer) * int(times) for peer, times in enumerate(counts) if times)


def _digit(rank: int) -> str:
    return "0123456789abcdefghijklmnopqrstuvwxyz"[rank] if rank < 36 else f"({rank})"


def space_time(
    schedule: Schedule,
    size: int,
    nbytes: int = 0,
    links: Links | None = None,
    root: int | None = None,
    width: int = 60,
) -> str:
    """A line per rank, time to the right: `▒` while it sends, `░` while it receives, `█` both.

    Without `links` every message takes one unit, and `nbytes` do not matter.
    """
    count = nbytes or size
    replay = Replay(schedule, size, count, root=root, links=links or COUNTING).run()
    total = max(replay.time, 1)
    columns = min(width, total) if links is None else width
    busy = [[0] * columns for _ in range(size)]
    for event in replay.events:
        long = replay.links.occupancy(event.source, event.to, event.nbytes)
        _mark(busy[event.source], event.start, event.start + long, total, 1)
        _mark(busy[event.to], event.end - long, event.end, total, 2)
    unit = "1 column is 1 round" if links is None else f"{total / 1e6:.2f} µs in all"
    lines = [f"{schedule}, {size} ranks: {unit}", ""]
    lines += [
        f"rank {rank:<2} │{''.join(' ▒░█'[b] for b in row)}│" for rank, row in enumerate(busy)
    ]
    return "\n".join(lines)


def _mark(row: list[int], start: int, stop: int, total: int, bit: int) -> None:
    """Set a bit in the columns of this span of time; at least in one."""
    first = start * len(row) // total
    last = max(first + 1, -(-stop * len(row) // total))
    for column in range(first, min(last, len(row))):
        row[column] |= bit


def messages(schedule: Schedule, size: int, root: int | None = None) -> str:
    """The rounds as a list: which chunks each rank sends to which."""
    lines = [f"{schedule}, {size} ranks"]
    for number, events in enumerate(rounds_of(schedule, size, root), 1):
        said = [
            f"{event.source} ─{_chunks(event.chunks)}{'+' if event.reduce else ''}► {event.to}"
            for event in sorted(events, key=lambda event: event.source)
        ]
        lines.append(f"round {number:<3} " + "   ".join(said))
    return "\n".join(lines)


def _chunks(numbers: list[int]) -> str:
    return ",".join(map(str, numbers)) if len(numbers) <= 4 else f"{len(numbers)} chunks"
