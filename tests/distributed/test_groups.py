"""Groups: who is in them, how ranks are numbered, and that two groups never meet."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch


def test_ranks_are_translated() -> None:
    def rank() -> Any:
        group = dist.new_group([4, 1, 3])
        me = dist.get_rank()
        if me not in (1, 3, 4):
            assert group == dist.GroupMember.NON_GROUP_MEMBER
            assert dist.get_rank(group) == dist.get_world_size(group) == -1
            with pytest.warns(
                UserWarning, match=f"Running isend on global rank {me} which does not"
            ):
                assert dist.isend(torch.zeros(1), 1, group) is None
            with pytest.raises(ValueError, match="Invalid process group specified"):
                dist.get_backend(group)
            return None
        assert dist.get_process_group_ranks(group) == [1, 3, 4]
        assert dist.get_world_size(group) == 3 == group.size()
        assert [dist.get_global_rank(group, r) for r in range(3)] == [1, 3, 4]
        assert dist.get_group_rank(group, me) == dist.get_rank(group) == group.rank()
        with pytest.raises(ValueError, match="Global rank 0 is not part of group"):
            dist.get_group_rank(group, 0)
        with pytest.raises(ValueError, match="Group rank 3 is not part of group"):
            dist.get_global_rank(group, 3)
        got = torch.zeros(1)
        if group.rank() == 0:
            dist.send(torch.ones(1), 4, group)
            dist.send(torch.ones(1) * 2, group=group, group_dst=1)
        elif group.rank() == 1:
            assert dist.recv(got, group=group, group_src=0) == 1
            assert got.item() == 2
        else:
            assert dist.recv(got, group=group) == 1
        return dist.get_rank(group)

    assert launch(rank, 5) == [None, 0, None, 1, 2]


def test_ranks_as_given() -> None:
    def rank() -> int:
        return dist.get_rank(dist.new_group([2, 0, 1], sort_ranks=False))

    assert launch(rank, 3) == [1, 2, 0]


def test_messages_of_groups_with_the_same_ranks_do_not_meet() -> None:
    def rank() -> None:
        groups = [None, dist.new_group(), dist.new_group([0, 1, 2]), dist.new_group([0, 1, 2])]
        if dist.get_rank() == 0:
            for n, group in enumerate(groups):
                dist.send(torch.tensor([n]), 1, group)
        elif dist.get_rank() == 1:
            got = torch.zeros(1, dtype=torch.int64)
            for n, group in reversed(list(enumerate(groups))):
                dist.recv(got, 0, group)
                assert got.item() == n

    launch(rank, 3)


def test_cross_wired_groups_are_told_apart() -> None:
    """Also to those who came first, and have done nothing wrong."""

    def rank() -> None:
        dist.new_group([0, 1] if dist.get_rank() < 2 else [2, 3])

    with pytest.raises(dist.DistMismatch) as caught:
        launch(rank, 4)
    text = str(caught.value)
    assert "new_group([0, 1])" in text and "new_group([2, 3])" in text
    assert text.count("test_groups.py:") == 2
    assert "every rank of the world must make the same groups in the same order" in text


def test_only_the_members_call_it() -> None:
    def rank() -> Any:
        me = dist.get_rank()
        if me == 0:
            return dist.new_group([1, 2], use_local_synchronization=True)
        groups = [dist.new_group([1, 2], use_local_synchronization=True) for _ in range(2)]
        other, got = 3 - me, torch.zeros(1)
        for n in (0, 1):
            dist.send(torch.tensor([float(n)]), other, groups[n])
        for n in (1, 0):
            dist.recv(got, other, groups[n])
            assert got.item() == n
        return [group.rank() for group in groups]

    assert launch(rank, 3) == [None, [0, 0], [1, 1]]


def test_split_and_subgroups() -> None:
    def rank() -> None:
        me = dist.get_rank()
        part = dist.split_group(split_ranks=[[0, 2], [3, 1, 4]])
        assert dist.get_process_group_ranks(part) == ([0, 2] if me in (0, 2) else [1, 3, 4]) if me < 5 else part is None  # fmt: skip
        if me in (1, 3, 4):
            again = dist.split_group(part, [[2, 0]])
            assert (again is None) == (me == 3)
            if again is not None:
                assert dist.get_process_group_ranks(again) == [1, 4]
        own, every = dist.new_subgroups(2)
        assert dist.get_process_group_ranks(own) == [me // 2 * 2, me // 2 * 2 + 1]
        assert [group == -100 for group in every].count(False) == 1 and len(every) == 3
        own, every = dist.new_subgroups_by_enumeration([[0, 5], [1, 2]])
        assert (own is None) == (me in (3, 4))
        for wrong, words in {
            0: "must be positive", 4: "must be divisible by 'group_size=4'", 7: "must not exceed",
        }.items():  # fmt: skip
            with pytest.raises(ValueError, match=words):
                dist.new_subgroups(wrong)
        with pytest.raises(ValueError, match="has appeared in both subgroup"):
            dist.new_subgroups_by_enumeration([[0, 1], [1, 2]])
        with pytest.raises(ValueError, match="cannot overlap"):
            dist.split_group(split_ranks=[[0, 1], [1, 2]])

    launch(rank, 6)


def test_wrong_arguments_in_torchs_words() -> None:
    def rank() -> None:
        with pytest.raises(ValueError, match="must not contain duplicate entries, got"):
            dist.new_group([0, 0])
        with pytest.raises(ValueError, match="should be less or equal to the world size"):
            dist.new_group(range(4))
        with pytest.raises(ValueError, match=r"Rank 3 is out of range. Valid ranks are 0 to 2"):
            dist.new_group([3])
        with pytest.raises(TypeError, match=r"type datetime.timedelta, got 30"):
            dist.new_group(timeout=30)
        assert dist.new_group(timeout=timedelta(seconds=5)).timeout == 5
        assert dist.get_pg_count() == 2

    launch(rank, 3)


def test_a_group_that_was_destroyed() -> None:
    def rank() -> None:
        group = dist.new_group()
        assert dist.get_pg_count() == 2
        assert "rank" in repr(group) and "open" in repr(group)
        dist.destroy_process_group(group)
        assert dist.get_pg_count() == 1 and "closed" in repr(group)
        with pytest.raises(ValueError, match="was destroyed"):
            dist.isend(torch.zeros(1), 0, group)
        with pytest.raises(ValueError, match="Invalid process group specified"):
            dist.destroy_process_group(group)
        dist.destroy_process_group(dist.GroupMember.NON_GROUP_MEMBER)
        assert dist.is_initialized() and dist.group.WORLD is dist.GroupMember.WORLD is not None

    launch(rank, 3)


def test_abort_wakes_who_waits() -> None:
    def rank() -> str:
        from minitorch_dist.distributed.mail.wire import Fingerprint

        group = dist.new_group()

        def wait_for_ever(operation: Any) -> None:
            operation.wait(operation.receive((group.rank() + 1) % 3, None))

        work = group.run(Fingerprint("barrier"), wait_for_ever, asynchronous=True)
        if dist.get_rank() == 1:
            group.abort()
        with pytest.raises(dist.DistError) as caught:
            work.wait()
        dist.barrier()  # the world goes on; nobody leaves before the others have heard
        return str(caught.value)

    for said in launch(rank, 3):
        assert "rank 1: the process group was aborted" in said
