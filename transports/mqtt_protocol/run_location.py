"""Before the first frame: through which broker the ranks of a run meet, and what the run is called.

A broker that the address names, or the one that keeps the store, is what everybody takes. Otherwise rank 0
starts the embedded broker, for the ranks of one host, and its card says so to all.
"""

from __future__ import annotations

import json
import os
import socket
import warnings
from typing import NamedTuple

from transports import job, rendezvous
from transports.broker import launch
from transports.clock import Clock, Deadline
from transports.contract import Store
from transports.mqtt_protocol import address as addresses
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.peer_table import Card


class RunLocation(NamedTuple):
    """Where a run meets; `broker` is the process, for the rank that has started it."""

    base: str  # of all topics
    place: Address
    broker: launch.BrokerProcess | None


def meet(
    rank: int, world_size: int, place: Address, store: Store, clock: Clock, deadline: Deadline
) -> tuple[RunLocation, dict[int, Card]]:
    """All ranks of a world exchange cards."""
    if not place.host:
        place = getattr(rendezvous.innermost(store), "place", place)  # the broker behind an MQTT store
    broker = launch.start() if rank == 0 and not place.host else None
    try:
        shown = broker.address if broker is not None else place.shown if place.host else ""
        # A part of all topics that no other run has, with the job's id before it; and the mark of a new life.
        run = "-".join(filter(None, (job.here(world_size).plain_id, os.urandom(8).hex())))
        mark, where = (int.from_bytes(os.urandom(8), "little"), f"{socket.gethostname()}, process {os.getpid()}")
        text = json.dumps([mark, where, run, shown]).encode()
        found = rendezvous.exchange(store, "mqtt", rank, world_size, text, clock, deadline.left())
        cards = [Card(*json.loads(card)) for card in found]
        if not place.host:
            there = addresses.parse(cards[0].broker)
            place = place._replace(host=there.host, port=there.port)
        base = "/".join(filter(None, ("mtd", place.run, cards[0].run)))
        return RunLocation(base, place, broker), dict(enumerate(cards))
    except BaseException:
        if broker is not None:
            broker.stop()
        raise


def warn_if_in_clear(place: Address) -> None:
    if place.is_in_clear:
        warnings.warn(
            f"{place.shown} is not encrypted: whoever is on the way can read the ranks' messages "
            "(though not change them) and the broker's password; add ?tls=1 to the address",
            RuntimeWarning,
            stacklevel=4,
        )
