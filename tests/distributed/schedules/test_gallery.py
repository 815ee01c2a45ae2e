"""Each algorithm of the gallery is right on all sizes of its domain, and costs what its paper says."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch_dist.distributed.schedules import ScheduleError, choice, domain, gallery, overtaking, proof
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links, TwoLevelLinks
from minitorch_dist.distributed.schedules.ports import PortTimes
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import BUILT_IN, GALLERY, ROOTED, Schedule

SIZES = [*range(1, 18), 32, 64]
ALL = [
    *GALLERY.values(),
    *(one.with_options(per_node=3) for one in GALLERY.values() if "per_node" in one.options),
    gallery.recursive_multiplying.all_reduce.with_options(radix=2),
    gallery.recursive_multiplying.all_reduce.with_options(radix=8),
]
every_one = pytest.mark.parametrize("schedule", ALL, ids=str)


def roots(schedule: Schedule, size: int) -> list[int | None]:
    return [*sorted({0, size // 2, size - 1})] if schedule.collective in ROOTED else [None]


@every_one
def test_it_is_right_on_all_sizes_of_its_domain(schedule: Schedule) -> None:
    for size in filter(schedule.serves, SIZES):
        for root in roots(schedule, size):
            for count in {0, 1, size - 1, max(2 * size, schedule.total(size)) + 1}:
                proof.prove(schedule, size, count, root)
            assert domain.may_run(schedule, size, root)
    for size in (3, 12) if not schedule.serves(3) else ():
        assert not domain.may_run(schedule, size)
        with pytest.raises(ScheduleError, match=f"is made for powers of two, and not for {size} ranks"):
            choice.choose(schedule.collective, size, 64, algorithm=schedule)


@every_one
def test_all_ranks_at_once_are_each_rank(schedule: Schedule) -> None:
    for size in filter(schedule.serves, SIZES):
        for root in roots(schedule, size):
            each = [[domain._plain(step, rank, size) for step in schedule.of(rank, size, root)] for rank in range(size)]
            assert domain._apart(schedule, size, root) == each


@every_one
def test_its_bill_is_that_of_its_messages(schedule: Schedule) -> None:
    generator = np.random.default_rng(0)
    for size in filter(schedule.serves, [*range(1, 10), 12, 13, 16, 17, 32]):
        for root in roots(schedule, size):
            n = int(generator.integers(0, 5 * size * size))
            links = Links(*generator.integers(0, 1000, 4).tolist())
            if size % 2:
                links = TwoLevelLinks(links.alpha, links.beta, per_node=3, outer=Links(999, 5, 1, 77))
            fast = cost(schedule, size, n, links, root=root)
            free = np.zeros(size, np.int64)
            finish, *_ = overtaking.play(schedule, schedule.sizes(size, n), links, PortTimes(free, free, free), root)
            replay = Replay(schedule, size, n, links=links, root=root).run()
            assert fast.finish.tolist() == finish.tolist()
            assert fast.sent.tolist() == replay.sent and fast.messages == replay.messages


def test_bine_trees_and_swing_are_nearer_than_halving() -> None:
    """The papers' claim: the way of a message on a ring of ranks is a third shorter."""

    def way(schedule: Schedule, size: int) -> int:
        found = 0
        for rank in range(size):
            for step in schedule.of(rank, size, 0):
                to = getattr(step, "to", rank)
                found += min((to - rank) % size, (rank - to) % size)
        return found

    for size in (16, 64, 256):
        assert way(gallery.bine.broadcast, size) <= 0.75 * way(BUILT_IN["broadcast", "binomial"], size)
        assert way(gallery.swing.all_reduce, size) <= 0.75 * way(BUILT_IN["all_reduce", "rabenseifner"], size)


def test_pat_sends_little_far_and_much_near() -> None:
    (far, *_, near) = list(gallery.pat.all_gather.of(0, 16))
    assert (far.to, len(far.send)) == (8, 1) and (near.to, len(near.send)) == (1, 8)
