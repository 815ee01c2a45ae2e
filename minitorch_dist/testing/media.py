"""`check_transport`: a transport of one's own, or an address, against the published contract."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from transports import conformance, registry
from transports.conformance.launchers import Launch, Make
from transports.contract import Transport


def check_transport(
    transport: Make | str,
    world_sizes: Sequence[int] = (1, 2, 3, 5),
    *,
    processes: bool = False,
    only: Sequence[str] | None = None,
    patience: float = 30.0,
) -> None:
    """Hold a transport against the contract (`transports.contract`).

    Args:
        transport: A function `(rank, world_size, folder) -> Transport`, whose folder is empty and belongs to this world.
            Or an address such as "tcp://", whose `{folder}` stands for that folder.
        world_sizes: The numbers of ranks to try.
        processes: Ranks are processes and not threads; then the function must be importable.
        only: Names of checks, instead of all.
        patience: Seconds of silence after which a check has failed.

    Raises:
        NotConforming: The text lists what it breaks.

    Example:
        >>> testing.check_transport("queue://", world_sizes=(2,), only=["sizes"])
    """
    make: Make = partial(_at, transport) if isinstance(transport, str) else transport
    launch: Launch = conformance.in_processes(make) if processes else conformance.in_threads(make)
    conformance.check(launch, world_sizes, only, patience)


def _at(address: str, rank: int, world_size: int, folder: str) -> Transport:
    kind: Any = registry.find(address)
    made = kind(rank, world_size, address.replace("{folder}", folder) if "://" in address else "")
    assert isinstance(made, Transport)
    return made
