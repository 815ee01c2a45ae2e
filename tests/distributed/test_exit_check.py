"""What only the very end of a program shows: operations after which nobody reads any more."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import exit_check, leftover_messages, world
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.wire import Fingerprint
from minitorch_dist.testing.strictness import strict
from tests.distributed import nursery
from tests.transports.brokers import KEY, Broker
from transports import keys
from transports.clock import SYSTEM

SIZES = [2, 3, 5]
LINE = r"at test_exit_check\.py:\d+"


def two_roots(me: int) -> None:
    dist.broadcast(torch.ones(3), me % 2)


def shapes(me: int) -> None:
    dist.broadcast(torch.ones(3 + me % 2), me % 2)


def another_operation(me: int) -> None:
    dist.broadcast(torch.ones(3), 1) if me == 1 else dist.all_reduce(torch.ones(3))


def one_more(me: int) -> None:
    if me == 0:
        dist.broadcast(torch.ones(3), 0)


def in_a_group(me: int) -> None:
    group = dist.new_group([0, 1])
    if me == 0:
        dist.broadcast(torch.ones(3), 0, group)


def asynchronous(me: int) -> None:
    work = dist.broadcast(torch.ones(3), me % 2, async_op=True)
    assert work is not None
    work.wait()


ROOTED = rf"broadcast #1 \(float32\[[34]\], root [01]\) {LINE}"
WRONG: dict[Callable[[int], None], list[str]] = {
    two_roots: [f"{ROOTED}.*{ROOTED}"],
    shapes: [f"{ROOTED}.*{ROOTED}"],
    another_operation: [rf"all_reduce #1 .*{LINE}", ROOTED],
    one_more: [ROOTED, rf"it has left,? after barrier #0 {LINE}"],
    in_a_group: [rf"broadcast #\d .*{LINE} of group '1'"],
    asynchronous: [f"{ROOTED}.*{ROOTED}"],
}


def tells(what: Callable[[int], None], text: str) -> bool:
    return all(re.search(pattern, text) for pattern in WRONG[what])


def wrong_at_the_end(what: Callable[[int], None], destroys: bool) -> None:
    dist.barrier()
    what(dist.get_rank())
    if destroys:
        dist.destroy_process_group()


@pytest.mark.parametrize("destroys", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_it_is_told(transport: str, what: Callable[[int], None], size: int, destroys: bool) -> None:
    with pytest.raises((dist.DistMismatch, dist.PeerLost)) as caught:
        launch(wrong_at_the_end, size, transport, args=(what, destroys))
    assert tells(what, str(caught.value)), str(caught.value)


def barrier_and(rank: int, what: Callable[[int], None]) -> None:
    dist.barrier()
    what(rank)


def fine(rank: int) -> None:
    """Ends at other times, with works that nobody has waited for, and in a group of its own."""
    group = dist.new_group([0, 1])
    work = dist.all_reduce(torch.ones(3), async_op=True)
    assert work is not None
    if rank < 2:
        dist.broadcast(torch.ones(3), 1, group)
    work.wait()
    if rank == 1:
        SYSTEM.sleep(0.02)


def worlds(addresses: list[str], sizes: list[int], some: int | None = None) -> None:
    plan = [
        nursery.World(address.format(n=size, what=what.__name__), size, barrier_and, (what,))
        for address in addresses
        for size in sizes
        for what in (fine, *WRONG)[:some]
    ]
    for results, made in zip(nursery.run(plan, at_once=4), plan, strict=True):
        what: Any = made.given[0]
        assert len(results) == made.size
        if what is fine:
            assert results == [None] * made.size
        else:
            told = [text for text in results if text]
            assert told, (made.address, what.__name__)
            assert any(tells(what, text) for text in told), told


@pytest.mark.slow
def test_over_tcp_and_file(tmp_path: Path) -> None:
    worlds(["tcp://", f"file://{tmp_path}/{{what}}{{n}}"], SIZES)


def slow_and_right(rank: int) -> None:
    if rank == 1:
        SYSTEM.sleep(2 * exit_check.SHORTEST)


def slow_and_wrong(rank: int) -> None:
    two_roots(rank)
    slow_and_right(rank)


def killed(rank: int) -> None:
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_whoever_is_late_knows_and_nobody_waits_for_the_dead(tmp_path: Path) -> None:
    plan = [
        nursery.World(address.format(n=size, what=what.__name__), size, barrier_and, (what,))
        for address in ("tcp://", f"file://{tmp_path}/{{what}}{{n}}")
        for size in (2, 3)
        for what in (slow_and_right, slow_and_wrong, killed)
    ]
    for results, made in zip(nursery.run(plan, at_once=4), plan, strict=True):
        if made.given[0] is slow_and_wrong:
            assert tells(two_roots, results[1] or ""), (made.address, results)
        else:
            assert results == [None] * made.size, made.address


@pytest.mark.slow
def test_over_mqtt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, KEY)
    broker = Broker("embedded")
    try:
        worlds([broker.address + "/{what}{n}"], [3], 4)
    finally:
        broker.stop()


# ---------------------------------------------------------------------------------- no false alarms


@pytest.mark.parametrize("transport", ["queue://", "sim://"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 40])
def test_a_right_program_ends_without_a_word(transport: str, size: int, caplog: pytest.LogCaptureFixture) -> None:
    def rank() -> None:
        me = dist.get_rank()
        groups = [dist.new_group([low, (low + 1) % size]) for low in range(size - 1)]
        for number, group in enumerate(groups):
            if me in (number, number + 1):
                dist.all_reduce(torch.ones(2), group=group)
        x = torch.zeros(1)
        if size > 1:
            dist.batch_isend_irecv(
                [dist.P2POp(dist.isend, torch.ones(1), (me + 1) % size), dist.P2POp(dist.irecv, x, (me - 1) % size)]
            )[1].wait()
        if groups and me < 2:
            dist.destroy_process_group(groups[0])

    launch(rank, size, transport)
    assert not caplog.records


def test_who_has_failed_says_no_farewell_and_the_others_hear_its_error() -> None:
    def rank() -> None:
        dist.barrier()
        if dist.get_rank() == 1:
            raise KeyError("apple")
        dist.broadcast(torch.ones(1), 0)

    with pytest.raises(KeyError, match="apple"):
        launch(rank, 3)


def test_what_was_caught_is_not_told_again() -> None:
    def rank() -> str:
        dist.barrier()
        try:
            dist.broadcast(torch.ones(3), dist.get_rank())
            dist.barrier()
        except dist.DistMismatch:
            return "told"
        return ""

    assert launch(rank, 2) == ["told", "told"]


def test_an_error_on_the_way_out_stays_the_first() -> None:
    def rank() -> str:
        try:
            try:
                if dist.get_rank() == 0:
                    dist.broadcast(torch.ones(3), 0)
                    dist.send(torch.ones(1), 1)
                else:
                    dist.recv(torch.ones(1), 0)
                raise KeyError("pear")
            finally:
                dist.destroy_process_group()
        except KeyError as error:
            return str(error)

    assert launch(rank, 2) == ["'pear'", "'pear'"]


# ------------------------------------------------------------------------------- messages nobody read


@pytest.fixture(autouse=True)
def never_mentioned_before() -> None:
    leftover_messages._mentioned.clear()


def one_send_too_many(count: int) -> None:
    me = dist.get_rank()
    if me == 0:
        for number in range(count):
            dist.send(torch.ones(4), 1, tag=number)
        dist.send(torch.zeros(1), 1, tag=99)
    elif me == 1:
        dist.recv(torch.zeros(1), 0, tag=99)


@pytest.mark.parametrize("transport", ["queue://", "sim://"])
@pytest.mark.parametrize("size", SIZES)
def test_messages_that_nobody_received_are_mentioned(
    transport: str, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    launch(one_send_too_many, size, transport, args=(1 + size,))
    (record,) = caplog.records
    said = record.getMessage()
    assert record.levelno == logging.WARNING
    assert said.startswith("rank 1 leaves and has not received what rank 0 sent: send (float32[4])")
    assert re.search(rf"send with tag 1 \(float32\[4\]\) {LINE} of group 'default_pg'", said)
    assert (f", and {size - 2} more" in said) == (size > 2)


def test_also_one_that_is_still_on_its_way_in_virtual_time(caplog: pytest.LogCaptureFixture) -> None:
    def rank(early: float) -> None:
        if dist.get_rank() == 0:
            dist.send(torch.ones(7), 1)
        world.current().clock.sleep(early if dist.get_rank() == 0 else 0)

    for early in (0.0, 1.0):
        caplog.clear()
        leftover_messages._mentioned.clear()
        launch(rank, 2, "sim://?latency=1ms", args=(early,))
        (record,) = caplog.records
        assert "rank 1 leaves and has not received what rank 0 sent" in record.getMessage()


@pytest.mark.parametrize("size", [3, 5, 8])
def test_what_was_received_is_no_leftover_while_another_message_is_still_on_its_way(
    size: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The last rank sends to a busy receiver, then to one that takes it and leaves."""

    def rank() -> None:
        me, last = dist.get_rank(), size - 1
        if me == 0:
            for src in range(2, size):
                dist.recv(torch.empty(100_000), src)
        elif me == 1:
            dist.recv(torch.empty(1), last)
        else:
            dist.send(torch.ones(100_000), 0)
            if me == last:
                dist.send(torch.ones(1), 1)

    launch(rank, size, "sim://?latency=1us&rate=1GB/s")
    assert caplog.messages == []


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_what_the_library_itself_sends_is_never_a_leftover(
    transport: str, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Sends that have room for one message are answered, and the last answer is never needed."""

    def rank() -> None:
        me = dist.get_rank()
        work = dist.isend(torch.ones(3), (me + 1) % size)
        dist.recv(torch.empty(3), (me - 1) % size)
        work.wait()

    with strict(room=1):
        launch(rank, size, transport)
    assert caplog.messages == []


# ------------------------------------------------------------------------------------ a whole script

SCRIPT = """
import sys
import minitorch_dist as torch
import minitorch_dist.distributed as dist
dist.init_process_group("{backend}")
dist.barrier()
dist.broadcast(torch.ones(3), dist.get_rank())
{end}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "end"), [("tcp", ""), ("file", "sys.exit()"), ("tcp", "dist.destroy_process_group()")]
)
def test_under_mtdrun_the_job_fails(backend: str, end: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(backend=backend, end=end))
    run = [sys.executable, "-m", "minitorch_dist.distributed.run", "--nproc-per-node=2", str(script)]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd()), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(run, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert ended.returncode == 1
    assert "DistMismatch: these ranks should do the same: rank 0" in ended.stderr
    assert ended.stderr.count("at train.py:7") >= 2


# ------------------------------------------------------------------------------------- the farewell


def test_farewells_that_cannot_be_read_are_left_out() -> None:
    header = wire.encode(wire.Header(7, 3, 0, Fingerprint("barrier"), "a.py:1"))
    whole = len(header).to_bytes(2, "little") + header
    assert exit_check.decode(whole) == {7: exit_check.GroupProgress(4, {3: header})}
    for said in (b"", b"\x00", b"\xff\xff", whole[:-9] + b"\xff" * 9, b"\x05\x00hello"):
        assert 3 not in exit_check.decode(said)
    assert exit_check.decode(whole + b"\x05\x00hello") == exit_check.decode(whole)
