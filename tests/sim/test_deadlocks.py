"""What is said where nobody can go on, and that it is said at once."""

from __future__ import annotations

import re

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim


def crossed() -> None:
    """Ranks 0 and 2 wait for what rank 1 sends when rank 0 has sent: a circle of two."""
    rank, x = dist.get_rank(), torch.ones(8)
    dist.all_reduce(x)
    if rank == 0:
        dist.all_reduce(x)  # the others come
        dist.recv(x, 1)
        dist.send(x, 1)
    elif rank == 1:
        dist.all_reduce(x)
        dist.recv(x, 0)
        dist.send(x, 0)
    else:
        dist.all_reduce(x)


def test_whom_in_what_where_what_was_sent_last_and_the_circle() -> None:
    with pytest.raises(sim.Deadlock) as caught:
        sim.run(crossed, 3)
    said, line = str(caught.value), crossed.__code__.co_firstlineno
    recv = "recv (float32[8]) at test_deadlocks.py"
    assert f"rank 0 waits for rank 1 in {recv}:{line + 6} of group 'default_pg'; its last message" in said
    assert f"rank 1 waits for rank 0 in {recv}:{line + 10} of group 'default_pg'" in said
    assert "in all_reduce #1, step " in said and "rank 2 is finished, since" in said
    assert "In a circle each rank waits for the next: 0 → 1 → 0." in said and "op #" not in said


def test_a_step_of_a_collective_is_named() -> None:
    def program() -> None:
        group = dist.new_group([0, 1], group_desc="pair")
        if dist.get_rank() == 0:
            dist.all_reduce(torch.ones(8), group=group)
        else:
            dist.barrier()

    with pytest.raises(sim.Deadlock) as caught:
        sim.run(program, 2)
    said = str(caught.value)
    assert "rank 0 waits for rank 1 in all_reduce #0 (float32[8], SUM) at test_deadlocks.py:" in said
    assert "of group 'pair', step " in said and "of group 'default_pg', step " in said
    assert "op #0 of group 'pair' is {all_reduce (float32[8], SUM): 0; missing: 1}" in said
    assert "op #1 of group 'default_pg' is {barrier: 1; missing: 0}" in said


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_rank_that_ended_early_is_named(size: int) -> None:
    def program() -> None:
        for turn in range(3):
            if (dist.get_rank(), turn) == (size - 1, 2):
                return
            dist.all_reduce(torch.ones(1))

    with pytest.raises(dist.DistError) as caught:
        sim.run(program, size)
    said = "\n".join([str(caught.value), *caught.value.__notes__])
    assert re.search(rf"missing: [^}}]*\b{size - 1}\}}", said)
    assert f"rank {size - 1} returned from its function at " in said
    assert "after op #1; it did not come to #2" in said


def test_sixty_four_ranks_are_told_at_once() -> None:
    def program() -> None:
        dist.recv(torch.zeros(1), (dist.get_rank() + 1) % 64)

    with pytest.raises(sim.Deadlock, match=r"→ 63 → 0\.") as caught:
        sim.run(program, 64)
    assert "… and 24 more" in str(caught.value)


def test_who_is_missing_comes_before_who_is_only_late() -> None:
    """Of 40 ranks one has returned, and most are an operation behind."""

    def program() -> None:
        for turn in range(9):
            if (dist.get_rank(), turn) == (33, 8):
                return
            dist.barrier()

    with pytest.raises(dist.DistError) as caught:
        sim.run(program, 40)
    note = caught.value.__notes__[0].splitlines()
    assert note[2].startswith("  rank 33 returned from its function at ")
