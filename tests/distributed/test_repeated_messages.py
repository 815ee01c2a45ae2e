"""What was prepared for one message serves the next of its kind, and both arrive as by `isend` and `irecv`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import point_to_point, world
from minitorch_dist.distributed.torch_api import messages
from minitorch_dist.launching import launch

DTYPES = torch.float32, torch.bfloat16, torch.int64, torch.bool
SHAPES: tuple[tuple[int, ...], ...] = (0,), (), (1,), (3, 5), (70_000,)
TURNS = 20  # more than the transport lets pass without a look at everybody


def long_send(tensor: Any, to: int) -> None:
    dist.isend(tensor, to).wait()


def long_recv(tensor: Any, src: int) -> None:
    dist.irecv(tensor, src).wait()


def around(send: Callable[..., Any], recv: Callable[..., Any]) -> list[Any]:
    """What each rank gets from the one before it, and how often its tensors were written."""
    rank, size = dist.get_rank(), dist.get_world_size()
    found = []
    for dtype in DTYPES:
        for shape in SHAPES:
            for turn in range(TURNS):
                sent = torch.full(shape, 3 * rank + turn).to(dtype)
                got = torch.zeros(shape, dtype=dtype)
                before = got._version
                send(sent, (rank + 1) % size)
                recv(got, (rank - 1) % size)
                found.append((got.array.tobytes(), got._version - before))
    return found


def short_and_long() -> int:
    long = around(long_send, long_recv)
    assert around(dist.send, dist.recv) == long
    assert around(dist.send, long_recv) == long
    assert around(long_send, dist.recv) == long
    return len(long)


@pytest.mark.parametrize("size", [2, 3])
def test_short_and_long_agree_over_threads(size: int) -> None:
    assert launch(short_and_long, size, timeout=300) == [400] * size


@pytest.mark.slow
def test_short_and_long_agree_over_a_file(tmp_path: Path) -> None:
    assert launch(short_and_long, 3, f"file://{tmp_path}/ranks", timeout=300) == [400] * 3


def passes_the_mailbox() -> bool:
    """Whether a message reached its receiver without the inbox, in a rank that waited before it came.

    Which of two ranks is there first depends on the machine, so they play until both have seen it.
    """
    mailbox = world.current().mailbox
    handed_on = 0
    plain = mailbox.sink

    def counted(src: int, header: bytes, nbytes: int) -> Any:
        nonlocal handed_on
        handed_on += nbytes > 0
        return plain(src, header, nbytes)

    mailbox.sink = counted  # type: ignore[method-assign]
    mine, others = torch.zeros(4), torch.zeros(4)
    for turn in range(20_000):
        if dist.get_rank() == 0:
            dist.send(mine, 1)
            dist.recv(others, 1)
        else:
            dist.recv(others, 0)
            dist.send(mine, 0)
        if mine[0] and others[0]:
            return True
        mine.fill_(turn + 1 > handed_on)
    return False


@pytest.mark.slow
def test_over_a_file_they_pass_the_mailbox(tmp_path: Path) -> None:
    assert launch(passes_the_mailbox, 2, f"file://{tmp_path}/ranks", timeout=300) == [True, True]


def in_every_order() -> list[int]:
    """Rank 1 takes one by one, with tags, from anybody, posted beforehand, and late."""
    rank = dist.get_rank()
    x, found = torch.zeros(1, dtype=torch.int64), []

    def take(**how: Any) -> None:
        dist.recv(x, **how)
        found.append(int(x))

    for turn in range(3):
        if rank == 0:
            for number in range(8):
                dist.send(torch.tensor([10 * turn + number]), 1, tag=number % 2)
            dist.barrier()
            dist.recv(x, 1)
        else:
            posted = torch.zeros(1, dtype=torch.int64)
            work = dist.irecv(posted, 0)
            take(src=0)  # the second: the first belongs to what was posted before
            take(src=0, tag=1)
            dist.barrier()
            take(src=None)
            take(group_src=0, tag=1)
            take(src=0)
            for _ in range(2):
                take(src=0, tag=1)
            work.wait()
            found.append(int(posted))
            dist.send(x, 0)
    return found


@pytest.mark.parametrize(
    "transport", ["queue", pytest.param("file", marks=pytest.mark.slow), pytest.param("tcp", marks=pytest.mark.slow)]
)
def test_order_is_kept_between_both_ways(transport: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/ranks" if transport == "file" else transport
    _, found = launch(in_every_order, 2, address, timeout=300)
    each = [2, 1, 4, 3, 6, 5, 7, 0]
    assert found == [10 * turn + number for turn in range(3) for number in each]


def differing(kind: str) -> str:
    x = torch.ones(4)
    for _ in range(3):
        dist.send(x, 1) if dist.get_rank() == 0 else dist.recv(x, 0)
    try:
        if dist.get_rank() == 0:
            dist.send(torch.ones(5) if kind == "size" else torch.ones(4, dtype=torch.int32), 1)
        else:
            dist.recv(x, 0)
    except dist.DistMismatch as error:
        return str(error)
    return ""


@pytest.mark.parametrize("transport", ["queue", pytest.param("file", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("kind", "theirs"), [("size", r"float32\[5\]"), ("dtype", r"int32\[4\]")])
def test_what_does_not_fit_is_told_with_both_lines(kind: str, theirs: str, transport: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/ranks" if transport == "file" else transport
    quiet, said = launch(differing, 2, address, args=(kind,), timeout=300)
    assert quiet == ""
    for what in (r"recv \(float32\[4\]\)", rf"send \({theirs}\)"):
        assert re.search(what + r" at test_repeated_messages\.py:\d+", said), said


def leaving() -> str:
    x = torch.ones(4)
    for _ in range(3):
        dist.send(x, 1) if dist.get_rank() == 0 else dist.recv(x, 0)
    if dist.get_rank() == 1:
        return ""
    try:
        while True:
            dist.send(x, 1)
    except dist.PeerLost as lost:
        return str(lost)


@pytest.mark.parametrize("transport", ["queue", pytest.param("file", marks=pytest.mark.slow)])
def test_whoever_sends_to_nobody_is_told_where(transport: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/ranks" if transport == "file" else transport
    said, _ = launch(leaving, 2, address, timeout=300)
    assert "rank 1 is lost" in said
    assert "rank 0 sends to in send (float32[4]) at test_repeated_messages.py:" in said


def what_may_change() -> None:
    x, rank = torch.ones(4), dist.get_rank()
    group = dist.group.WORLD
    dist.send(x, 1 - rank)
    dist.recv(x, 1 - rank)
    assert len(group.prepared) == 2
    large = torch.ones(1 << 20)
    work = dist.isend(large, 1 - rank)  # beside us: what is sent now comes after it
    dist.send(x + 1, 1 - rank)
    dist.recv(large, 1 - rank)
    dist.recv(x, 1 - rank)
    assert x.tolist() == [2] * 4
    work.wait()
    with pytest.raises(ValueError, match="should not be the same as the rank"):
        dist.send(x, rank)
    with pytest.raises(TypeError, match="Expected parameter `tensor`"):
        dist.send(x.array, 1 - rank)
    dist.destroy_process_group()
    with pytest.raises(ValueError, match="not been initialized"):
        dist.send(x, 1 - rank)
    with pytest.raises(ValueError, match="destroyed"):
        dist.recv(x, 1 - rank, group=group)


def test_what_may_change_between_two_messages() -> None:
    launch(what_may_change, 2, timeout=300)


def roads() -> list[list[str]]:
    """What a second send or recv enters of the modules of messages, and the first did not."""
    rank, x = dist.get_rank(), torch.ones(4)
    found = []
    for call in (dist.send, dist.recv) if rank == 0 else (dist.recv, dist.send):
        entered: list[set[str]] = [set(), set()]
        for names in entered:

            def seen(frame: Any, event: str, _: Any, names: set[str] = names) -> None:
                module = frame.f_globals.get("__name__", "")
                if event == "call" and module in (messages.__name__, point_to_point.__name__):
                    names.add(frame.f_code.co_qualname)

            sys.setprofile(seen)
            call(x, 1 - rank)
            sys.setprofile(None)
        assert f"Prepared{'Send' if call is dist.send else 'Receive'}.run" in entered[1]
        found.append(sorted(entered[1] - entered[0]))
    return found


def test_the_second_message_takes_a_part_of_the_road_of_the_first() -> None:
    assert launch(roads, 2, timeout=300) == [[[], []]] * 2
