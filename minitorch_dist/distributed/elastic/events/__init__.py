"""Things that happen to a job, written as lines of JSON by Python's logging.

    record(Event("epoch", EventSource.WORKER, metadata={"number": 3}), "console")

A destination is a name of a `logging.Handler`; put your own into `destinations`. Nothing goes anywhere by default.
"""

from __future__ import annotations

import functools
import json
import logging
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

Value = str | int | float | bool | None

destinations: dict[str, logging.Handler] = {
    "console": logging.StreamHandler(),
    "dynamic_rendezvous": logging.NullHandler(),
    "null": logging.NullHandler(),
}


class EventSource(StrEnum):
    """The source of an event."""

    AGENT = "AGENT"
    WORKER = "WORKER"


class NodeState(StrEnum):
    """How far a node is in a rendezvous."""

    INIT = "INIT"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"


@dataclass
class Event:
    """Something that happened."""

    name: str
    source: EventSource
    timestamp: int = 0
    metadata: dict[str, Value] = field(default_factory=dict)

    def serialize(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def deserialize(data: str | Event) -> Event:
        if isinstance(data, Event):
            return data
        said: dict[str, Any] = json.loads(data)
        return Event(**said | {"source": EventSource[said["source"]]})

    def __str__(self) -> str:
        return self.serialize()


@dataclass
class RdzvEvent:
    """Something that happened while nodes met."""

    name: str
    run_id: str
    message: str
    hostname: str
    pid: int
    node_state: NodeState
    master_endpoint: str = ""
    rank: int | None = None
    local_id: int | None = None
    error_trace: str = ""

    def serialize(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def deserialize(data: str | RdzvEvent) -> RdzvEvent:
        if isinstance(data, RdzvEvent):
            return data
        said: dict[str, Any] = json.loads(data)
        return RdzvEvent(**said | {"node_state": NodeState[said["node_state"]]})

    def __str__(self) -> str:
        return self.serialize()


def get_logging_handler(destination: str = "null") -> logging.Handler:
    """The handler of events that are recorded under this name."""
    try:
        return destinations[destination]
    except KeyError:
        raise KeyError(
            f"{destination!r} is none of the destinations {list(destinations)}"
        ) from None


def record(event: Event, destination: str = "null") -> None:
    """Tell the destination."""
    _logger(destination).info(event.serialize())


def record_rdzv_event(event: RdzvEvent) -> None:
    """Tell those who listen to rendezvous."""
    _logger("dynamic_rendezvous").info(event.serialize())


@functools.cache
def _logger(destination: str) -> logging.Logger:
    logger = logging.getLogger(f"torchelastic-events-{destination}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(get_logging_handler(destination))
    return logger
