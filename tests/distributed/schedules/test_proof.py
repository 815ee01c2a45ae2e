"""Every schedule holds every contribution once; planted mistakes are found, and told in words."""

from __future__ import annotations

import numpy as np
import pytest

from minitorch_dist.distributed.schedules import Schedule, ScheduleError, cost, domain, proof, ring
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.steps import Combine, Exchange, Rank, Receive, Send, Steps
from tests.distributed.schedules.all_schedules import every_schedule, roots

BUDGET = 1.2  # the least bytes, and a little for chunks of unequal size


@every_schedule
def test_every_element_holds_every_rank_exactly_once(schedule: Schedule) -> None:
    for size in [*range(1, 14), 16, 17, 33]:
        for root in roots(schedule, size):
            domain.prove(schedule, size, root)


@every_schedule
def test_no_schedule_needs_sends_that_do_not_wait(schedule: Schedule) -> None:
    for size in range(1, 18):
        for root in roots(schedule, size):
            Replay(schedule, size, 3 * size, root=root, rendezvous=True).run()


# Wrong versions of all_reduce that people have written. `scratch` chunks begin behind the last.


def tutorial_of_2019(rank: Rank, size: int) -> Steps:
    """Two buffers take turns, and one branch adds the one that was sent (pytorch#31572)."""
    one, other = 1, 2
    yield Combine(one, 0, reduce=False)
    for step in range(size - 1):
        yield Exchange((rank + 1) % size, one, (rank - 1) % size, other)
        yield Combine(0, one if step % 2 else other)
        one, other = (one, other) if step % 2 else (other, one)


def whole_vector_round_the_ring(rank: Rank, size: int) -> Steps:
    """Right, with p/2 times the bytes (ARENA#407)."""
    yield Combine(1, 0, reduce=False)
    for _ in range(size - 1):
        yield Exchange((rank + 1) % size, 1, (rank - 1) % size, 1)
        yield Combine(0, 1)


def plus_for_minus(rank: Rank, size: int) -> Steps:
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(size - 1):
        yield Exchange(right, (rank + step) % size, left, (rank + step - 1) % size, reduce=True)
    yield from ring.all_gather(rank, size)


def accumulate_into_zeros(rank: Rank, size: int) -> Steps:
    """Starts from an empty buffer: right for sums, wrong for maxima of negative numbers."""
    yield Combine(1, 0, reduce=True)
    yield Combine(2, 0, reduce=False)
    for _ in range(size - 1):
        yield Exchange((rank + 1) % size, 2, (rank - 1) % size, 2)
        yield Combine(1, 2)
    yield Combine(0, 1, reduce=False)


def doubling_for_powers_only(rank: Rank, size: int) -> Steps:
    distance = 1
    while distance < size:
        yield Exchange(rank ^ distance, 0, rank ^ distance, 0, reduce=True)
        distance *= 2


def forwards_its_accumulator(rank: Rank, size: int) -> Steps:
    for _ in range(size - 1):
        yield Exchange((rank + 1) % size, 0, (rank - 1) % size, 0, reduce=True)


def send_before_receive(rank: Rank, size: int) -> Steps:
    right, left = (rank + 1) % size, (rank - 1) % size
    for step in range(size - 1):
        yield Send(right, (rank - step - 1) % size)
        yield Receive(left, (rank - step - 2) % size, reduce=True)
    yield from ring.all_gather(rank, size)


def adds_into_what_it_still_sends(rank: Rank, size: int) -> Steps:
    """Adds in place before it passes on: what goes round grows."""
    yield Combine(1, 0, reduce=False)
    for _ in range(size - 1):
        yield Exchange((rank + 1) % size, 1, (rank - 1) % size, 2)
        yield Combine(1, 2)
    yield Combine(0, 1, reduce=False)


def everything_through_rank_0(rank: Rank, size: int) -> Steps:
    """Right, and rank 0 pays for all."""
    for other in range(1, size):
        yield Send(0, 0, only=rank == other)
        yield Receive(other, 0, reduce=True, only=rank == 0)
    for other in range(1, size):
        yield Send(other, 0, only=rank == 0)
        yield Receive(0, 0, only=rank == other)


def copies_a_finished_chunk(rank: Rank, size: int) -> Steps:
    """Each element has each rank once, and the first chunk's elements are those of the second."""
    yield from ring.all_reduce(rank, size)
    yield Combine(0, 1, reduce=False)


def adds_another_chunk(rank: Rank, size: int) -> Steps:
    """Rank 1 gives a part of chunk 1 for what it owes to chunk 0."""
    yield Combine(0, 1, reduce=False, only=rank == 1)
    yield from ring.all_reduce(rank, size)


