"""Programs that people really write, and what they read then: nobody shall have to guess."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch, nn
from minitorch_dist.distributed import world
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel as FSDP
from tests.distributed import nursery
from transports.clock import SYSTEM

LINE = r"at test_wrong_programs\.py:\d+"


def tags_that_differ(me: int) -> None:
    dist.recv(torch.zeros(4), 0) if me else dist.send(torch.ones(4), 1, tag=1)


def both_receive(me: int) -> None:
    mailbox = world.current().mailbox
    mailbox.slow = 0.1  # seconds until a rank notes for the others that it waits
    if me == 0:
        while not mailbox.flight._note(1):  # so rank 1 waits already, however slow the machine is
            SYSTEM.sleep(0.01)
        dist.distributed_c10d._set_pg_timeout(timedelta(seconds=0.3))
    dist.recv(torch.zeros(4), 1 - me)


def a_barrier_in_a_branch(me: int) -> None:
    x = torch.ones(4)
    if me == 0:
        dist.barrier()
    dist.all_reduce(x)


def reduce_where_all_reduce_was_meant(me: int) -> None:
    for _ in range(5):
        loss = torch.tensor([1.0 + me])
        dist.reduce(loss, 0)
        if loss.item() > 2.5:
            break
        dist.all_reduce(torch.ones(4))


def groups_made_by_their_members(me: int) -> None:
    if me == 0:
        dist.new_group([0])
    dist.barrier()


def one_batch_more(me: int) -> None:
    for _ in range(3 + me):
        dist.all_reduce(torch.ones(4))


def an_early_return(me: int) -> None:
    if me:
        dist.all_reduce(torch.ones(4))


def a_state_of_rank_0(me: int) -> None:
    model = FSDP(nn.Linear(4, 4))
    if me == 0:
        model.state_dict()
    dist.barrier()


def a_ring_without_end(me: int) -> None:
    dist.send(torch.ones(1), me + 1)
    dist.recv(torch.ones(1), me - 1)


def a_rank_of_the_group(me: int) -> None:
    group = dist.new_group([1])
    if me == 1:
        dist.broadcast(torch.ones(2), 0, group=group)


def lists_of_other_lengths(me: int) -> None:
    dist.broadcast_object_list([None] if me else ["config", 3], src=0)


def larger_than_asked_for(me: int) -> None:
    dist.recv(torch.zeros(4), 0) if me else dist.send(torch.ones(8), 1)


GROUP = "of group 'default_pg'"
SAID: dict[Callable[[int], Any], str] = {
    tags_that_differ: rf"what rank 0 did send, and no recv has taken, is send with tag 1 \(float32\[4\]\) {LINE} {GROUP} "
    r"\(do tag and group agree\?\)",
    both_receive: r"rank (0 and rank 1|1 and rank 0) wait for each other: one of them has to send first"
    r"|(0 → 1 → 0|1 → 0 → 1)\. One of them has to send before it waits",
    a_barrier_in_a_branch: rf"rank 0 is in barrier #0 {LINE} {GROUP}; rank 1 is in all_reduce #0 .*{LINE}",
    reduce_where_all_reduce_was_meant: rf"rank 0 is lost \(it has left, after reduce #0 \(float32\[1\], SUM, root 0\) {LINE} "
    rf"{GROUP}\), which rank 1 (needs|sends to) in all_reduce #1 .*{LINE} {GROUP}\. Look for a branch or a loop in which it goes another way",
    groups_made_by_their_members: rf"rank 0 is in new_group #0 \(\[0\]\) {LINE} {GROUP}; rank 1 is in barrier #0 {LINE}.*"
    r"also those it is not a member of",
    one_batch_more: rf"rank 0 is lost \(it has left, after all_reduce #2 .*{LINE} {GROUP}\), which rank 1 (needs|sends to) in all_reduce #3"
    r".*if it only had less to do than the others, see algorithms\.join\.Join",
    an_early_return: rf"rank 0 is lost \(it has left, without any collective of this group\), which rank 1 (needs|sends to) in all_reduce #0 .*{LINE}",
    a_state_of_rank_0: rf"(?s)all_gather_into_tensor #\d+ \(float32\[10\]\) {LINE} {GROUP}.*barrier #\d+ {LINE}.*"
    r"every rank has to call it, also where only rank 0 saves",
    a_ring_without_end: r"Global rank (2|-1) is not part of group .*>: its ranks of the world are 0 to 1",
    a_rank_of_the_group: r"its ranks of the world are \[1\]; a rank within the group goes as group_src= or group_dst=",
    lists_of_other_lengths: r"rank 0 broadcast a list of 2 objects, but rank 1 has a list of 1 to fill: pass one with as many",
    larger_than_asked_for: rf"rank 0 sent 32 bytes, but rank 1 expects 16: rank 1 is in recv \(float32\[4\]\) {LINE}.*rank 0 is in send "
    rf"\(float32\[8\]\) {LINE}",
}


@pytest.mark.slow
def test_over_tcp_and_file(tmp_path: Path) -> None:
    plan = [
        nursery.World(address, 2, what) for what in SAID for address in ("tcp://", f"file://{tmp_path}/{what.__name__}")
    ]
    for results, made in zip(nursery.run(plan, at_once=4), plan, strict=True):
        pattern = SAID[made.act]
        texts = [text for text in results if text]
        assert any(re.search(pattern, text) for text in texts), (made.address, pattern, texts)


@pytest.mark.parametrize("what", [what for what in SAID if what not in (both_receive, a_state_of_rank_0)])
def test_over_queue(what: Callable[[int], Any]) -> None:
    with pytest.raises(Exception) as caught:
        launch(lambda: what(dist.get_rank()), 2)
    notes = "\n".join(getattr(caught.value, "__notes__", []))
    assert re.search(SAID[what], f"{caught.value}\n{notes}"), caught.value


def test_a_work_that_nobody_waits_for_comes_to_its_end() -> None:
    """As in torch; the others may need this rank's part of it."""

    def rank() -> list[float]:
        x = torch.ones(40_000)
        work = dist.all_reduce(x, async_op=True)
        assert work is not None
        if dist.get_rank() == 0:
            work.wait()
        dist.destroy_process_group()
        return [x.min().item(), x.max().item()]

    for transport in ("queue://", "sim://"):
        assert launch(rank, 3, transport) == [[3.0, 3.0]] * 3


@pytest.mark.slow
def test_without_a_launcher(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import minitorch_dist.distributed as dist\ndist.init_process_group('tcp')\n")
    ended = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PYTHONPATH": str(Path.cwd()), "PATH": ""},
    )
    assert "environment variable RANK expected, but not set. mtdrun sets RANK" in ended.stderr
    assert "`mtdrun --nproc-per-node=2 script.py`" in ended.stderr
    assert "`mtd run --ranks 2 script.py`" in ended.stderr
    assert ended.stderr.count("  File ") == 2, "the script's line, and the function that it called"
