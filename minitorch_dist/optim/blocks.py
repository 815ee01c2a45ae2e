"""Arrays cut into pieces that stay in the processor's cache.

An update rule such as `m += 0.1 * (g - m)` reads best as it stands, but on 25 million parameters
each operation streams whole arrays, temporaries included, through memory. Cut into pieces, the
same lines find everything but the first read in the cache, and the step runs at the speed of the
memory. The rules are element-wise, so cutting changes nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.base import Array

PIECE = 32768  # elements: 128 KiB of float32; the operands of a rule fit in a 1 MiB cache


def blocks(params: Sequence[Array], *columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """For every parameter and what belongs to it: matching pieces, to be written in place.

    What is not an array (a number, None) goes along with every piece. Half precision is computed
    in float32 and rounded once, when the piece is done.
    """
    for row in zip(params, *columns, strict=True):
        p = row[0]
        pieces = (row,) if p.size <= PIECE else _pieces(row)
        if p.dtype in dtypes.HALVES:
            for piece in pieces:
                yield from _widened(piece)
        else:
            yield from pieces


def _pieces(row: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Consecutive runs of memory where all arrays lie in memory in the same order, else rows."""
    p: Array = row[0]
    arrays = [isinstance(a, np.ndarray) for a in row]
    dense = p.flags.c_contiguous or p.T.flags.c_contiguous
    step = PIECE
    if dense and all(a.strides == p.strides for a, is_ in zip(row, arrays, strict=True) if is_):
        row = tuple([a.ravel("K") if is_ else a for a, is_ in zip(row, arrays, strict=True)])
    else:
        step = max(1, PIECE * len(p) // p.size)
    for start in range(0, len(row[0]), step):
        part = slice(start, start + step)
        yield tuple([a[part] if is_ else a for a, is_ in zip(row, arrays, strict=True)])


def _widened(row: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    wide = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in row]
    yield tuple(wide)
    for target, value in zip(row, wide, strict=True):
        if isinstance(target, np.ndarray):
            target[...] = value
