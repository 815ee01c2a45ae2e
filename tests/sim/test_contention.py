"""Links inside a network, which messages of several ranks pass: each waits for those ahead of it."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed.schedules import BUILT_IN
from mtd import estimates
from transports.virtual.topology import Station

ALPHA, BETA = 1_000_000, 1000  # 1 µs, 1 GB/s
LINK = sim.link(ALPHA, BETA)
PURE = sim.link(0, BETA)
ENGINES = ["greenlet", "threads", "auto", "lockstep"]


def sends(pairs: list[tuple[int, int]], nbytes: int) -> float:
    """All at once; when this rank has all that is sent to it, in picoseconds."""
    me = dist.get_rank()
    into = [(torch.zeros(nbytes // 4), a) for a, b in pairs if b == me]
    receives = [dist.irecv(x, a) for x, a in into]
    for a, b in pairs:
        if a == me:
            dist.isend(torch.zeros(nbytes // 4), b)
    for receive in receives:
        assert receive is not None
        receive.wait()
    return round(sim.now() * 1e12)


def times(net: Any, size: int, pairs: list[tuple[int, int]], nbytes: int, engine: str) -> list[Any]:
    return sim.run(sends, size, (pairs, nbytes), net=net, engine=engine).results


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("half", [1, 2, 3, 5, 8])
def test_messages_that_cross_the_middle_of_a_line_pass_it_one_by_one(half: int, engine: str) -> None:
    """Rank i sends to rank i + k over a line of 2k ranks. The link in the middle carries all k, that
    of rank k - 1 first: message i is there after (k - i) m β. With α, a head takes α for each link."""
    m, size = 4000, 2 * half
    pairs = [(i, i + half) for i in range(half)]
    found = times(sim.mesh((size,), PURE), size, pairs, m, engine)
    assert found[half:] == [(half - i) * m * BETA for i in range(half)]
    hold, last = ALPHA + m * BETA, times(sim.mesh((size,), LINK), size, pairs, m, engine)[half:]
    assert last == [(half - i) * hold + i * ALPHA for i in range(half)]
    alone = times(sim.mesh((size,), LINK), size, pairs[:1], m, engine)[half]
    assert alone == hold + (half - 1) * ALPHA


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_neighbours_are_in_nobodys_way(size: int, engine: str) -> None:
    def ring() -> None:
        dist.all_reduce(torch.zeros(size * 100), algorithm="ring")

    net = sim.mesh((size,), LINK, wraps=True)
    expected = 2 * (size - 1) * (ALPHA + 400 * BETA)
    assert sim.run(ring, size, net=net, engine=engine).time == expected
    assert sim.run(ring, size, net=sim.Hockney(ALPHA, BETA), engine=engine).time == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_shifts_round_a_ring_take_as_many_links_as_they_are_far(engine: str) -> None:
    """All ranks send to the rank k further: each link carries k messages, the last of which is over
    after k m β."""
    for size, shift in ((5, 2), (8, 3), (9, 4)):
        pairs = [(i, (i + shift) % size) for i in range(size)]
        net = sim.mesh((size,), PURE, wraps=True)
        found = times(net, size, pairs, 4000, engine)
        assert max(found) >= shift * 4000 * BETA
        star = times(sim.uniform(0, BETA), size, pairs, 4000, engine)
        assert set(star) == {4000 * BETA}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("ranks", "spines"), [(1, 1), (2, 1), (4, 1), (4, 2), (4, 4), (6, 3)])
def test_a_fat_tree_with_few_spines_is_oversubscribed(ranks: int, spines: int, engine: str) -> None:
    """Each rank of leaf 0 sends to one of leaf 1: ranks / spines messages pass each link up."""
    m, net = 8000, sim.fat_tree(2, ranks, spines, PURE)
    pairs = [(i, ranks + i) for i in range(ranks)]
    found = times(net, 2 * ranks, pairs, m, engine)
    assert max(found) == ranks // spines * m * BETA
    inside = times(net, 2 * ranks, [(0, ranks - 1)], m, engine) if ranks > 1 else [m * BETA]
    assert max(inside) == m * BETA
    slow = sim.fat_tree(2, ranks, spines, PURE, sim.link("3us", 4 * BETA))
    alone = times(slow, 2 * ranks, pairs[:1], m, engine)[ranks]
    # two links more; the last byte passes the slow one after 4 m β, and then the other one
    assert alone == 2 * 3_000_000 + 3_000_000 + 4 * m * BETA


def test_routes() -> None:
    grid, torus = sim.mesh((3, 4), LINK), sim.mesh((3, 4), LINK, wraps=True)
    assert grid.way(0, 11) == [0, 1, 2, 3, 7, 11] and torus.way(0, 11) == [0, 3, 11]
    assert torus.way(0, 2) == [0, 1, 2] and torus.way(5, 5) == [5]
    assert grid.route(0, 2).via == (Station((0, 1), LINK, 0), Station((1, 2), LINK, ALPHA))
    for net in (grid, torus):
        for a in range(12):
            for b in range(12):
                way = net.way(a, b)
                assert way[0] == a and way[-1] == b and len(set(way)) == len(way)
    tree = sim.fat_tree(3, 2, 2, LINK)
    assert [station.port for station in tree.route(0, 5).via] == [("up", 0, 1), ("down", 1, 2)]
    assert tree.route(0, 1).via == ()
    with pytest.raises(ValueError, match="rank 6 has no place"):
        tree.route(0, 6)
    with pytest.raises(ValueError, match="at least one leaf"):
        sim.fat_tree(1, 2, 0, LINK)


NETS = {
    "line": sim.mesh((6,), LINK),
    "torus": sim.mesh((2, 3), LINK, wraps=True),
    "fat tree": sim.fat_tree(3, 2, 1, LINK, sim.link("2us", 500)),
    "shared cards": sim.two_level(3, 2, PURE, LINK, nic="per_node"),
}


@pytest.mark.parametrize("net", NETS.values(), ids=list(NETS))
@pytest.mark.parametrize("algorithm", ["pairwise", "direct"])
def test_engines_and_estimates_agree(net: Any, algorithm: str) -> None:
    def everybody() -> None:
        x = torch.zeros(6 * 500)
        dist.all_to_all_single(torch.empty(6 * 500), x, algorithm=algorithm)

    reports = [sim.run(everybody, 6, net=net, engine=engine) for engine in ENGINES]
    assert len({report.time for report in reports}) == 1
    assert len({report.digest for report in reports}) == 1
    schedule = BUILT_IN["all_to_all", algorithm]
    assert estimates.time_of(schedule, 6, 12_000, net) == reports[0].time
    one = estimates.estimate(schedule, 6, 12_000, net)
    assert one.time >= one.bound


@pytest.mark.parametrize("faults", [["duplicate=0.5"], ["drop=0.2"], ["jitter=30us"], ["reorder=0.3"]])
def test_faults_befall_messages_there_as_anywhere(faults: list[str]) -> None:
    def program() -> float:
        x = torch.ones(64) * dist.get_rank()
        dist.all_reduce(x, algorithm="rabenseifner")
        return float(x.sum())

    for net in NETS.values():
        first, again = (sim.run(program, 6, net=net, seed=3, faults=faults) for _ in range(2))
        assert first.digest == again.digest and first.results == [64.0 * 15] * 6
