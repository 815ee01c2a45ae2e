"""Does a transport keep the contract? A published kit: plain functions, no pytest, any transport.

    from transports import conformance
    conformance.check(conformance.in_threads(lambda rank, size, folder: MyTransport(rank, size)))

`check(launch)` runs every line of the contract (`transports.contract`) in worlds of several sizes,
and raises `NotConforming` with one sentence for each line that is broken.

`launch(world_size, program)` is the only thing the kit needs to know about your medium. It calls
`program(end)` once for each rank, all at the same time, each in a thread or a process of its own. It
returns their results, by rank (None for a rank that died). An `End` (see `bench`) says which rank it is,
makes transports that are not connected yet, holds the store that all share, and dies on demand.
`in_threads` and `in_processes` are such launchers, ready to use.

The checks are in `lines` (what a message is promised) and `endings` (how ranks leave and die); `kit` runs them, and
`check` returns the names of those that were run.
"""

from transports.conformance.bench import End
from transports.conformance.kit import CHECKS, NotConforming, check
from transports.conformance.launchers import in_processes, in_threads

__all__ = ["CHECKS", "End", "NotConforming", "check", "in_processes", "in_threads"]
