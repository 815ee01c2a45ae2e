"""Nodes that join and leave a job; read `state` first, then `ledger`, then `meeting`."""

from __future__ import annotations

from minitorch_dist.distributed.elastic.rendezvous.exceptions import (
    RendezvousClosedError as RendezvousClosedError,
    RendezvousConnectionError as RendezvousConnectionError,
    RendezvousError as RendezvousError,
    RendezvousGracefulExitError as RendezvousGracefulExitError,
    RendezvousStateError as RendezvousStateError,
    RendezvousTimeoutError as RendezvousTimeoutError,
)
