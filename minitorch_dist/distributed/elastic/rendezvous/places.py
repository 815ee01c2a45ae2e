"""Where the nodes of a job meet: a TCPStore that one of them keeps.

c10d    host:port   the first node on that host keeps it; should it go, the next one there does
static  host:port   the node of rank 0 keeps it
        localhost:0 the only node keeps it, on any port that is free
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from minitorch_dist.distributed.elastic.rendezvous.exceptions import RendezvousConnectionError
from transports.clock import SYSTEM
from transports.errors import DistNetworkError, OtherJob
from transports.job import JobCard
from transports.sockets import endpoints
from transports.stores.tcp import LOOPBACK, TCPStore

PORT: Final = 29400  # torch's, where an endpoint names none
PATIENCE: Final = 60.0  # seconds that the store may take to answer, once it is found
ATTEMPT: Final = 2.0  # seconds between two looks at whether we are to stop


@dataclass(frozen=True)
class StorePlace:
    """The node that may keep the store: `keeps` is True, False, or None for "whoever is on that host"."""

    host: str
    port: int
    keeps: bool | None = None

    def __str__(self) -> str:
        return endpoints.shown(self.host, self.port)


def parsed(endpoint: str, port: int = PORT) -> tuple[str, int]:
    """Host and port of `host`, `host:port` or `[::1]:port`."""
    text = endpoint.strip()
    is_bare = text.count(":") > 1 and not text.startswith("[")  # an IPv6 address
    try:
        parts = urlsplit(f"//[{text}]" if is_bare else f"//{text}")
        return parts.hostname or "localhost", port if parts.port is None else parts.port
    except ValueError as error:
        raise ValueError(f"{endpoint!r} is no host:port: {error}") from error


def is_here(host: str) -> bool:
    """Whether a host's name means this machine."""
    if host in LOOPBACK or host == socket.gethostname():
        return True
    with suppress(OSError):
        for *_, where in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
            family = socket.AF_INET6 if ":" in str(where[0]) else socket.AF_INET
            with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.bind((where[0], 0))  # only addresses of ours can be bound to
                return True
    return False


def meet(
    place: StorePlace,
    patience: float,
    should_stop: Callable[[], bool],
    say: Callable[[str], None],
    of: JobCard | None = None,
) -> tuple[TCPStore, bool]:
    """The store, and whether we keep it; OtherJob where ranks of another job, and no agents, are met there."""
    may_keep = is_here(place.host) if place.keeps is None else place.keeps
    deadline = SYSTEM.deadline(patience)
    has_told = False
    while True:
        if may_keep:
            try:
                return TCPStore(place.host, place.port, is_master=True, of=of), True
            except OtherJob:
                raise
            except DistNetworkError as error:
                if place.keeps:
                    raise RendezvousConnectionError(str(error)) from error
        try:
            store = TCPStore(place.host, place.port, timeout=ATTEMPT, of=of)
            store.set_timeout(PATIENCE)
            return store, False
        except OtherJob:
            raise
        except DistNetworkError as error:
            if deadline.is_over() or should_stop():
                raise RendezvousConnectionError(
                    f"nobody answered at {place} within {deadline.elapsed():.0f} s ({error}). Is the "
                    "node there running (its --node-rank is 0, or its host that of --rdzv-endpoint)?"
                ) from error
            if not has_told:
                has_told = True
                say(f"waiting for the node at {place}")
