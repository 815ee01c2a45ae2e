"""A program of the census: the contract of the wires that need no server."""

from __future__ import annotations

from transports import conformance
from transports.contract import Transport
from transports.file import FileTransport
from transports.queue import QueueTransport
from transports.tcp import TcpTransport

SIZES = [1, 2, 3]


def by_queue(rank: int, world_size: int, folder: str) -> Transport:
    return QueueTransport(rank, world_size, "queue://")


def by_tcp(rank: int, world_size: int, folder: str) -> Transport:
    return TcpTransport(rank, world_size, "tcp://")


def by_file(rank: int, world_size: int, folder: str) -> Transport:
    return FileTransport(rank, world_size, f"file://{folder}/wire")


def main() -> None:
    conformance.check(conformance.in_threads(by_queue), SIZES)
    for make in (by_tcp, by_file):
        conformance.check(conformance.in_processes(make), SIZES)


if __name__ == "__main__":
    main()
