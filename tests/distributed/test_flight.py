"""A timeout says what everybody was doing; levels of debugging; groups without the dead."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import flight, world
from transports.clock import SYSTEM


def diverge(is_told: threading.Event) -> str:
    """Ranks 0 and 1 come to an all_reduce, rank 2 waits for rank 3 in recv, rank 3 is busy.

    Rank 0 gives up soon, and comes when the two others have noted that they wait.
    """
    me, mailbox = dist.get_rank(), world.current().mailbox
    group = dist.new_group()
    dist.barrier(group)
    dist.all_gather_object([None] * 4, me, group)
    mailbox.slow = 0.05
    try:
        if me == 0:
            while not all(mailbox.flight._note(rank) for rank in (1, 2)):
                SYSTEM.sleep(0.01)
            group.set_timeout(0.3)
        if me < 2:
            dist.all_reduce(torch.ones(3), group=group)
        elif me == 2:
            dist.recv(torch.zeros(1), 3)
        else:
            is_told.wait()
            dist.send(torch.zeros(1), 2)
    except dist.DistError as error:
        is_told.set()
        dist.barrier()
        return str(error)
    dist.barrier()
    return ""


def to_own_root() -> str:
    with pytest.raises(dist.DistMismatch) as caught:
        dist.reduce(torch.ones(3), dist.get_rank())
    return str(caught.value)


def to_own_list() -> str:
    parts = [torch.zeros(3) for _ in range(dist.get_world_size())]
    with pytest.raises(dist.DistMismatch) as caught:
        dist.gather(torch.ones(3), parts, dist.get_rank())
    return str(caught.value)


@pytest.mark.slow
def test_a_timeout_tells_who_waits_in_what() -> None:
    said = launch(diverge, 4, args=(threading.Event(),))
    lines = said[0].split("\n  ")
    assert re.match(r"rank 0 waited \d+\.\d s for rank", lines[0]), lines
    assert any(line.startswith("rank 1: waits for rank") for line in lines), lines
    assert any(line.startswith("rank 2: waits for rank 3 in recv") for line in lines), lines
    # Rank 0 tells what it knows. In the all_gather it hears 1 and 2 only.
    assert any(line.startswith("rank 3: last heard in barrier #0") for line in lines), lines
    before = lines[-1]
    assert before.startswith("this rank did before: all_gather_object #1"), before
    assert "barrier #0 at test_flight.py:" in before


@pytest.mark.parametrize("call", [to_own_root, to_own_list])
@pytest.mark.parametrize("transport", ["queue://", pytest.param("file://", marks=pytest.mark.slow)])
def test_ranks_that_all_wait_are_told_what_they_do_differently(
    call: Callable[[], str], transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody sends, so no message can show it; the notes of those who wait do."""
    monkeypatch.setenv("MINITORCH_DIST_SLOW", "0.3")
    for said in launch(call, 3, transport):
        assert said.startswith("these ranks should do the same: rank "), said
        assert said.count("root") == 2 and said.count("test_flight.py") == 2, said


@pytest.mark.parametrize("transport", ["queue://", "sim://"])
@pytest.mark.parametrize("size", [2, 3])
def test_a_barrier_with_a_limit_of_its_own(size: int, transport: str) -> None:
    def rank() -> None:
        dist.barrier(timeout=timedelta(seconds=600))
        with pytest.raises(TypeError, match=r"of type datetime\.timedelta, got 3"):
            dist.barrier(timeout=3)  # type: ignore[arg-type]
        group = dist.new_group(range(size))
        if dist.get_rank() == 0:
            seconds = r"0\.2 s of virtual" if transport == "sim://" else r"\d+\.\d s"
            with pytest.raises(dist.DistTimeout, match=f"rank 0 waited {seconds}"):
                dist.barrier(group, timeout=timedelta(seconds=0.2))
        dist.barrier()

    launch(rank, size, transport)


def test_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, operations in (("", 3), ("OFF", 3), ("INFO", 10), ("detail", 64)):
        monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", name)
        assert flight.operations_to_tell() == operations
    monkeypatch.setenv("TORCH_DISTRIBUTED_DEBUG", "LOUD")
    with pytest.raises(RuntimeError, match="must be OFF, INFO, or DETAIL, not 'LOUD'"):
        flight.operations_to_tell()


def test_lists_that_differ_are_told_to_all() -> None:
    """Also to those who came first, and whose lists the others should have passed."""

    def rank() -> str:
        me = dist.get_rank()
        try:
            dist.new_group([0, 1] if me < 2 else [2, 3])
            for _ in range(3):
                dist.barrier()
        except dist.DistMismatch as error:
            return str(error)
        return ""

    for text in launch(rank, 4):
        assert "[0, 1]" in text and "[2, 3]" in text and "test_flight.py:" in text, text


def uneven(transport: str = "") -> str:
    try:
        for _ in range(3 + (dist.get_rank() != 1)):
            dist.all_reduce(torch.ones(2))
    except dist.PeerLost as error:
        return str(error)
    finally:
        dist.destroy_process_group()
    return ""


def test_a_rank_with_fewer_batches_is_named_and_join_too() -> None:
    said = launch(uneven, 3)
    assert said[1] == ""
    for text in (said[0], said[2]):
        assert "rank 1 is lost" in text and "all_reduce #3" in text
        assert "less to do than the others, see algorithms.join.Join" in text
