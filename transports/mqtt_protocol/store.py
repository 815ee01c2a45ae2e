"""A store for machines that reach nothing but a broker: rank 0 keeps it, the others ask through MQTT.

    MQTTStore("mqtt://host:port/name", rank=0)        keeps the values, in its own process
    MQTTStore("mqtt://host:port/name", rank=1)        asks

The name separates jobs that share a broker; without one it is "default". The id of a launched job is part of
the topics, so that two such jobs do not meet under one name. Ranks that were started by hand compare their
jobs when they greet. Retained messages alone would be no store: they cannot add, compare, or wait.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from datetime import timedelta
from math import inf

from transports import job
from transports.clock import SYSTEM, Clock
from transports.errors import DistStoreError
from transports.job import JobCard
from transports.mqtt_protocol import address as addresses
from transports.mqtt_protocol.store_client import MqttStoreClient
from transports.mqtt_protocol.store_server import Guard, MqttStoreServer
from transports.stores.store import TIMEOUT, Store

NAME = "default"


class MQTTStore(Store):
    """`rank` 0 keeps the store; everybody else waits until it does, at most `timeout`."""

    def __init__(
        self,
        address: str,
        rank: int,
        world_size: int | None = None,
        timeout: float | timedelta = TIMEOUT,
        clock: Clock = SYSTEM,
        guard: Guard | None = None,
        of: JobCard | None = None,
    ) -> None:
        """`guard`, where `rank` 0 keeps the store for ranks that it does not trust, says what each may do. `of` is
        the job that the store belongs to, this process's by default."""
        super().__init__(timeout)
        place = addresses.parse(address)
        if not place.host:
            raise ValueError(
                f"{address!r} names no broker, and no rank finds one whose port nobody knows. Run "
                "`python -m transports.broker --port 1883` (or mosquitto) and write mqtt://host:1883"
            )
        self.place, self.rank, self.world_size = place, rank, world_size
        mark = int.from_bytes(os.urandom(8), "little")
        mine = job.here(world_size or 0, rank) if of is None else of
        name = place.run or NAME
        self._end: MqttStoreServer | MqttStoreClient
        if rank == 0:
            self._end = MqttStoreServer(place, name, mark, clock, mine, guard)
        else:
            self._end = MqttStoreClient(place, name, mark, clock, mine)
        self._end.start(clock.deadline(None if self._seconds == inf else self._seconds))
        self._finalizer = weakref.finalize(self, self._end.close)

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        if not self._finalizer.alive:
            raise DistStoreError(f"the store at {self.place.shown} was closed")
        return self._end.command(operation, keys, values, timeout)

    @property
    def mark(self) -> int:
        """The random number by which this end is known."""
        return self._end.mark

    def close(self) -> None:
        """Leave; when rank 0 does, the others' next commands say so."""
        self._finalizer()
