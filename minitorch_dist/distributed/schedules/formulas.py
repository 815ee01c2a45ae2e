"""The textbooks' formulas: how long each algorithm takes at least, without drawing up its bill.

A run is as long as its longest chain of messages that wait for each other, its *critical path*. With latency α, β for
a byte, γ for a byte that is added, and L on the wire, a path takes

    messages·α + bytes·β + added·γ + wires·L

Here p ranks hold n bytes, k = ⌊lg p⌋, and s is a chunk, n/p:

                                        messages    bytes          added
    all_reduce      recursive_doubling  k           k n            k n
                    rabenseifner        2k          2(p-1) s       (p-1) s
                    ring, two_shot      2(p-1)      2(p-1) s       (p-1) s
                    binomial            2k          2k n           k n
                    direct              2(p-1)      2(p-1) n       n        or p, p n, (p-1) n
    all_gather      ring, direct, …     p-1         (p-1) s        –
                    bruck, …            k           (p-1) s        –
    reduce_scatter  ring, direct, …     p-1         (p-1) s        (p-1) s
                    recursive_halving   k           (p-1) s        (p-1) s

`circulant` takes what rabenseifner, bruck and recursive_halving take, with ⌈lg p⌉ for k, and is exact where p divides n.

For powers of two these are exact, to the picosecond. Otherwise ranks are folded and chunks are uneven: then a run takes this
long or longer. `choice` begins with the algorithm whose formula is least. So it draws up few bills, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.distributed.schedules.schedule import Schedule


class Path(NamedTuple):
    """A chain of messages in which each waits for the one before."""

    messages: int
    nbytes: int
    added: int = 0
    wires: int | None = None  # as many as messages, unless they follow each other through one port

    def time(self, links: Links) -> int:
        wires = self.messages if self.wires is None else self.wires
        transfer = self.messages * links.alpha + self.nbytes * links.beta
        return transfer + self.added * links.gamma + wires * links.wire


class Least(NamedTuple):
    """The time that a schedule takes at least; `is_exact`: neither does it take longer."""

    time: int = 0
    is_exact: bool = False


def least(schedule: Schedule, size: int, nbytes: int, links: Links) -> Least:
    """By the formula of this schedule; 0 where there is none."""
    formula = FORMULAS.get((schedule.collective, schedule.name))
    if formula is None or size < 2 or type(links) is not Links:
        return Least()
    time = max(path.time(links) for path in formula(size, nbytes, **schedule.options))
    is_even = nbytes % size == 0 and (size & (size - 1) == 0 or schedule.name == "circulant")
    return Least(time, is_even and schedule.name != "double_binary_tree")


Formula = Callable[..., Iterable[Path]]


def log2(size: int) -> tuple[int, int]:
    """⌊lg p⌋, and 1 if ranks have to be folded to have a power of two (see `powers`)."""
    k = size.bit_length() - 1
    return k, int(size > 1 << k)


def one_by_one(p: int, n: int) -> list[Path]:
    return [Path(p - 1, (p - 1) * (n // p))]


def one_by_one_added(p: int, n: int) -> list[Path]:
    return [Path(p - 1, (p - 1) * (n // p), (p - 1) * (n // p))]


def round_and_back(p: int, n: int) -> list[Path]:
    return [Path(2 * (p - 1), 2 * (p - 1) * (n // p), (p - 1) * (n // p))]


def to_one_and_back(p: int, n: int) -> list[Path]:
    """The root's port is busy, or the root is, which adds."""
    return [Path(2 * (p - 1), 2 * (p - 1) * n, n, 2), Path(p, p * n, (p - 1) * n, 2)]


def up_and_down_a_tree(p: int, n: int) -> list[Path]:
    """One port of the root sends to all its children; a chain leads down to the deepest leaf."""
    k, folds = log2(p)
    return [Path(2 * k + folds, (2 * k + folds) * n, (k + folds) * n, 2 * k)]


def up_and_down_two_trees(p: int, n: int, pieces: int) -> list[Path]:
    k, piece = log2(p)[0], n // (2 * pieces)
    return [Path(2 * k, 2 * k * piece, k * piece)]


def swaps_of_all(p: int, n: int) -> list[Path]:
    """While a rank waits for what is folded into it, its partners' messages come to its port."""
    k, folds = log2(p)
    if folds:
        return [Path(k + 2, (k + 2) * n, n, 2)]
    return [Path(k, k * n, k * n)]


def halves_and_doubles(p: int, n: int) -> list[Path]:
    k, folds = log2(p)
    power = 1 << k
    moved = (power - 1) * (n // power)
    return [Path(2 * (k + folds), 2 * (moved + folds * n), moved + folds * n)]


def doubles(p: int, n: int) -> list[Path]:
    k, _ = log2(p)
    return [Path(k, ((1 << k) - 1) * (n // p))]


def halves_of_a_circle(p: int, n: int) -> list[Path]:
    rounds, moved = (p - 1).bit_length(), (p - 1) * (n // p)
    return [Path(rounds, moved, moved)]


def doubles_of_a_circle(p: int, n: int) -> list[Path]:
    return [Path((p - 1).bit_length(), (p - 1) * (n // p))]


def halves_and_doubles_of_a_circle(p: int, n: int) -> list[Path]:
    rounds, moved = (p - 1).bit_length(), (p - 1) * (n // p)
    return [Path(2 * rounds, 2 * moved, moved)]


def halves(p: int, n: int) -> list[Path]:
    k, _ = log2(p)
    return [Path(k, ((1 << k) - 1) * (n // p), ((1 << k) - 1) * (n // p))]


FORMULAS: Final[dict[tuple[str, str], Formula]] = {
    ("all_reduce", "direct"): to_one_and_back,
    ("all_reduce", "binomial"): up_and_down_a_tree,
    ("all_reduce", "double_binary_tree"): up_and_down_two_trees,
    ("all_reduce", "rabenseifner"): halves_and_doubles,
    ("all_reduce", "recursive_doubling"): swaps_of_all,
    ("all_reduce", "ring"): round_and_back,
    ("all_reduce", "two_shot"): round_and_back,
    ("all_reduce", "circulant"): halves_and_doubles_of_a_circle,
    ("all_gather", "circulant"): doubles_of_a_circle,
    ("reduce_scatter", "circulant"): halves_of_a_circle,
    ("all_gather", "direct"): one_by_one,
    ("all_gather", "pairwise"): one_by_one,
    ("all_gather", "ring"): one_by_one,
    ("all_gather", "bruck"): doubles,
    ("all_gather", "recursive_doubling"): doubles,
    ("reduce_scatter", "direct"): one_by_one_added,
    ("reduce_scatter", "pairwise"): one_by_one_added,
    ("reduce_scatter", "ring"): one_by_one_added,
    ("reduce_scatter", "recursive_halving"): halves,
}
