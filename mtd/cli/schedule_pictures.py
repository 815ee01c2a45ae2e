"""Schedules as text: the chunks that each rank holds after each round.

    chunk_matrix(bruck.all_gather, 3)

             at first   1       2
    rank 0   0 · ·      0 1 ·   0 1 2
    rank 1   · 1 ·      · 1 2   0 1 2
    rank 2   · · 2      0 · 2   0 1 2

They are drawn from a replay, so they show what happens and not what was meant.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules.links import COUNTING
from minitorch_dist.distributed.schedules.proof import Labels
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import Schedule


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
        return [" ".join(found[rank, chunk] for chunk in range(self.total)) for rank in range(self.size)]

    def _text(self, rank: int, chunk: int) -> str:
        counts = self.held[rank].get(chunk)
        if counts is None:
            return "·"
        if self.size > 1 and (counts == 1).all():
            return "*"
        return "".join(_digit(peer) * int(times) for peer, times in enumerate(counts) if times)


def _digit(rank: int) -> str:
    return "0123456789abcdefghijklmnopqrstuvwxyz"[rank] if rank < 36 else f"({rank})"