def without_remainder(count: int, chunks: int) -> np.ndarray:
    return np.full(chunks, count // chunks)


def planted(steps, whole: bool = False, **more) -> Schedule:
    chunks = (lambda size: 1) if whole else (lambda size: size)
    return Schedule("all_reduce", steps.__name__, steps, chunks, **more)


MUTANTS = {
    "tutorial": (planted(tutorial_of_2019, whole=True), "has rank"),
    "whole vector": (planted(whole_vector_round_the_ring, whole=True), "would do"),
    "plus for minus": (planted(plus_for_minus), "lacks rank"),
    "remainder": (
        Schedule("all_reduce", "no remainder", ring.all_reduce.steps, layout=without_remainder),
        "it is in no chunk",
    ),
    "zeros": (planted(accumulate_into_zeros, whole=True), "holds nothing yet"),
    "powers only": (planted(doubling_for_powers_only, whole=True), "does not exist"),
    "forwards": (planted(forwards_its_accumulator, whole=True), "6 times"),
    "send first": (planted(send_before_receive), "a circle: 0 → 1 → 2 → 3 → 4 → 0"),
    "in place": (planted(adds_into_what_it_still_sends, whole=True), "has rank"),
    "copies": (planted(copies_a_finished_chunk), "is one of chunk 1, not of 0"),
    "another chunk": (planted(adds_another_chunk), "one is a part of chunk"),
    "through rank 0": (planted(everything_through_rank_0, whole=True), "would do"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_mistake_is_found(name: str) -> None:
    mutant, words = MUTANTS[name]
    complaints = proof.examine(mutant, 5, 1002, budget=BUDGET)
    assert any(words in complaint for complaint in complaints), complaints


def test_the_right_ring_passes_the_same_examination() -> None:
    for size in range(1, 9):
        assert proof.examine(ring.all_reduce, size, 1002, budget=BUDGET) == []


def test_two_ranks_prove_little() -> None:
    """Most of these mistakes are invisible with two ranks, which is why no test uses only two."""
    passed = [name for name, (mutant, _) in MUTANTS.items() if not proof.examine(mutant, 2, 1000)]
    assert {"tutorial", "whole vector", "powers only", "forwards", "in place"} <= {*passed}


def test_what_is_wrong_is_said_in_words() -> None:
    def reduce(rank: Rank, size: int, root: int = 0) -> Steps:
        for other in (1, 1):
            yield Send(root, 0, only=rank == other)
            yield Receive(other, 0, reduce=True, only=rank == root)

    careless = Schedule("reduce", "careless", reduce, lambda size: 1)
    said = "element 0 on rank 0 has rank 1 twice and lacks rank 2"
    assert proof.examine(careless, 3, root=0) == [said]
    with pytest.raises(ScheduleError, match=f"careless reduce with 3 ranks: {said}"):
        proof.prove(careless, 3)


def test_a_message_that_nobody_takes() -> None:
    def steps(rank: Rank, size: int) -> Steps:
        yield Send((rank + 1) % size, 0, only=rank == 0)

    lonely = planted(steps)
    assert "never received" in proof.examine(lonely, 3)[0]
    with pytest.raises(ScheduleError, match="from rank 0 to rank 1 is never received"):
        cost.cost(lonely, 3, 10)


def test_a_message_that_nobody_sends() -> None:
    def steps(rank: Rank, size: int) -> Steps:
        yield Receive((rank + 1) % size, 0, only=rank == 0)

    lonely = planted(steps)
    assert "rank 0 waits in Receive: chunk 0 from rank 1" in proof.examine(lonely, 3)[0]
    with pytest.raises(ScheduleError, match="rank 0 waits for a message from rank 1"):
        cost.cost(lonely, 3, 10)


def test_a_barrier_that_lets_someone_through() -> None:
    def barrier(rank: Rank, size: int) -> Steps:
        yield Exchange((rank + 1) % size, (), (rank - 1) % size, ())

    leaky = Schedule("barrier", "leaky", barrier, lambda size: 0)
    assert proof.examine(leaky, 2) == []
    assert proof.examine(leaky, 4)[0] == ("rank 0 leaves before it can know that ranks 1 and 2 arrived")


def test_chunks_must_be_named_alike_by_both_sides() -> None:
    def steps(rank: Rank, size: int) -> Steps:
        yield Exchange((rank + 1) % size, rank, (rank - 1) % size, rank)

    swapped = Schedule("all_gather", "swapped", steps)
    assert "takes chunks [1] from rank 0, which sent [0]" in proof.examine(swapped, 3)[0]
