"""Calls that two ranks are refused, by torch's gloo in processes and by us in threads: the same types of errors.

Each line runs on both ranks. Nothing is sent by a line that is refused, so the next one begins as if it had not been.
"""

from __future__ import annotations

import os
import pickle
import warnings
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as theirs

import minitorch_dist
import minitorch_dist.distributed
from minitorch_dist.launching import launch
from tests.parity import oracle
from tests.parity.lines import lines

pytestmark = [pytest.mark.parity, pytest.mark.slow]

SIZE = 2

# `x(n)` is a tensor of n ones, `own` this rank, `peer` the other one, `none` torch's value for a rank outside a group.
LINES = """
# the barrier that says who is missing
d.monitored_barrier()
d.monitored_barrier(g)
d.monitored_barrier(g, timedelta(seconds=9))
d.monitored_barrier(timeout=timedelta(seconds=9))
d.monitored_barrier(wait_all_ranks=True)
d.monitored_barrier(g, timedelta(seconds=9), True)
d.monitored_barrier(timeout=9)
d.monitored_barrier(timeout=9.5)
d.monitored_barrier(timeout="9")
d.monitored_barrier(3)
d.monitored_barrier(none)
# what an async operation is
isinstance(d.all_reduce(x(4), async_op=True), d.Work)
isinstance(d.broadcast(x(4), 0, async_op=True), d.Work)
isinstance(d.barrier(async_op=True), d.Work)
"distributed_c10d.Work" in repr(d.all_reduce(x(4), async_op=True))
# the way of reducing
d.all_reduce(x(4), op="sum")
d.all_reduce(x(4), "SUM")
d.all_reduce(x(4), op=0)
d.all_reduce(x(4), op=None)
d.all_reduce(x(4), op=99)
d.all_reduce(x(4), op=sum)
d.all_reduce(x(4), op=1.5)
d.all_reduce(x(4), op=True)
d.all_reduce(x(4), op=d.ReduceOp)
d.reduce(x(4), 0, op="sum")
d.reduce(x(4), 0, op=None)
d.reduce_scatter(x(2), [x(2), x(2)], op="sum")
d.reduce_scatter_tensor(x(2), x(4), op="sum")
d.reduce_scatter_tensor(x(2), x(4), op=None)
d.ReduceOp("sum")
d.ReduceOp(None)
d.ReduceOp(1.5)
# the tensor
d.all_reduce(3)
d.all_reduce(None)
d.all_reduce("x")
d.all_reduce([x(4)])
d.all_reduce()
d.broadcast(3, 0)
d.broadcast([x(4)], 0)
d.reduce(3, 0)
d.reduce([x(4)], 0)
d.all_gather(3, x(4))
d.all_gather(x(4), x(4))
d.all_gather([x(4), 3], x(4))
d.all_gather([x(4), x(4)], 3)
d.all_gather([], x(4))
d.all_gather_into_tensor(3, x(4))
d.all_gather_into_tensor(x(8), 3)
d.all_gather_into_tensor([x(8)], x(4))
d.all_gather_into_tensor(x(7), x(4))
d.all_gather_into_tensor(x(4), x(4))
d.all_gather_into_tensor(x(8).int(), x(4))
d.all_gather_into_tensor(x(0), x(4))
d.reduce_scatter(3, [x(2), x(2)])
d.reduce_scatter(x(2), 3)
d.reduce_scatter(x(2), x(2))
d.reduce_scatter(x(2), [x(2), 3])
d.reduce_scatter_tensor(3, x(4))
d.reduce_scatter_tensor(x(2), 3)
d.reduce_scatter_tensor(x(2), [x(4)])
d.reduce_scatter_tensor(x(3), x(4))
d.reduce_scatter_tensor(x(4), x(4))
d.reduce_scatter_tensor(x(2), x(5))
d.reduce_scatter_tensor(x(2).int(), x(4))
d.reduce_scatter_tensor(x(2), x(0))
d.gather(3, None, 0)
d.gather(x(2), 3, own)
d.gather(x(2), [x(2), 3], own)
d.scatter(3, None, 0)
d.scatter(x(2), 3, own)
d.scatter(x(2), [x(2), 3], own)
d.all_to_all(3, [x(2), x(2)])
d.all_to_all([x(2), x(2)], 3)
d.all_to_all([x(2), 3], [x(2), x(2)])
d.all_to_all([x(2)], [x(2)])
d.all_to_all([x(2), x(2)], [x(2), x(2).int()])
d.all_to_all_single(3, x(4))
d.all_to_all_single(x(4), 3)
d.all_to_all_single(x(4), [x(4)])
d.all_to_all_single(x(4).int(), x(4))
# the sizes of parts
d.all_to_all_single(x(4), x(4), [4], [4])
d.all_to_all_single(x(4), x(4), [1, 2, 1], [1, 2, 1])
d.all_to_all_single(x(4), x(4), [1, 2], [1, 2])
d.all_to_all_single(x(4), x(4), [2, 2], [1, 2])
d.all_to_all_single(x(4), x(4), [3, 2], [2, 2])
d.all_to_all_single(x(4), x(4), [2.0, 2.0], [2, 2])
d.all_to_all_single(x(4), x(4), "ab", [2, 2])
d.all_to_all_single(x(4), x(4), 2, 2)
d.all_to_all_single(x(4), x(3))
d.all_to_all_single(x(6), x(4))
# ranks and groups
d.broadcast(x(4), "0")
d.broadcast(x(4), 1.0)
d.broadcast(x(4), None)
d.broadcast(x(4), -1)
d.broadcast(x(4), 2)
d.broadcast(x(4), group_src=2)
d.reduce(x(4), "0")
d.reduce(x(4), 2)
d.gather(x(4), None, dst=2)
d.scatter(x(4), None, src=2)
d.all_reduce(x(4), group=3)
d.all_reduce(x(4), group="world")
d.broadcast(x(4), 0, group=3)
d.all_gather([x(4), x(4)], x(4), group=3)
d.barrier(group=3)
d.all_reduce(x(4), group=none)
d.all_gather([x(4), x(4)], x(4), group=none)
d.barrier(group=none)
d.recv(x(4), peer, group=none)
d.irecv(x(4), peer, group=none)
d.get_rank(none)
d.get_world_size(none)
d.get_rank(3)
d.get_backend(none)
d.get_backend(3)
d.get_process_group_ranks(none)
d.get_process_group_ranks(3)
d.get_process_group_ranks("world")
d.get_global_rank(none, 0)
d.get_global_rank(g, 0)
d.get_global_rank(g, 2)
d.get_global_rank(3, 0)
d.get_group_rank(none, 0)
d.get_group_rank(g, 0)
d.get_group_rank(g, 2)
d.get_group_rank(3, 0)
d.destroy_process_group(none)
d.destroy_process_group(3)
d.new_group([0, 0])
d.new_group([5])
d.new_group([0, 1, 2])
d.new_group(["0"])
d.new_group(3)
d.new_group([0, 1], timeout=3)
d.new_group([0, 1], backend="foo")
# between two ranks
d.send(x(4), own)
d.send(x(4), "1")
d.send(x(4), None)
d.send(x(4))
d.send(3, peer)
d.send([x(4)], peer)
d.recv(3, peer)
d.recv([x(4)], peer)
d.isend(3, peer)
d.irecv(3, peer)
d.send(x(4), peer, tag="a")
d.send(x(4), peer, tag=-1)
d.send(x(4), peer, tag=1.5)
d.recv(x(4), peer, tag=None)
d.send(x(4), peer, group_dst=peer)
d.send_object_list(3, peer)
d.send_object_list([1], own)
d.recv_object_list([1], own)
d.batch_isend_irecv([])
d.batch_isend_irecv(None)
d.batch_isend_irecv(3)
d.batch_isend_irecv([3])
d.batch_isend_irecv([x(4)])
d.batch_isend_irecv([(d.isend, x(4), peer)])
d.P2POp(d.isend, x(4), peer).peer
d.P2POp(d.isend, x(4), own).peer
d.P2POp(d.send, x(4), peer)
d.P2POp(d.all_reduce, x(4), peer)
d.P2POp("isend", x(4), peer)
d.P2POp(None, x(4), peer)
d.P2POp(d.isend, 3, peer).peer
d.P2POp(d.isend, [x(4)], peer).peer
d.P2POp(d.isend, x(4), None).peer
d.P2POp(d.isend, x(4))
d.P2POp(d.isend)
d.P2POp()
d.P2POp(d.isend, x(4), peer, group=3).peer
d.P2POp(d.isend, x(4), peer, group_peer=peer).peer
d.P2POp(d.isend, x(4), group_peer=peer).peer
# objects
d.broadcast_object_list(3, 0)
d.scatter_object_list(3, [1, 2], own)
d.scatter_object_list([None], 3, own)
"""

