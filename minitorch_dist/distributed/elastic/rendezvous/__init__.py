"""Nodes join and leave a job. Read `state` first, then `job_log`, then `membership`.

`places` finds the store in which the nodes meet; `exceptions` has what can go wrong.
"""

from __future__ import annotations

from minitorch_dist.distributed.elastic.rendezvous.exceptions import (
    RendezvousClosedError as RendezvousClosedError,
    RendezvousConnectionError as RendezvousConnectionError,
    RendezvousError as RendezvousError,
    RendezvousStateError as RendezvousStateError,
    RendezvousTimeoutError as RendezvousTimeoutError,
)
