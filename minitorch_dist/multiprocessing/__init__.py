"""Python's `multiprocessing` and torch's additions: `spawn`, `start_processes`.

Tensors travel between processes by value: a pipe carries the array's bytes. torch shares the memory of all that it sends.
"""

from __future__ import annotations

from multiprocessing import *  # noqa: F403

from minitorch_dist.inventory import not_offered
from minitorch_dist.multiprocessing.spawn import (
    ProcessContext as ProcessContext,
    ProcessException as ProcessException,
    ProcessExitedException as ProcessExitedException,
    ProcessRaisedException as ProcessRaisedException,
    spawn as spawn,
    start_processes as start_processes,
)

not_offered.guard(globals())
