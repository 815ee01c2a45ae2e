"""Ranks that are threads."""

from __future__ import annotations

import threading

import pytest

from transports import conformance
from transports.conformance.bench import Tray, Tub
from transports.errors import ConnectError, PeerLost
from transports.queue import QueueTransport
from transports.stores.store import HashStore


def make(rank: int, world_size: int, folder: str) -> QueueTransport:
    return QueueTransport(rank, world_size)


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_it_keeps_the_contract(world_size: int) -> None:
    conformance.check(conformance.in_threads(make), [world_size])


def connect(ends: list[QueueTransport], store: HashStore) -> list[Tray]:
    """Connect all, each in a thread of its own that then ends."""
    trays = [Tray(lambda n: True) for _ in ends]
    threads = [
        threading.Thread(target=end.connect, args=(store, tray, 60), name=f"rank {end.rank}")
        for end, tray in zip(ends, trays, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return trays


def test_a_thread_that_ended_is_named() -> None:
    ends = [QueueTransport(rank, 2) for rank in range(2)]
    trays = connect(ends, HashStore())
    with pytest.raises(PeerLost, match="rank 1 is lost: its thread 'rank 1' ended without close"):
        ends[0].send(1, b"", b"x")
    assert trays[0].lost_ranks == [1]
    assert repr(ends[0]) == "<QueueTransport rank 0 of 2, open, 1 deliveries, lost [1]>"
    for end in ends:
        end.close()
    assert repr(ends[1]) == "<QueueTransport rank 1 of 2, closed, 1 deliveries, lost [0]>"


def test_a_rank_comes_once() -> None:
    store = HashStore()
    connect([QueueTransport(0, 1)], store)
    with pytest.raises(ConnectError, match="rank 0 is taken"):
        QueueTransport(0, 1).connect(store, Tray(lambda n: True))
    with pytest.raises(ValueError, match="rank 2 is not in a world of 2"):
        QueueTransport(2, 2)


def test_a_rank_of_another_process_is_told_so() -> None:
    store = HashStore()
    store.set("queue/1", "another-process 0")
    with pytest.raises(ConnectError, match=r"rank 1 is not in the process of rank 0.*tcp://"):
        QueueTransport(0, 2).connect(store, Tray(lambda n: True))


def test_a_message_is_copied_once() -> None:
    """The sender's own memory is what the sink is given."""
    ends, seen = [QueueTransport(0, 1)], list[object]()

    class Watch(Tray):
        def sink(self, src: int, header: bytes, nbytes: int) -> Tub:
            tub = super().sink(src, header, nbytes)
            write = tub.write
            tub.write = lambda piece: (seen.append(piece.obj), write(piece))[1]  # type: ignore[method-assign]
            return tub

    ends[0].connect(HashStore(), Watch(lambda n: True))
    buffer = bytearray(100)
    ends[0].send(0, b"", buffer)
    assert seen[0] is buffer
    ends[0].close()
