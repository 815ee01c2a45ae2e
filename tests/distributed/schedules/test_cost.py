"""Messages, bytes, rounds and time of every schedule against the textbooks' table, with ==."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from minitorch_dist.distributed.schedules import BUILT_IN, bounds, overtaking, ring
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links, TwoLevelLinks
from minitorch_dist.distributed.schedules.ports import Ports, PortTimes
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import even
from tests.distributed.schedules.all_schedules import every_schedule, roots

SIZES = [*range(1, 18), 24, 31, 32, 33, 64]
ALPHA, BETA, GAMMA = 1_000_003, 80, 7
LINKS = Links(ALPHA, BETA, GAMMA)
PIECES = BUILT_IN["broadcast", "chain"].options["pieces"]


class P:
    """The quantities of the table, for p ranks."""

    def __init__(self, p: int) -> None:
        self.p = p
        self.power = 1 << (p.bit_length() - 1)
        self.r = p - self.power
        self.floor, self.ceil = p.bit_length() - 1, (p - 1).bit_length()
        self.share = Fraction(p - 1, p)
        self.power_share = Fraction(self.power - 1, self.power)
        self.folded = 1 if self.r else 0


class Row(NamedTuple):
    """As functions of P; bytes as multiples of n. None: no closed form is claimed."""

    rounds: Callable[[P], int]
    beta: Callable[[P], Fraction | int] | None
    gamma: Callable[[P], Fraction | int]
    messages: Callable[[P], int]
    sent: Callable[[P], Fraction | int] | None


def free(p: P) -> int:
    return 0


def popcounts(p: P) -> Fraction:
    return Fraction(sum(i.bit_count() for i in range(p.p)), p.p)


def tree_sent(p: P) -> int:
    return p.ceil


TABLE: dict[tuple[str, str], Row] = {
    ("all_reduce", "ring"): Row(
        lambda p: 2 * (p.p - 1),
        lambda p: 2 * p.share,
        lambda p: p.share,
        lambda p: 2 * p.p * (p.p - 1),
        lambda p: 2 * p.share,
    ),
    ("reduce_scatter", "ring"): Row(
        lambda p: p.p - 1, lambda p: p.share, lambda p: p.share, lambda p: p.p * (p.p - 1), lambda p: p.share
    ),
    ("all_gather", "ring"): Row(
        lambda p: p.p - 1, lambda p: p.share, free, lambda p: p.p * (p.p - 1), lambda p: p.share
    ),
    ("all_reduce", "recursive_doubling"): Row(
        lambda p: p.floor + 2 * p.folded,
        lambda p: p.floor + 2 * p.folded,
        lambda p: p.floor + p.folded,
        lambda p: p.power * p.floor + 2 * p.r,
        lambda p: p.floor + p.folded,
    ),
    ("all_reduce", "rabenseifner"): Row(
        lambda p: 2 * p.floor + 2 * p.folded,
        lambda p: 2 * p.power_share + 2 * p.folded,
        lambda p: p.folded + p.power_share,
        lambda p: 2 * p.power * p.floor + 2 * p.r,
        lambda p: 2 * p.power_share + p.folded,
    ),
    ("all_gather", "bruck"): Row(lambda p: p.ceil, lambda p: p.share, free, lambda p: p.p * p.ceil, lambda p: p.share),
    ("all_to_all", "bruck"): Row(lambda p: p.ceil, popcounts, free, lambda p: p.p * p.ceil, popcounts),
    ("broadcast", "binomial"): Row(lambda p: p.ceil, lambda p: p.ceil, free, lambda p: p.p - 1, tree_sent),
    ("reduce", "binomial"): Row(
        lambda p: p.ceil, lambda p: p.ceil, lambda p: p.ceil, lambda p: p.p - 1, lambda p: 1 if p.p > 1 else 0
    ),
    ("scatter", "binomial"): Row(lambda p: p.ceil, lambda p: p.share, free, lambda p: p.p - 1, lambda p: p.share),
    ("gather", "binomial"): Row(lambda p: p.ceil, lambda p: p.share, free, lambda p: p.p - 1, None),
    ("gather", "direct"): Row(
        lambda p: p.p - 1, lambda p: p.share, free, lambda p: p.p - 1, lambda p: Fraction(1, p.p) if p.p > 1 else 0
    ),
    ("scatter", "direct"): Row(lambda p: p.p - 1, lambda p: p.share, free, lambda p: p.p - 1, lambda p: p.share),
    ("broadcast", "chain"): Row(
        lambda p: p.p - 2 + PIECES if p.p > 1 else 0,
        lambda p: Fraction(p.p - 2 + PIECES, PIECES) if p.p > 1 else 0,
        free,
        lambda p: PIECES * (p.p - 1),
        lambda p: 1 if p.p > 1 else 0,
    ),
    ("barrier", "dissemination"): Row(lambda p: p.ceil, free, free, lambda p: p.p * p.ceil, free),
    ("barrier", "binomial"): Row(lambda p: 2 * p.ceil, free, free, lambda p: 2 * (p.p - 1), free),
}
for collective in ("all_to_all", "all_gather", "reduce_scatter"):
    reduces = collective == "reduce_scatter"
    for name in ("pairwise", "direct"):
        TABLE[collective, name] = Row(
            lambda p: p.p - 1,
            lambda p: p.share,
            (lambda p: p.share) if reduces else free,
            lambda p: p.p * (p.p - 1),
            lambda p: p.share,
        )


def bytes_for(p: P) -> int:
    """A vector that divides evenly into all chunks of all schedules."""
    return 4 * p.p * p.power * PIECES


@pytest.mark.parametrize("key", TABLE, ids=" ".join)
def test_the_table_of_exact_costs(key: tuple[str, str]) -> None:
    row = TABLE[key]
    for size in SIZES:
        p, schedule = P(size), BUILT_IN[key]
        n = bytes_for(p)
        bill = cost(schedule, size, n, LINKS)
        assert bill.messages == row.messages(p), size
        assert bill.rounds == row.rounds(p), size
        if row.sent is not None:
            assert bill.max_sent == row.sent(p) * n, size
        # eager sends land while a folded or tree reduction still adds: exact with rendezvous
        asymmetric = key == ("reduce", "binomial") or (p.r and key[1] in FOLDED)
        if row.beta is None:
            continue
        exact = row.rounds(p) * ALPHA + row.beta(p) * n * BETA + row.gamma(p) * n * GAMMA
        if not asymmetric:
            assert bill.time == exact, size
            continue
        met = Replay(schedule, size, n, links=LINKS, rendezvous=True).run()
        assert met.time == exact, size
        in_order = asked(schedule, size, n, LINKS).max()
        assert in_order <= exact
        unadded = asked(schedule, size, n, Links(ALPHA, BETA)).max()
        assert unadded == exact - row.gamma(p) * n * GAMMA
        if key != ("all_reduce", "rabenseifner"):  # there a rank that folds nothing is in the way
            assert bill.time <= exact


FOLDED = ("recursive_doubling", "rabenseifner")


def test_halving_and_doubling_of_powers_of_two() -> None:
    """As many messages as recursive doubling, as few bytes as the ring."""
    for p in [P(size) for size in (1, 2, 4, 8, 16, 32, 64)]:
        n = bytes_for(p)
        for schedule, adds in (
            (BUILT_IN["reduce_scatter", "recursive_halving"], p.share),
            (BUILT_IN["all_gather", "recursive_doubling"], 0),
        ):
            bill = cost(schedule, p.p, n, LINKS)
            assert bill.messages == p.p * p.floor
            assert bill.max_sent == p.share * n
            assert bill.time == p.floor * ALPHA + p.share * n * BETA + adds * n * GAMMA


def test_scatter_all_gather_of_powers_of_two() -> None:
    for p in map(P, SIZES):
        n = bytes_for(p)
        bill = cost(BUILT_IN["broadcast", "scatter_all_gather"], p.p, n, LINKS)
        assert bill.messages == (p.p - 1) + p.p * (p.p - 1)
        if p.r == 0:
            assert bill.time == (p.ceil + p.p - 1) * ALPHA + 2 * p.share * n * BETA


@pytest.mark.parametrize("per_node", [2, 4, 8])
def test_hierarchical_all_reduce(per_node: int) -> None:
    inner, outer = Links(1000, 3, 2), Links(50_000, 90, 2)
    links = TwoLevelLinks(inner.alpha, inner.beta, inner.gamma, per_node=per_node, outer=outer)
    schedule = BUILT_IN["all_reduce", "hierarchical"].with_options(per_node=per_node)
    for nodes in (1, 2, 3, 5, 8):
        g, size = per_node, per_node * nodes
        n = 4 * size * g
        bill = cost(schedule, size, n, links)
        assert bill.messages == 2 * size * (g - 1) + 2 * size * (nodes - 1)
        assert bill.max_sent == Fraction(2 * (size - 1), size) * n
        assert bill.time == (
            2 * (g - 1) * inner.alpha
            + 2 * (nodes - 1) * outer.alpha
            + Fraction(2 * (g - 1), g) * n * inner.beta
            + Fraction(2 * (nodes - 1), size) * n * outer.beta
            + (Fraction(g - 1, g) + Fraction(nodes - 1, size)) * n * inner.gamma
        )


def test_double_binary_tree_keeps_its_invariants() -> None:
    for p in map(P, SIZES):
        n = bytes_for(p)
        for pieces in (1, 4):
            schedule = BUILT_IN["all_reduce", "double_binary_tree"].with_options(pieces=pieces)
            bill = cost(schedule, p.p, n)
            assert bill.messages == 4 * (p.p - 1) * pieces
            assert bill.max_sent <= 2 * n
            assert bill.sent.sum() == 2 * (p.p - 1) * n


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 33])
def test_a_ring_of_uneven_chunks_sends_all_but_two(size: int) -> None:
    for n in (0, 1, size - 1, size + 1, 10 * size + 3):
        c = even(n, size)
        expected = [2 * n - int(c[rank]) - int(c[(rank + 1) % size]) if size > 1 else 0 for rank in range(size)]
        bill = cost(ring.all_reduce, size, n, LINKS)
        assert bill.sent.tolist() == expected
        longest = ALPHA + (BETA + GAMMA) * int(c.max(initial=0))
        assert bill.time <= 2 * (size - 1) * longest


def test_the_best_number_of_pieces_of_a_chain() -> None:
    size, n, links = 18, 64_000, Links(1_000_000, 1000)
    best = math.isqrt((size - 2) * n * links.beta // links.alpha)
    chain = BUILT_IN["broadcast", "chain"]
    times = {k: cost(chain.with_options(pieces=k), size, n, links).time for k in (1, 8, 32, 200)}
    assert best == 32
    assert min(times, key=times.__getitem__) == 32


@every_schedule
def test_all_ranks_at_once_cost_what_they_cost_message_by_message(schedule) -> None:
    generator = np.random.default_rng(0)
    for size in [*range(1, 10), 12, 13, 16, 17, 33]:
        for root in roots(schedule, size):
            n = int(generator.integers(0, 5 * size * size))
            links = Links(*generator.integers(0, 1000, 4).tolist())
            if size % 2:
                links = TwoLevelLinks(links.alpha, links.beta, per_node=3, outer=Links(999, 5, 1, 77))
            fast = cost(schedule, size, n, links, root=root)
            plain = cost(schedule, size, n, links, root=root, rank=np.arange(size))
            replay = Replay(schedule, size, n, links=links, root=root).run()
            free = np.zeros(size, np.int64)
            sizes = schedule.sizes(size, n)
            finish, *_ = overtaking.play(schedule, sizes, links, PortTimes(free, free, free), root)
            assert fast.finish.tolist() == plain.finish.tolist() == finish.tolist()
            assert asked(schedule, size, n, links, root).tolist() == replay.finish
            assert fast.sent.tolist() == plain.sent.tolist() == replay.sent
            assert fast.messages == plain.messages == replay.messages


def asked(schedule, size, n, links, root=None):
    """Where ports serve messages in the order in which their ranks ask for them."""
    ports = Ports(schedule, size, n, 1, links, 0)
    for step in schedule.everyone(size, root):
        ports.take(step)
    return ports.spread(ports.clock)


@every_schedule
def test_nothing_beats_the_lower_bounds(schedule) -> None:
    generator = np.random.default_rng(1)
    for size in SIZES:
        n = 4 * size * int(generator.integers(1, 50))
        links = Links(*generator.integers(0, 100_000, 3).tolist())
        for root in roots(schedule, size):
            bill = cost(schedule, size, n, links, root=root)
            assert bill.time >= bounds.least_time(schedule.collective, size, n, links)
            assert bill.max_sent >= bounds.least_bytes(schedule.collective, size, n)
            assert bill.rounds >= bounds.least_rounds(size)


def test_those_that_reach_the_bound_in_bytes() -> None:
    for size in SIZES:
        n = 4 * size * 64
        for key in (
            ("all_reduce", "ring"),
            ("all_reduce", "hierarchical"),
            ("all_gather", "bruck"),
            ("all_to_all", "pairwise"),
            ("reduce_scatter", "ring"),
            ("scatter", "binomial"),
        ):
            bill = cost(BUILT_IN[key], size, n)
            assert bill.max_sent == bounds.least_bytes(key[0], size, n), (key, size)


def test_a_late_rank_makes_the_others_wait() -> None:
    entry = np.array([0, 0, 5_000, 0])
    late = cost(ring.all_gather, 4, 400, Links(10, 1), entry=entry)
    on_time = cost(ring.all_gather, 4, 400, Links(10, 1))
    assert on_time.time == 3 * 110
    assert late.time == 5_000 + 3 * 110


def test_wire_time_occupies_nobody() -> None:
    """LogGP: a flat gather waits for the wire once, Hockney's for every message."""
    size, m = 9, 100
    gather = BUILT_IN["gather", "direct"]
    assert cost(gather, size, size * m, Links(0, 3, wire=500)).time == 500 + (size - 1) * 3 * m
    assert cost(gather, size, size * m, Links(500, 3)).time == (size - 1) * (500 + 3 * m)


def test_ten_thousand_ranks() -> None:
    size, n = 10_000, 123_456_789
    bill = cost(ring.all_reduce, size, n)
    c = even(n, size)
    assert bill.messages == 199_980_000
    assert bill.sent.tolist() == (2 * n - c - np.roll(c, -1)).tolist()
    assert cost(ring.all_reduce, size, 4 * size, Links(10, 1)).time == 2 * (size - 1) * 14


def test_a_bill_says_what_it_is_for() -> None:
    assert str(cost(ring.all_reduce, 4, 4000, Links(1_000_000, 80))) == (
        "ring all_reduce, 4 ranks, 4000 bytes: 6 rounds, 24 messages, at most 6000 bytes from a rank, 6.480 µs"
    )
