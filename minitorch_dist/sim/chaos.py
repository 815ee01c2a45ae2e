"""Which faults a seed stands for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from transports.clock import PICO
from transports.faults.plans import Clog, Crash, Fault, Partition, Slow, Strike, chance

HARMLESS = ("slow", "drop", "delay", "duplicate", "reorder", "partition", "clog")

LONGEST = PICO  # of a partition: a transport that cannot send for long enough gives a peer up


@dataclass(frozen=True)
class Chaos:
    """At most `max_faults` of `kinds`, somewhere in the time that a calm run takes."""

    max_faults: int = 3
    kinds: tuple[str, ...] = HARMLESS
    restart: bool = True

    def plan(self, seed: int, world_size: int, horizon: int) -> tuple[Fault, ...]:
        """The faults of a seed. Each is drawn by a key of its own."""
        if not self.kinds or world_size < 2:
            return ()
        count = int(chance(seed, "how many faults", 0, 0, 0) * (self.max_faults + 1))
        return tuple(self._fault(seed, n, world_size, max(horizon, 1)) for n in range(count))

    def _fault(self, seed: int, n: int, world_size: int, horizon: int) -> Fault:
        def draw(what: str) -> float:
            return chance(seed, f"chaos {what}", 0, 0, n)

        kind = self.kinds[int(draw("kind") * len(self.kinds))]
        rank = int(draw("rank") * world_size)
        at = int(draw("at") * horizon)
        end = at + 1 + int(draw("span") * min(horizon, LONGEST))
        if kind == "slow":
            what = "compute" if draw("what") < 0.5 else "network"
            return Slow(rank, 1 + round(9 * draw("x"), 1), what)
        if kind == "partition":
            return _split(seed, n, world_size, at, end)
        if kind == "clog":
            return Clog(rank, ("in", "out", "both")[int(draw("way") * 3)], at, end)
        if kind == "crash":
            return Crash(rank, at, end if self.restart else None)
        p = (0.02, 0.1, 0.3)[int(draw("p") * 3)]
        late = 1 + int(draw("late") * horizon / 2) if kind in ("delay", "reorder", "jitter") else 0
        return Strike(kind, p, late, src=rank if draw("one") < 0.5 else None)


def _split(seed: int, n: int, world_size: int, at: int, end: int) -> Partition:
    """Some ranks against the others, neither of them none."""
    inside: Callable[[int], bool] = lambda r: chance(seed, "chaos side", r, r, n) < 0.5  # noqa: E731
    one = frozenset(filter(inside, range(world_size))) or frozenset({0})
    if len(one) == world_size:
        one = one - {world_size - 1}
    return Partition(one, frozenset(range(world_size)) - one, at, end)


def chaos(max_faults: int = 3, kinds: Sequence[str] = HARMLESS, crash: bool = False, restart: bool = True) -> Chaos:
    """The faults that `explore` makes of each seed. By default only those that a correct program on a reliable
    transport bears: partitions heal, clogs end.

    Args:
        max_faults: The most faults of a seed.
        kinds: The names of faults to draw from.
        crash: Kill ranks, too, which only a program that expects it survives.
        restart: Start killed ranks again.

    Returns:
        The plan, for `faults=`.

    Example:
        >>> sim.explore(dist.barrier, 3, seeds=5, faults=sim.chaos(max_faults=1)) is None
        True
    """
    return Chaos(max_faults, (*kinds, "crash") if crash else tuple(kinds), restart)
