"""Where schedules are compared: networks, numbers of ranks, lengths of the vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from minitorch_dist.distributed.schedules.schedule import Schedule
from minitorch_dist.sim import nets, topologies
from mtd.refusals import CannotDo
from transports.quantities import amount

RANKS: Final = (8, 12, 16, 64)
SIZES: Final = ("1KB", "64KB", "1MB", "16MB")
NODE: Final = 4  # ranks of a node


@dataclass(frozen=True)
class Case:
    """One comparison: a network by its name and its words, ranks, bytes."""

    name: str
    words: str
    ranks: int
    size: str

    @property
    def nbytes(self) -> int:
        return amount(self.size)


def _nodes(ranks: int) -> str:
    if ranks % NODE or ranks == NODE:
        return ""
    return f"two_level:nodes={ranks // NODE},gpus={NODE},intra=1us/150GB/s,inter=5us/100Gb/s"


def _torus(ranks: int) -> str:
    """As square as it can be."""
    rows = max(one for one in range(1, math.isqrt(ranks) + 1) if ranks % one == 0)
    return f"torus:shape={rows}x{ranks // rows},link=1us/100Gb/s" if rows > 1 else ""


NETWORKS: Final[dict[str, Callable[[int], str]]] = {
    "ethernet": lambda ranks: "sim://?latency=50us&rate=1Gb/s",
    "cluster": lambda ranks: "sim://?latency=2us&rate=100Gb/s",
    "nodes": _nodes,
    "torus": _torus,
}


def cases(
    schedule: Schedule, ranks: Sequence[int] = (), sizes: Sequence[str] = (), networks: Sequence[str] = ()
) -> list[Case]:
    """Those that were asked for, or the usual ones that it serves. CannotDo says what is wrong, before anything runs."""
    for many in ranks:
        if many < 2:
            raise CannotDo(f"a comparison takes at least 2 ranks, not {many}")
        if not schedule.serves(many):
            raise CannotDo(f"{schedule} is made for {schedule.domain_in_words}, and not for {many} ranks")
    served = ranks or [many for many in RANKS if schedule.serves(many)] or _first(schedule)
    return [*_each(served, sizes or SIZES, networks or tuple(NETWORKS))]


def _first(schedule: Schedule) -> list[int]:
    return [many for many in range(2, 257) if schedule.serves(many)][:1]


def _each(ranks: Sequence[int], sizes: Sequence[str], networks: Sequence[str]) -> Iterator[Case]:
    for name in networks:
        for many in ranks:
            words = NETWORKS[name](many) if name in NETWORKS else name
            if not words:
                continue  # so many ranks make no such network
            topologies.check(nets.read(words).topology, many)
            for size in sizes:
                amount(size)
                yield Case(name.partition(":")[0], words, many, size)
