"""The same call again finds what was prepared for the first, and does what that did."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import collectives, prepared
from minitorch_dist.distributed.schedules import choice, direct
from minitorch_dist.distributed.schedules.steps import Rank, Steps
from minitorch_dist.launching import launch

Calls = dict[str, Callable[[Any], Any]]


def calls(rank: int, size: int, dtype: Any, count: int) -> Calls:
    """Each takes `algorithm=None` (short from the second time on) or "auto" (always the long way)."""

    def x(factor: int = 1) -> Any:
        return (torch.arange(count * factor) + 3 * rank).to(dtype)

    def on(tensor: Any, act: Callable[[Any], Any]) -> Any:
        before = tensor._version
        act(tensor)
        return tensor.array.tobytes(), tensor._version - before

    return {
        "broadcast": lambda a: on(x(), lambda t: dist.broadcast(t, size - 1, algorithm=a)),
        "sum": lambda a: on(x(), lambda t: dist.all_reduce(t, algorithm=a)),
        "max": lambda a: on(x(), lambda t: dist.all_reduce(t, dist.ReduceOp.MAX, algorithm=a)),
        "gather": lambda a: on(x(size), lambda t: dist.all_gather_single(t, x(), algorithm=a)),
        "in place": lambda a: on(
            x(size), lambda t: dist.all_gather_single(t, t[rank * count : (rank + 1) * count], algorithm=a)
        ),
        "elsewhere": lambda a: on(x(size), lambda t: dist.all_gather_single(t, t[t.numel() - count :], algorithm=a)),
        "scatter": lambda a: on(x(), lambda t: dist.reduce_scatter_single(t, x(size), algorithm=a)),
        "within": lambda a: on(x(size), lambda t: dist.reduce_scatter_single(t[:count], t, algorithm=a)),
        "across": lambda a: on(x(size), lambda t: dist.all_to_all_single(t, x(size), algorithm=a)),
        "stepped": lambda a: on(x(2), lambda t: dist.all_reduce(t[::2], algorithm=a)),
        "barrier": lambda a: dist.barrier(algorithm=a),
    }


def short_and_long() -> int:
    rank, size = dist.get_rank(), dist.get_world_size()
    compared = 0
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        for count in (0, 1, 7):
            for name, call in calls(rank, size, dtype, count).items():
                long = call("auto")
                for _ in range(3):
                    assert call(None) == long, (name, dtype, count)
                    compared += 1
    return compared


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_short_way_over_threads(size: int) -> None:
    assert launch(short_and_long, size, timeout=300) == [396] * size


@pytest.mark.slow
def test_the_short_way_on_a_board(tmp_path: Path) -> None:
    assert launch(short_and_long, 3, f"file://{tmp_path}/ranks", timeout=300) == [396] * 3


def what_may_change() -> None:
    """What was true of the first call and is not of the next."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.ones(4)
    dist.all_reduce(x)
    (key,) = (key for key, _ in dist.group.WORLD.prepared if key[0] == "all_reduce")
    found = prepared.repeated(None, key, pytest.fail)
    assert found is prepared.repeated(dist.group.WORLD, key, pytest.fail) is not None
    with pytest.raises(TypeError, match="Expected parameter `tensor`"):
        dist.all_reduce(np.ones(4, np.float32))
    work = dist.all_reduce(x, async_op=True)
    dist.all_reduce(x)  # comes after it
    work.wait()
    assert x.tolist() == [size**3] * 4
    if rank == 0:  # the registry is the process's, and the ranks are its threads
        choice.register_schedule("all_reduce", "mine", chunks=lambda size: 1)(_mine)
    dist.barrier(algorithm="direct")
    assert (key, len(choice.changes)) not in dist.group.WORLD.prepared
    dist.all_reduce(x)
    dist.barrier(algorithm="direct")
    if rank == 0:
        choice.forget_schedule("all_reduce", "mine")
    dist.barrier(algorithm="direct")
    group = dist.group.WORLD
    dist.destroy_process_group()
    with pytest.raises(ValueError, match="not been initialized"):
        dist.all_reduce(x)
    with pytest.raises(ValueError, match="destroyed"):
        dist.all_reduce(x, group=group)


def _mine(rank: Rank, size: int) -> Steps:
    yield from direct.all_reduce(rank, size)


def test_what_may_change_between_two_calls() -> None:
    launch(what_may_change, 2, timeout=300)


def differing() -> str:
    x = torch.ones(4 + dist.get_rank())
    for _ in range(3):
        dist.all_reduce(x[:4])
    try:
        dist.all_reduce(x)
    except dist.DistMismatch as error:
        return str(error)
    return ""


def test_a_mismatch_is_found_on_the_short_way_too() -> None:
    for said in launch(differing, 2, timeout=300):
        assert "rank 0 is in all_reduce #3 (float32[4], SUM)" in said
        assert "rank 1 is in all_reduce #3 (float32[5], SUM)" in said
        assert "test_repeated.py" in said


def roads() -> list[tuple[str, int, list[str]]]:
    """Of each call: how often `PreparedCall.run` was entered, and what only the second call enters."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x, whole, other = torch.ones(4), torch.ones(4 * size), torch.ones(4 * size)
    calls: dict[str, Callable[[], Any]] = {
        "broadcast": lambda: dist.broadcast(x, size - 1),
        "all_reduce": lambda: dist.all_reduce(x),
        "all_gather": lambda: dist.all_gather_single(whole, x),
        "reduce_scatter": lambda: dist.reduce_scatter_single(x, whole),
        "all_to_all": lambda: dist.all_to_all_single(other, whole),
        "barrier": lambda: dist.barrier(),
    }
    found = []
    for name, call in calls.items():
        entered: list[list[str]] = [[], []]
        for names in entered:

            def seen(frame: Any, event: str, _: Any, names: list[str] = names) -> None:
                module = frame.f_globals.get("__name__", "")
                above = module.startswith("minitorch_dist.distributed.torch_api") or module in (
                    collectives.__name__,
                    prepared.__name__,
                )
                if event == "call" and above:
                    names.append(f"{module}.{frame.f_code.co_qualname}")

            sys.setprofile(seen)
            call()
            sys.setprofile(None)
        runs = sum(each.endswith("PreparedCall.run") for names in entered for each in names)
        found.append((name, runs, sorted(set(entered[1]) - set(entered[0]))))
    assert rank < size
    return found


@pytest.mark.parametrize("size", [2, 3])
def test_the_second_call_takes_a_part_of_the_road_of_the_first(size: int) -> None:
    """It enters nothing new, and a breakpoint in `PreparedCall.run` sees both. Below, how long a
    rank waits decides what is entered."""
    for rank in launch(roads, size, timeout=300):
        for name, runs, more in rank:
            assert runs == 2, name
            assert more == [], name


def warned_at_our_line() -> None:
    """A rank outside a group is warned at the line of its call, whichever function of ours notices it."""
    outside = dist.GroupMember.NON_GROUP_MEMBER
    x, two = torch.ones(4), torch.ones(2, 4)
    calls = (
        lambda: dist.all_reduce(x, group=outside),
        lambda: dist.all_gather_single(two, x, group=outside),
        lambda: dist.send(x, 0, group=outside),
        lambda: dist.send(two.t(), 0, group=outside),
    )
    for call in calls:
        with pytest.warns(UserWarning, match="does not belong to the given group") as noted:
            call()
        assert noted[0].filename == __file__


def test_a_rank_outside_a_group_is_warned_at_its_line() -> None:
    launch(warned_at_our_line, 1)
