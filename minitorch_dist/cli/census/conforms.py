"""A program of the census: the contract of the wires that need no server."""

from __future__ import annotations

from functools import partial

from transports import conformance
from transports.contract import Transport
from transports.file import FileTransport
from transports.queue import QueueTransport
from transports.tcp import TcpTransport

SIZES = [1, 2, 3]


def make(scheme: str, rank: int, world_size: int, folder: str) -> Transport:
    if scheme == "queue":
        return QueueTransport(rank, world_size, "queue://")
    if scheme == "tcp":
        return TcpTransport(rank, world_size, "tcp://")
    return FileTransport(rank, world_size, f"file://{folder}/wire")


def main() -> None:
    conformance.check(conformance.in_threads(partial(make, "queue")), SIZES)
    for scheme in ("tcp", "file"):
        conformance.check(conformance.in_processes(partial(make, scheme)), SIZES)


if __name__ == "__main__":
    main()
