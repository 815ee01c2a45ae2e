"""Ranks that are processes, over loopback."""

from __future__ import annotations

import threading

import pytest

from transports import conformance
from transports.conformance.bench import Tray
from transports.errors import PeerLost
from transports.stores.store import HashStore
from transports.tcp import TcpTransport

ALIVE = [name for name in conformance.CHECKS if not name.startswith("death")]


def make(rank: int, world_size: int, folder: str) -> TcpTransport:
    return TcpTransport(rank, world_size)


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_it_keeps_the_contract_between_threads(world_size: int) -> None:
    """All but death: where a thread ends, its process and so its connections live on."""
    conformance.check(conformance.in_threads(make), [world_size], only=ALIVE)


def test_a_send_loses_its_patience_with_one_who_takes_nothing() -> None:
    store, trays = HashStore(), [Tray(lambda n: True) for _ in range(3)]
    ends = [TcpTransport(rank, 3) for rank in range(3)]
    threads = [
        threading.Thread(target=end.connect, args=(store, tray, 60)) for end, tray in zip(ends, trays, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    ends[0].patience = 0.1
    with pytest.raises(PeerLost, match=r"rank 1 is lost: it took nothing of a message for 0\.1 s"):
        ends[0].send(1, b"", bytes(100_000_000))
    ends[0].progress(5, lambda: bool(trays[0].lost_ranks))
    assert trays[0].lost_ranks == [1]
    with pytest.raises(PeerLost, match="took nothing"):
        ends[0].send(1, b"", b"x")
    while not trays[1].lost_ranks:
        ends[1].progress(5)
    assert "bytes of a message still to come" in str(ends[1]._links[0].lost)
    ends[0].send(2, b"", b"and the others go on")
    for end in ends:
        end.close()


@pytest.mark.slow
@pytest.mark.parametrize("world_size", [2, 3, 5])
def test_it_keeps_the_contract_between_processes(world_size: int) -> None:
    conformance.check(conformance.in_processes(make), [world_size])
