"""Ranks tell each other where they are: each leaves a card in the store and reads all others.

            store
    rank 0 ──► "tcp/0" : card of 0 ──┐
    rank 1 ──► "tcp/1" : card of 1 ──┼──►  every rank reads all
    rank 2 ──► "tcp/2" : card of 2 ──┘

One `set` and one `multi_get` per rank. Rank and host are part of the card, so that a missing rank can be named.
"""

from __future__ import annotations

from transports.clock import Clock
from transports.contract import Store
from transports.errors import ConnectError, StoreTimeout


def exchange(
    store: Store, scheme: str, rank: int, world_size: int, card: bytes, clock: Clock, timeout: float | None
) -> list[bytes]:
    """Everybody's cards, by rank; ConnectError names the ranks that did not come."""
    mine = f"{scheme}/{rank}"
    if store.add(f"{mine}/taken", 1) != 1:
        raise taken(scheme, rank)
    store.set(mine, card)
    keys = [f"{scheme}/{peer}" for peer in range(world_size)]
    try:
        store.wait(keys, timeout)
    except StoreTimeout as late:
        missing = [peer for peer, key in enumerate(keys) if not store.check([key])]
        raise missed(scheme, rank, world_size, missing, late.seconds) from late
    return store.multi_get(keys)


def taken(scheme: str, rank: int) -> ConnectError:
    """The error for a rank that has come already."""
    return ConnectError(
        f"rank {rank} is taken: somebody else connected to this store as rank {rank} over {scheme}. Each rank may come "
        "once; for a second world give the store another prefix"
    )


def innermost(store: Store) -> Store:
    """The store that this one is a part of, however often it was given a prefix."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return store


def missed(scheme: str, rank: int, world_size: int, missing: list[int], seconds: float, why: str = "") -> ConnectError:
    """The error for ranks that did not come."""
    present = [peer for peer in range(world_size) if peer not in missing]
    return ConnectError(
        f"rank {rank} waited {seconds:.1f} s over {scheme} for ranks {listed(missing)} of a world "
        f"of {world_size}; {listed(present)} came{why}. Was every rank started, with the same "
        "world size and the same store? Look at the first error of those that are missing"
    )


def listed(ranks: list[int]) -> str:
    return ", ".join(map(str, ranks)) or "none"
