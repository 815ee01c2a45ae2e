"""Our transports keep what they declare beyond the seven lines of the contract."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.transports import options
from transports import conformance
from transports.clock import SYSTEM, Clock
from transports.contract import Transport
from transports.file import FileTransport
from transports.queue import QueueTransport
from transports.sim import SimTransport
from transports.tcp import TcpTransport
from transports.virtual import medium
from transports.virtual.clock import VirtualClock
from transports.virtual.network import Network


def simulated(network: Network, meets: bool = False) -> Clock:
    clock = VirtualClock()
    made = medium.attach(clock, network)
    if meets:
        made.meets = lambda message: message.nbytes > 5
    return clock


WIRES: dict[str, tuple[type[Transport], str, Callable[[], Clock]]] = {
    "queue": (QueueTransport, "", lambda: SYSTEM),
    "queue in virtual time": (QueueTransport, "", VirtualClock),
    "file": (FileTransport, "file://{}/world", lambda: SYSTEM),
    "append": (FileTransport, "file://{}/world?mode=append", lambda: SYSTEM),
    "tcp": (TcpTransport, "", lambda: SYSTEM),
    "sim": (SimTransport, "", lambda: simulated(Network())),
    "sim that meets": (SimTransport, "", lambda: simulated(Network(), True)),
    "sim with a window": (SimTransport, "", lambda: simulated(Network(window=100_000))),
}


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
@pytest.mark.parametrize("option", options.OPTIONS)
@pytest.mark.parametrize("wire", WIRES)
def test_it_keeps_what_it_declares(wire: str, option: str, world_size: int) -> None:
    kind, address, clock_of = WIRES[wire]
    clock = clock_of()

    def make(rank: int, size: int, folder: str) -> Transport:
        return kind(rank, size, address.format(folder), clock)

    said = conformance.in_threads(make, clock)(world_size, options.Option(option))
    assert said == [""] * world_size
