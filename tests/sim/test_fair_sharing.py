"""Max-min sharing: what rates are, and what they are not."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed.schedules import BUILT_IN
from mtd import estimates
from tests.sim.messages import ends_of
from transports.virtual.fair_sharing import Flow, max_min
from transports.virtual.network import FIRST_COME, MAX_MIN, Network

BETA = 1000  # 1 GB/s
PURE = sim.uniform(0, BETA)


class Nothing:
    nbytes = 1


def flow(uses: dict[str, int]) -> Flow:
    return Flow(Nothing(), {port: Fraction(time) for port, time in uses.items()}, 0)


@st.composite
def flows(draw: st.DrawFn) -> list[Flow]:
    ports = st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 9), min_size=1, max_size=4)
    return [flow(uses) for uses in draw(st.lists(ports, max_size=12))]


@given(flows())
def test_each_flow_has_a_full_link_on_which_none_is_faster(drawn: list[Flow]) -> None:
    """This, and that no link is overfull, is true of the max-min rates and of no others (Bertsekas and
    Gallager, 6.5.2)."""
    rates = max_min(drawn)
    assert set(rates) == set(drawn) and all(rate > 0 for rate in rates.values())
    load: dict[Any, Fraction] = {}
    for one, rate in rates.items():
        for port, time in one.uses.items():
            load[port] = load.get(port, Fraction(0)) + rate * time
    assert all(busy <= 1 for busy in load.values())
    for one, rate in rates.items():
        full = [port for port in one.uses if load[port] == 1]
        assert any(
            all(rates[other] <= rate for other in drawn if port in other.uses) for port in full
        )


@given(flows(), st.sampled_from("abcdefg"))
def test_a_faster_link_never_slows_the_slowest_flow(drawn: list[Flow], port: str) -> None:
    """The rates are the greatest ones, if one looks at the slowest first. (The others may lose.)"""
    if drawn:
        before = min(max_min(drawn).values())
        for one in drawn:
            if port in one.uses:
                one.uses[port] /= 2
        assert min(max_min(drawn).values()) >= before


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_shares_of_one_link_add_up_to_it(count: int) -> None:
    rates = max_min([flow({"link": BETA, f"own {number}": BETA}) for number in range(count)])
    assert set(rates.values()) == {Fraction(1, BETA * count)}
    assert sum(rates.values()) == Fraction(1, BETA)
    into_zero = [(rank + 1, 0, 1000 * (rank + 1), 0) for rank in range(count)]
    ends = ends_of(PURE, into_zero)
    shares = [
        sum(min(a, b) for b in range(1, count + 1)) * 1000 * BETA for a in range(1, count + 1)
    ]
    assert all(abs(end - share) <= count for end, share in zip(ends, shares, strict=True))
    assert max(ends_of(PURE, into_zero, FIRST_COME)) == shares[-1]


def test_bytes_that_others_cannot_use_go_to_those_who_can() -> None:
    """Dally and Towles' example: a flow over two links, one beside it on each; one link is slow."""
    long, first, second = flow({"a": 1, "b": 2}), flow({"a": 1}), flow({"b": 2})
    rates = max_min([long, first, second])
    assert [rates[one] for one in (long, first, second)] == [
        Fraction(1, 4), Fraction(3, 4), Fraction(1, 4),
    ]  # fmt: skip


def test_two_messages_that_meet_half_way() -> None:
    """1 MB alone for half of its time, then with another one of 1 MB: 0.5 + 1 ms, and 1.5 more."""
    ms = 10**9
    assert ends_of(PURE, [(0, 1, 10**6, 0), (2, 1, 10**6, ms // 2)]) == [3 * ms // 2, 2 * ms]
    assert ends_of(PURE, [(0, 1, 10**6, 0), (0, 1, 500, 0), (0, 1, 0, 0)]) == [
        ms, ms + 500 * BETA, ms + 500 * BETA,
    ]  # fmt: skip
    assert ends_of(sim.uniform("1us", 0), [(0, 1, 10**6, 0)] * 3) == [10**6] * 3


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "all_to_all"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_where_nothing_meets_both_take_the_same(collective: str, size: int) -> None:
    net = sim.uniform("3us", "7GB/s")
    schedule = BUILT_IN[collective, "pairwise" if collective == "all_to_all" else "ring"]
    for nbytes in (0, 4 * size, 40_000 * size):
        fifo = estimates.time_of(schedule, size, nbytes, net)
        assert estimates.time_of(schedule, size, nbytes, Network(net, sharing=MAX_MIN)) == fifo


@pytest.mark.parametrize(
    "faults", [["duplicate=0.5"], ["drop=0.2"], ["jitter=30us"], ["reorder=0.3"]]
)
def test_faults_befall_messages_there_as_anywhere(faults: list[str]) -> None:
    def program() -> float:
        x = torch.ones(64) * dist.get_rank()
        dist.all_reduce(x, algorithm="rabenseifner")
        return float(x.sum())

    net = Network(sim.fat_tree(3, 2, 1, sim.link("1us", BETA)), sharing=MAX_MIN)
    runs = [sim.run(program, 6, net=net, seed=3, faults=faults) for _ in range(2)]
    assert runs[0].digest == runs[1].digest and runs[0].results == [64.0 * 15] * 6


def test_a_crash_and_a_rendezvous_there() -> None:
    net = Network(sim.uniform("1us", BETA), sharing=MAX_MIN, rendezvous=0)

    def program() -> None:
        dist.all_reduce(torch.zeros(600))

    assert sim.run(program, 3, net=net).time > 0

    def dies() -> str:
        try:
            dist.all_reduce(torch.zeros(60_000))
        except dist.PeerLost as error:
            return str(error)
        return ""

    shared = Network(sim.uniform("1us", BETA), sharing=MAX_MIN)
    report = sim.run(dies, 3, net=shared, faults=[sim.crash(1, at="20us")])
    assert report.results[1] is None and all(report.results[rank] for rank in (0, 2))
