"""Ranks that share a file."""

from __future__ import annotations

import pytest

from transports import conformance
from transports.file import FileTransport


def make_rings(rank: int, world_size: int, folder: str) -> FileTransport:
    return FileTransport(rank, world_size, f"file://{folder}/world")


def make_logs(rank: int, world_size: int, folder: str) -> FileTransport:
    return FileTransport(rank, world_size, f"file://{folder}/world?mode=append")


@pytest.mark.parametrize("make", [make_rings, make_logs])
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_it_keeps_the_contract_between_threads(make: conformance.Make, world_size: int) -> None:
    conformance.check(conformance.in_threads(make), [world_size])


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_rings, make_logs])
@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_it_keeps_the_contract_between_processes(make: conformance.Make, world_size: int) -> None:
    conformance.check(conformance.in_processes(make), [world_size])
