"""Ranks that are processes, over loopback."""

from __future__ import annotations

import pytest

from transports import conformance
from transports.tcp import TcpTransport

ALIVE = [name for name in conformance.CHECKS if not name.startswith("death")]


def make(rank: int, world_size: int, folder: str) -> TcpTransport:
    return TcpTransport(rank, world_size)


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_it_keeps_the_contract_between_threads(world_size: int) -> None:
    """All but death: where a thread ends, its process and so its connections live on."""
    conformance.check(conformance.in_threads(make), [world_size], only=ALIVE)


@pytest.mark.slow
@pytest.mark.parametrize("world_size", [2, 3, 5])
def test_it_keeps_the_contract_between_processes(world_size: int) -> None:
    conformance.check(conformance.in_processes(make), [world_size])
