"""Ranks that are threads share the garbage collector, which looks for circles after so many new objects.

As processes each rank would have one of its own. Here it looks again and again through the
objects of all others. With 10,000 ranks that was half of the time. With 40,000 it was a fifth, although it
waited 100 times longer. So it waits as many times longer as there are ranks, within bounds; for a single rank
nothing changes. A block within another one does not make it wait still longer.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

FEW, MOST = 8, 4000  # ranks from which on it waits longer; how many times
USUAL = gc.get_threshold()[0]


@contextmanager
def shared(ranks: int) -> Iterator[None]:
    before = gc.get_threshold()
    times = max(1, min(MOST, ranks // FEW))
    if before[0]:  # 0: the program has turned it off
        gc.set_threshold(max(before[0], USUAL * times), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
