"""Ranks that are threads."""

from __future__ import annotations

import pytest

from transports import conformance
from transports.queue import QueueTransport


def make(rank: int, world_size: int, folder: str) -> QueueTransport:
    return QueueTransport(rank, world_size)


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_it_keeps_the_contract(world_size: int) -> None:
    conformance.check(conformance.in_threads(make), [world_size])
