"""Groups: who is in them, how ranks are numbered, and that two groups never meet."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import world


def test_ranks_are_translated() -> None:
    def rank() -> Any:
        group = dist.new_group([4, 1, 3])
        me = dist.get_rank()
        if me not in (1, 3, 4):
            assert group == dist.GroupMember.NON_GROUP_MEMBER
            assert dist.get_rank(group) == dist.get_world_size(group) == -1
            with pytest.warns(UserWarning, match=f"Running isend on global rank {me} which does not"):
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


@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_cross_wired_groups_are_told_apart(transport: str) -> None:
    """At the call, to all ranks: also to those who came first, and have done nothing wrong."""

    def rank() -> str:
        try:
            dist.new_group([0, 1] if dist.get_rank() < 2 else [2, 3])
        except dist.DistMismatch as error:
            return str(error)
        return ""

    for text in launch(rank, 4, transport):
        assert re.search(r"new_group #0 \(\[0, 1\]\) at test_groups\.py:\d+ of group", text), text
        assert re.search(r"new_group #0 \(\[2, 3\]\) at test_groups\.py:\d+ of group", text)
        assert "Every rank of the world must make the same groups in the same order" in text


def calls(rank: int) -> dict[str, tuple[Callable[[], Any], str]]:
    """Calls that do not go together, and what is said of them."""
    return {
        "lists": (
            lambda: dist.new_subgroups_by_enumeration([[0, 1], [2]] if rank else [[0], [1, 2]]),
            r"new_group #0 \(\[0 \| 1, 2\]\).*new_group #0 \(\[0, 1 \| 2\]\)",
        ),
        "something else": (
            lambda: dist.new_group([0, 1]) if rank else dist.barrier(),
            r"barrier #0 at test_groups\.py:\d+.*new_group #0 \(\[0, 1\]\)",
        ),
        "order": (
            lambda: dist.new_group([0, 1] if rank else [1, 0], sort_ranks=False),
            r"new_group #0 \(\[1, 0\]\).*new_group #0 \(\[0, 1\]\)",
        ),
    }


@pytest.mark.parametrize("name", calls(0))
def test_calls_that_do_not_go_together(name: str) -> None:
    def rank() -> str:
        act, pattern = calls(dist.get_rank())[name]
        try:
            act()
        except dist.DistMismatch as error:
            return str(error) if re.search(pattern, str(error)) is None else "told"
        return "nothing"

    said = launch(rank, 3)
    assert "told" in said and "nothing" not in said, said


def test_long_lists_that_differ_are_told_as_well() -> None:
    def rank() -> None:
        ranks = list(range(70))
        dist.new_group(ranks if dist.get_rank() else ranks[:-1] + [71])

    with pytest.raises(dist.DistMismatch, match=r"new_group #0 \(\[0, 1, 2.*, 7, … 70 in all\]\)"):
        launch(rank, 72, "sim://")


def test_it_returns_when_all_have_come() -> None:
    def rank() -> list[float]:
        clock, me = world.current().clock, dist.get_rank()
        came = []
        for make in (lambda: dist.new_group([0, 2]), lambda: dist.new_subgroups_by_enumeration([[0], [1, 2]])):
            clock.sleep(1.0 if me == 2 else 0.0)
            make()
            came.append(clock.now() // 10**12)
        return came

    assert launch(rank, 3, "sim://") == [[1, 2]] * 3


def test_who_does_not_come_is_named() -> None:
    def rank() -> str:
        me = dist.get_rank()
        try:
            if me != 1:
                limit = timedelta(seconds=0.2)
                dist.new_group([0, 1, 2], limit)
        except dist.DistTimeout as late:
            return str(late)
        except dist.DistError:
            return "another was told first"
        world.current().clock.sleep(3)
        return ""

    said = launch(rank, 3, "sim://")
    assert any(re.search(r"waited 0\.2 s of virtual time for rank [12] in new_group #0", text) for text in said), said
    assert any("rank 1: nothing was heard of rank 1 since the start" in text for text in said), said


@pytest.mark.parametrize("size", [2, 3, 5])
def test_who_is_lost_meanwhile_is_named(size: int) -> None:
    def rank() -> str:
        if dist.get_rank() == 1:
            return ""
        try:
            dist.new_group([0, 1])
        except dist.PeerLost as lost:
            return f"{lost.rank} {lost}"
        return "made"

    for place, text in enumerate(launch(rank, size)):
        assert text.startswith("1 rank 1 is lost") == (place != 1), text


def test_subgroups() -> None:
    def rank() -> None:
        me = dist.get_rank()
        own, every = dist.new_subgroups_by_enumeration([[0, 1], [2, 3], [4, 5]])
        assert dist.get_process_group_ranks(own) == [me // 2 * 2, me // 2 * 2 + 1]
        assert [group == -100 for group in every].count(False) == 1 and len(every) == 3
        own, every = dist.new_subgroups_by_enumeration([[0, 5], [1, 2]])
        assert (own is None) == (me in (3, 4))
        with pytest.raises(ValueError, match="has appeared in both subgroup"):
            dist.new_subgroups_by_enumeration([[0, 1], [1, 2]])
        with pytest.raises(NotImplementedError, match="use_local_synchronization"):
            dist.new_group([0, 1], use_local_synchronization=True)

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
        assert len(world.current().groups) == 2

    launch(rank, 3)


def test_a_group_that_was_destroyed() -> None:
    def rank() -> None:
        group = dist.new_group()
        assert len(world.current().groups) == 2
        assert "rank" in repr(group) and "open" in repr(group)
        dist.destroy_process_group(group)
        assert len(world.current().groups) == 1 and "closed" in repr(group)
        with pytest.raises(ValueError, match="was destroyed"):
            dist.isend(torch.zeros(1), 0, group)
        with pytest.raises(ValueError, match="Invalid process group specified"):
            dist.destroy_process_group(group)
        dist.destroy_process_group(dist.GroupMember.NON_GROUP_MEMBER)
        assert dist.is_initialized() and dist.group.WORLD is dist.GroupMember.WORLD is not None

    launch(rank, 3)
