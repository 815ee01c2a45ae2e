"""A pipeline as text: a line for each rank, time to the right.

    rank 0  0 1 2 3 . . . . 0 0 1 1 2 2 3 3
    rank 1  . 0 1 2 3 . . 0 0 1 1 2 2 3 3 .

Digits are micro-batches; forward as they are, backward underlined by brackets, idle as dots.
"""

from __future__ import annotations

from minitorch_dist.distributed.pipelining.orders import F
from minitorch_dist.distributed.pipelining.timing import Timing


def drawn(timing: Timing, width: int | None = None) -> str:
    """One cell for each unit of time; forward `3`, backward `(3)`, idle `·`."""
    lines = []
    label = len(f"rank {len(timing.rows) - 1}")
    for rank, row in enumerate(timing.rows):
        cells = [" · "] * timing.total
        for action, begin, end in row:
            number = str(action.microbatch)
            text = f" {number} " if action.kind is F else f"({number})"
            cells[begin:end] = [text] * (end - begin)
        line = f"rank {rank}".ljust(label) + " │" + "".join(cells)
        lines.append(line if width is None else line[:width])
    return "\n".join(lines)
