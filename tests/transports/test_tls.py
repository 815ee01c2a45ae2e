"""TCP with certificates. `job.pem` and `other.pem` are self-made: certificate and key in one file."""

from __future__ import annotations

import os
import select
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from transports import conformance
from transports.conformance.bench import Tray
from transports.errors import TrustError
from transports.sockets import tls
from transports.stores.store import HashStore
from transports.tcp import TcpTransport

HERE = Path(__file__).parent
JOB, OTHER = HERE / "job.pem", HERE / "other.pem"
ALIVE = [name for name in conformance.CHECKS if not name.startswith("death")]


def make(rank: int, world_size: int, folder: str) -> TcpTransport:
    return TcpTransport(rank, world_size, f"tcp://?certificate={JOB}")


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_it_keeps_the_contract_encrypted(world_size: int) -> None:
    conformance.check(conformance.in_threads(make), [world_size], only=ALIVE)


@pytest.mark.slow
def test_also_when_a_process_dies() -> None:
    conformance.check(conformance.in_processes(make), [3], only=["sizes", "death", "death_in_send"])


def connect(*addresses: str) -> list[Any]:
    """Connect ranks with these addresses; the transports, or the errors."""
    store, results = HashStore(), [None] * len(addresses)

    def run(rank: int) -> None:
        try:
            end = TcpTransport(rank, len(addresses), addresses[rank])
            end.connect(store, Tray(lambda n: True), 5)
            results[rank] = end  # type: ignore[call-overload]
        except Exception as error:
            results[rank] = error  # type: ignore[call-overload]

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(len(addresses))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return results


def close(ends: list[Any]) -> None:
    for end in ends:
        if isinstance(end, TcpTransport):
            end.close()


def test_nothing_can_be_read_on_the_way() -> None:
    wire = bytearray()
    for secret in (b"a small secret" * 10, b"a large secret" * 1000):
        ends = connect(*[f"tcp://?certificate={JOB}"] * 2)
        assert ends[0]._links[1].outgoing.version() == "TLSv1.3"
        below = ends[0]._links[1].outgoing
        tap = socket.socket(fileno=os.dup(below.fileno()))
        ends[1].send(0, b"header", secret)
        with tap:
            poll = select.poll()
            poll.register(tap, select.POLLIN)
            assert poll.poll(20_000)
            wire += tap.recv(1 << 16)
        assert wire and b"secret" not in wire and b"header" not in wire
        close(ends)


def test_another_certificate_is_not_accepted() -> None:
    results = connect(f"tcp://?certificate={JOB}", f"tcp://?certificate={OTHER}")
    assert isinstance(results[0], TrustError) and "certificate" in str(results[0])
    close(results)


def test_plain_and_encrypted_do_not_mix() -> None:
    results = connect(f"tcp://?certificate={JOB}", "tcp://", "tcp://")
    assert "rank 0 is encrypted, and ranks 1, 2 are not" in str(results[0])
    assert "rank 2 is plain, and ranks 0 are not" in str(results[2])


def test_options_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_TLS_CERTIFICATE", str(JOB))
    ends = connect("tcp://", "tcp://")
    assert all(end._links[1 - end.rank].outgoing.version() == "TLSv1.3" for end in ends)
    close(ends)


def test_wrong_options_are_told() -> None:
    with pytest.raises(ValueError, match=r"tcp has no options \['certifcate'\]; it has certificate"):
        TcpTransport(0, 1, "tcp://?certifcate=x")
    assert tls.find({"rank": "0", "world_size": "2"}) is None  # of torch's tcp:// addresses
    with pytest.raises(ValueError, match="key without a certificate"):
        tls.find({"key": "x"})
    with pytest.raises(TrustError, match=r"nowhere\.pem .*cannot be used"):
        TcpTransport(0, 1, "tcp://?certificate=nowhere.pem")
