"""Chain: a line of ranks through which the vector flows in pieces.

    broadcast of pieces a b c, size 4, root 0
                     time   1      2      3      4      5
        0 ─► 1              a      b      c
        1 ─► 2                     a      b      c
        2 ─► 3                            a      b      c

                 rounds       bytes a rank sends    total messages     (k pieces)
    broadcast    p-2 + k      n                     k(p-1)
    reduce       p-2 + k      n                     k(p-1)

With k = sqrt((p-2) n β/α) pieces the time is shortest; for long vectors it comes close to nβ, the
lower bound. reduce runs the chain towards the root, and adds from its far end: rank root-1 first.

Source: the pipeline is folklore; J. Pješivac-Grbović, T. Angskun, G. Bosilca, G. Fagg, E. Gabriel,
J. Dongarra, Performance analysis of MPI collective operations, Cluster Computing 10, 2007,
doi:10.1007/s10586-007-0012-0.
"""

from __future__ import annotations

from minitorch_dist.distributed.schedules.schedule import schedule
from minitorch_dist.distributed.schedules.steps import Rank, Receive, Send, Steps


def one_per_piece(size: int, pieces: int) -> int:
    return pieces


@schedule(chunks=one_per_piece, pieces=8)
def broadcast(rank: Rank, size: int, root: int = 0, pieces: int = 8) -> Steps:
    place = (rank - root) % size
    for time in range(pieces + size - 2):
        out = time - place  # this rank is `place` steps behind the root
        into = out + 1
        yield Send(to=(rank + 1) % size, chunks=out, only=(out >= 0) & (out < pieces) & (place < size - 1))
        yield Receive(source=(rank - 1) % size, chunks=into, only=(into >= 0) & (into < pieces) & (place > 0))


@schedule(chunks=one_per_piece, pieces=8)
def reduce(rank: Rank, size: int, root: int = 0, pieces: int = 8) -> Steps:
    place = (root - rank) % size  # how far from the root; the far end begins
    for time in range(pieces + size - 2):
        out = time - (size - 1 - place)
        into = out + 1
        yield Send(to=(rank + 1) % size, chunks=out, only=(out >= 0) & (out < pieces) & (place > 0))
        yield Receive(
            source=(rank - 1) % size, chunks=into, reduce=True, only=(into >= 0) & (into < pieces) & (place < size - 1)
        )