# The results of torch, and ours: docs/same_and_different.md has the reasons.
DIFFERENT = {
    "d.all_to_all([], [])": ("NotImplementedError", "RuntimeError"),
    "d.all_to_all_single(x(3), x(3))": ("None", "RuntimeError"),
    "d.all_reduce(x(4), group=[0, 1])": ("TypeError", "ValueError"),
    "d.get_world_size(3)": ("AttributeError", "ValueError"),
    "d.broadcast(x(4), 0, group=none)": ("ValueError", "None"),
    "d.reduce(x(4), 0, group=none)": ("ValueError", "None"),
    "d.send(x(4), peer, group=none)": ("ValueError", "None"),
    "d.isend(x(4), peer, group=none)": ("ValueError", "None"),
    'd.P2POp(d.isend, x(4), "1").peer': ("'1'", "TypeError"),
    "d.P2POp(d.isend, x(4), 2).peer": ("2", "ValueError"),
    "d.P2POp(d.isend, x(4), group_peer=2).peer": ("2", "ValueError"),
}


def outcomes(t: Any, d: Any) -> dict[str, str]:
    """Of each line: its value, or the type of its error."""
    own = d.get_rank()
    names = {
        "d": d,
        "x": t.ones,
        "own": own,
        "peer": 1 - own,
        "g": d.new_group([0, 1]),
        "none": d.GroupMember.NON_GROUP_MEMBER,
        "timedelta": timedelta,
    }
    found = {}
    for line in [*lines(LINES), *DIFFERENT]:
        try:
            with warnings.catch_warnings(action="ignore"):
                found[line] = repr(eval(line, dict(names)))
        except Exception as error:
            found[line] = type(error).__name__
    return found


def torch_rank(rank: int, folder: str) -> None:
    store = theirs.FileStore(f"{folder}/store", SIZE)
    limit = timedelta(seconds=30)
    theirs.init_process_group("gloo", store=store, rank=rank, world_size=SIZE, timeout=limit)
    found = outcomes(torch, theirs)
    Path(folder, f"{rank}.pickle").write_bytes(pickle.dumps(found))
    os._exit(0)  # torch would abort: an earlier refusal sits in its group still


def test_the_same_is_refused(tmp_path: Path) -> None:
    torchs = oracle.ranks(__name__, SIZE, tmp_path)
    ours = launch(lambda: outcomes(minitorch_dist, minitorch_dist.distributed), SIZE, timeout=60)
    different = [
        f"{line} on rank {rank}: torch {torchs[rank][line]}, here {ours[rank][line]}"
        for line in lines(LINES)
        for rank in range(SIZE)
        if torchs[rank][line] != ours[rank][line]
    ]
    assert not different, "\n".join(different)
    for line, expected in DIFFERENT.items():
        assert [(torchs[r][line], ours[r][line]) for r in range(SIZE)] == [expected] * SIZE, line
