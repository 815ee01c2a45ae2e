"""Before the first frame: through which broker the ranks of a run meet, and what the run is called.

A broker that the address names, or the one that keeps the store, is what everybody takes. Otherwise
somebody starts the embedded broker, for the ranks of one host:

    a world of known size       rank 0, whose card says so to all
    one that ranks join         who comes first, or who comes and finds that broker gone; one value in
                                the store, changed all at once, says which run and broker it is now
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
from transports.errors import ConnectError
from transports.mqtt_protocol import address as addresses
from transports.mqtt_protocol.address import Address
from transports.mqtt_protocol.peer_table import Card

GROUND = "mqtt/ground"
KNOCK = 2.0  # seconds in which a broker on this host takes a connection


class RunLocation(NamedTuple):
    """Where a run meets; `broker` is the process, for the rank that has started it."""

    base: str  # of all topics
    place: Address
    broker: launch.BrokerProcess | None
    is_embedded: bool


def our_card(run: str = "", broker: str = "") -> Card:
    """A new life of this process."""
    mark = int.from_bytes(os.urandom(8), "little")
    return Card(mark, f"{socket.gethostname()}, process {os.getpid()}", run, broker)


def meet(
    rank: int, world_size: int, place: Address, store: Store, clock: Clock, deadline: Deadline
) -> tuple[RunLocation, dict[int, Card]]:
    """All ranks of a world exchange cards."""
    place = place if place.host else _broker_of(store) or place
    broker = launch.start() if rank == 0 and not place.host else None
    try:
        shown = broker.address if broker is not None else place.shown if place.host else ""
        mine = our_card(_new_run(world_size), shown)
        text = json.dumps([mine.mark, mine.where, mine.run, mine.broker]).encode()
        found = rendezvous.exchange(
            store, "mqtt", rank, world_size, text, clock, deadline.left()
        )  # fmt: skip
        cards = [Card(*json.loads(card)) for card in found]
        is_embedded = not place.host
        if is_embedded:
            place = _at(place, cards[0].broker)
        return RunLocation(_base(place, cards[0].run), place, broker, is_embedded), dict(
            enumerate(cards)
        )
    except BaseException:
        if broker is not None:
            broker.stop()
        raise


def location(place: Address, store: Store) -> RunLocation:
    """Where a world meets that ranks join one by one."""
    place = place if place.host else _broker_of(store) or place
    while True:
        known = store.compare_set(GROUND, "", "[]")
        match json.loads(known):
            case [str(run), ""] if place.host:
                return RunLocation(_base(place, run), place, None, False)
            case [str(run), str(broker), str(host)] if not place.host:
                there = _at(place, broker)
                if host != socket.gethostname():
                    raise ConnectError(
                        f"the ranks of this world meet at a broker that was started on {host} and serves "
                        f"that host only; this is {socket.gethostname()}. Name a broker that all reach: "
                        "mqtt://host:port"
                    )
                if _listens(there):
                    return RunLocation(_base(there, run), there, None, True)
        ours = None if place.host else launch.start()
        run = _new_run(0)
        said = [run, ""] if ours is None else [run, ours.address, socket.gethostname()]
        wanted = json.dumps(said).encode()
        if store.compare_set(GROUND, known, wanted) == wanted:
            there = place if ours is None else _at(place, ours.address)
            return RunLocation(_base(there, run), there, ours, ours is not None)
        if ours is not None:
            ours.stop()  # somebody was faster


def _new_run(world_size: int) -> str:
    """The part of all topics that no other run has, with the job's id before it."""
    return "-".join(filter(None, (job.here(world_size).plain_id, os.urandom(8).hex())))


def warn_if_in_clear(place: Address) -> None:
    if place.is_in_clear:
        warnings.warn(
            f"{place.shown} is not encrypted: whoever is on the way can read the ranks' messages "
            "(though not change them) and the broker's password; add ?tls=1 to the address",
            RuntimeWarning,
            stacklevel=4,
        )


def _at(place: Address, broker: str) -> Address:
    there = addresses.parse(broker)
    return place._replace(host=there.host, port=there.port)


def _base(place: Address, run: str) -> str:
    return "/".join(filter(None, ("mtd", place.run, run)))


def _listens(place: Address) -> bool:
    try:
        socket.create_connection((place.host, place.port), timeout=KNOCK).close()
    except OSError:
        return False
    return True


def _broker_of(store: Store) -> Address | None:
    """The broker behind an MQTT store, however often it was given a prefix."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    place = getattr(store, "place", None)
    return place if isinstance(place, Address) else None
