"""Which schedule is taken: as asked, as the environment says, or the cheapest; and one's own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.schedules import ScheduleError, choice, cost, formulas, ring
from minitorch_dist.distributed.schedules.links import Links, TwoLevelLinks
from minitorch_dist.distributed.schedules.schedule import COLLECTIVES
from minitorch_dist.distributed.schedules.steps import Exchange, Rank, Steps
from minitorch_dist.launching import launch


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ["", *[f"{collective.upper()}_" for collective in COLLECTIVES]]:
        monkeypatch.delenv(f"MINITORCH_DIST_{name}ALGORITHM", raising=False)


@pytest.mark.slow
def test_auto_takes_what_costs_least() -> None:
    links = Links(15_000_000, 500, 120)
    for collective in COLLECTIVES:
        for size in (2, 3, 5, 8, 16):
            for nbytes in (0, 8, 1 << 14, 1 << 20, 1 << 26):
                chosen = choice.choose(collective, size, nbytes, links)
                least = min(
                    cost.cost(other, size, nbytes, links).time for other in choice.candidates(collective, nbytes, links)
                )
                assert cost.cost(chosen, size, nbytes, links).time == least, (chosen, nbytes)


def test_short_vectors_want_few_rounds_and_long_ones_few_bytes() -> None:
    links = Links(15_000_000, 500)
    assert choice.choose("all_reduce", 16, 8, links).name == "recursive_doubling"
    assert choice.choose("all_reduce", 16, 1 << 26, links).name in ("rabenseifner", "ring")
    assert choice.choose("all_reduce", 15, 1 << 26, links).name == "circulant"
    assert choice.choose("broadcast", 16, 8, links).name == "binomial"
    assert choice.choose("broadcast", 16, 1 << 26, links).name == "chain"
    assert choice.choose("barrier", 16, 0, links).name == "dissemination"


def test_links_within_and_between_nodes_lead_to_the_hierarchy() -> None:
    links = TwoLevelLinks(1_000_000, 5, per_node=8, outer=Links(20_000_000, 800))
    assert choice.choose("all_reduce", 16, 1 << 26, links).algorithm == "hierarchical:per_node=8"
    assert choice.choose("all_reduce", 64, 1 << 26, links).algorithm == "rails:per_node=8"
    assert choice.choose("all_reduce", 64, 1 << 26, Links()).name != "hierarchical"


def test_what_is_asked_for() -> None:
    assert choice.choose("all_reduce", 4, 8, algorithm="ring") is ring.all_reduce
    assert choice.choose("all_reduce", 4, 8, algorithm=ring.all_reduce) is ring.all_reduce
    chain = choice.choose("broadcast", 4, 8, algorithm="chain:pieces=3")
    assert chain.total(4) == 3 and str(chain) == "chain broadcast (pieces=3)"
    with pytest.raises(ValueError, match="no algorithm 'rign' for all_reduce; there are auto, dir"):
        choice.choose("all_reduce", 4, 8, algorithm="rign")
    with pytest.raises(ValueError, match="must be like pieces=16"):
        choice.choose("broadcast", 4, 8, algorithm="chain:pieces=many")
    with pytest.raises(TypeError, match="has no option speed; it has pieces"):
        choice.choose("broadcast", 4, 8, algorithm="chain:speed=3")
    with pytest.raises(ValueError, match="ring all_reduce is not a schedule of broadcast"):
        choice.choose("broadcast", 4, 8, algorithm=ring.all_reduce)


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_ALGORITHM", "binomial")
    assert choice.choose("all_reduce", 8, 1 << 26).name == "binomial"
    assert choice.choose("all_to_all", 8, 8).name in choice.known("all_to_all"), "it has none"
    monkeypatch.setenv("MINITORCH_DIST_ALL_REDUCE_ALGORITHM", "ring")
    assert choice.choose("all_reduce", 8, 8).name == "ring"
    assert choice.choose("all_reduce", 8, 8, algorithm="direct").name == "direct"
    assert choice.choose("reduce", 8, 8).name == "binomial"
    monkeypatch.setenv("MINITORCH_DIST_ALGORITHM", "nonsense")
    with pytest.raises(ValueError, match="no collective has an algorithm 'nonsense'"):
        choice.choose("reduce", 8, 8)


def test_an_algorithm_within_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in (None, "binomial"):
        if before is not None:
            monkeypatch.setenv("MINITORCH_DIST_ALGORITHM", before)
        usual = choice.choose("all_reduce", 8, 1 << 10).name
        with pytest.raises(KeyError), choice.preferring("ring"):
            assert choice.choose("all_reduce", 8, 1 << 10).name == "ring" != usual
            raise KeyError
        assert choice.choose("all_reduce", 8, 1 << 10).name == usual


def other_way_round(rank: Rank, size: int) -> Steps:
    """A ring that turns to the left."""
    for step in range(size - 1):
        yield Exchange(
            (rank - 1) % size, (rank + step + 1) % size, (rank + 1) % size, (rank + step + 2) % size, reduce=True
        )
    for step in range(size - 1):
        yield Exchange((rank - 1) % size, (rank + step) % size, (rank + 1) % size, (rank + step + 1) % size)


@pytest.fixture
def left_ring() -> Iterator[None]:
    choice.register_schedule("all_reduce", "left_ring")(other_way_round)
    yield
    choice.forget_schedule("all_reduce", "left_ring")


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_schedule_of_ones_own(left_ring: None, size: int) -> None:
    def body() -> None:
        group: ProcessGroup = world.current().default_group
        for count in (0, 1, size, 1000):
            x = np.full(count, group.rank() + 1, np.int64)
            collectives.all_reduce(group, x, how=How("left_ring"))
            assert (x == size * (size + 1) // 2).all()

    launch(body, size, timeout=300)
    assert choice.choose("all_reduce", size, 8, algorithm="left_ring").name == "left_ring"


def test_a_wrong_schedule_is_not_registered() -> None:
    def wrong(rank: Rank, size: int) -> Steps:
        yield Exchange((rank + 1) % size, 0, (rank - 1) % size, 0, reduce=True, only=size > 1)

    with pytest.raises(ScheduleError, match="with 3 ranks: element 0 on rank 0 lacks rank 1"):
        choice.register_schedule("all_reduce", "wrong", lambda size: 1)(wrong)
    with pytest.raises(ValueError, match="'ring' is the name of a built-in algorithm"):
        choice.register_schedule("all_reduce", "ring")(other_way_round)
    with pytest.raises(ValueError, match="expected one of broadcast, reduce"):
        choice.register_schedule("all_reduction", "mine")(other_way_round)
    assert "wrong" not in choice.known("all_reduce")


def test_auto_passes_over_what_cannot_do_so_many_ranks() -> None:
    def pairs(rank: Rank, size: int) -> Steps:
        yield Exchange(rank ^ 1, 0, rank ^ 1, 0, reduce=True)

    choice.register_schedule("all_reduce", "pairs", lambda size: 1, sizes=[2])(pairs)
    try:
        assert choice.choose("all_reduce", 3, 8).name != "pairs"
        assert choice.choose("all_reduce", 2, 8, algorithm="pairs").name == "pairs"
    finally:
        choice.forget_schedule("all_reduce", "pairs")


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 33])
def test_who_wins_the_race_has_the_least_bill(collective: str, size: int) -> None:
    for links in (Links(), Links(0, 0), Links(5_000_000, 80, 3, 10**6), TwoLevelLinks(per_node=2)):
        for nbytes in (0, 64, 65536, 1 << 22):
            every = list(choice.candidates(collective, nbytes, links))
            bills = [cost.cost(schedule, size, nbytes, links).time for schedule in every]
            assert choice.race(every, size, nbytes, links) is every[bills.index(min(bills))]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9])
def test_formulas_promise_no_more_than_bills_keep(size: int) -> None:
    """What is exact is the bill's time, and nothing takes less than was promised."""
    kinds = (Links(), Links(0, 7), Links(0, 0, 5), Links(15_000_000, 500, 120), Links(5, 8, 3, 10**6))
    exact = 0
    for collective, name in formulas.FORMULAS:
        for nbytes in (0, 1000, 1 << 12):
            for links in kinds:
                schedule = choice.known(collective)[name]
                promise = formulas.least(schedule, size, nbytes, links)
                time = cost.cost(schedule, size, nbytes, links).time
                assert promise.time == time if promise.is_exact else promise.time <= time, (
                    schedule,
                    nbytes,
                    links,
                    promise,
                    time,
                )
                exact += promise.is_exact
    assert bool(exact) == (size > 1)  # circulant is exact wherever the ranks divide the vector


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_formulas_change_no_choice(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each schedule is chosen as it would be if all were played to their end."""
    kinds = Links(0, 7), Links(15_000_000, 500, 120), TwoLevelLinks(per_node=2)
    asked = [(collective, nbytes, links) for collective in COLLECTIVES for nbytes in (8, 1 << 17) for links in kinds]

    def chosen() -> list[str]:
        return [str(choice._cheapest.__wrapped__(kind, size, nbytes, links, False, 0)) for kind, nbytes, links in asked]

    quickly = chosen()
    monkeypatch.setattr(choice, "least", lambda *_: formulas.Least())
    assert chosen() == quickly


def test_the_first_call_on_two_ranks_asks_no_schedule_for_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(*_: object) -> Iterator[int]:
        raise AssertionError("a schedule was played")

    monkeypatch.setattr(choice, "_runner", ask)
    for nbytes in (8, 64, 1 << 10):
        assert choice._cheapest.__wrapped__("all_reduce", 2, nbytes, Links(), False, 0) is not None
