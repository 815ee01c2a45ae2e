"""Several ranks of one host share its cores: each gets its part of the linear algebra's threads.

Without this four ranks on two cores would run eight threads of OpenBLAS, which wait for each other by
spinning. The demo's training took 25 times the processor time then. If OMP_NUM_THREADS (or
OPENBLAS_NUM_THREADS) is set, nothing is changed; torchrun's rule is the same, with 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from minitorch_dist.tensors import threads

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def share(ranks: int) -> int:
    """Threads for each of so many ranks on this host."""
    return max(1, (os.cpu_count() or 1) // ranks)


@contextmanager
def shared(ranks: int) -> Iterator[None]:
    """Within the block this process is one of so many ranks, or has them as its threads."""
    if ranks == 1 or any(os.environ.get(name) for name in VARIABLES):
        yield
        return
    before = threads.get_num_threads()
    threads.set_num_threads(share(ranks))
    try:
        yield
    finally:
        threads.set_num_threads(before)
