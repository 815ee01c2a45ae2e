"""torch's collectives on tensors: results, strided and odd tensors, async, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import world
from minitorch_dist.distributed.reduce_op import premul_sum
from minitorch_dist.distributed.work import WorkerTask
from minitorch_dist.futures import Future

SIZES = [1, 2, 3, 5, 8]


def own(rank: int, *shape: int) -> Any:
    """What a rank holds; all different."""
    return torch.arange(int(np.prod(shape))).reshape(shape) * 10.0 + rank


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_all_of_them(size: int, transport: str) -> None:
    def rank() -> None:
        me, n = dist.get_rank(), dist.get_world_size()
        every = [own(r, 2, 3) for r in range(n)]
        total = torch.stack(every).sum(0)

        x = own(me, 2, 3)
        assert dist.all_reduce(x) is None and torch.equal(x, total)
        x = own(me, 2, 3)
        dist.broadcast(x, n - 1)
        assert torch.equal(x, every[-1])
        x = own(me, 2, 3)
        dist.reduce(x, n - 1)
        assert torch.equal(x, total if me == n - 1 else every[me])
        got = [torch.zeros(2, 3) for _ in range(n)]
        dist.all_gather(got, own(me, 2, 3))
        assert all(map(torch.equal, got, every))
        for shape in [(2 * n, 3), (n, 2, 3)]:
            out = torch.zeros(shape)
            dist.all_gather_into_tensor(out, own(me, 2, 3))
            assert torch.equal(out, torch.stack(every).reshape(shape))
        got = [torch.zeros(2, 3) for _ in range(n)]
        dist.gather(own(me, 2, 3), got if me == 0 else None)
        assert me or all(map(torch.equal, got, every))
        x = torch.zeros(2, 3)
        dist.scatter(x, every if me == n - 1 else None, src=n - 1)
        assert torch.equal(x, every[me])
        parts = [own(r + n * me, 4) for r in range(n)]
        mine = torch.stack([own(me + n * r, 4) for r in range(n)])
        x = torch.zeros(4)
        dist.reduce_scatter(x, parts)
        assert torch.equal(x, mine.sum(0))
        x = torch.zeros(4)
        dist.reduce_scatter_tensor(x, torch.cat(parts))
        assert torch.equal(x, mine.sum(0))
        got = [torch.zeros(4) for _ in range(n)]
        dist.all_to_all(got, parts)
        assert all(map(torch.equal, got, mine))
        out = torch.zeros(n, 4)
        dist.all_to_all_single(out, torch.stack(parts))
        assert torch.equal(out, mine)
        dist.barrier()
        dist.monitored_barrier()

    launch(rank, size, transport)


def test_splits_and_lists_of_different_sizes() -> None:
    def rank() -> None:
        me, n = dist.get_rank(), dist.get_world_size()
        rows = torch.cat([torch.full((r + 1, 2), 10.0 * me + r) for r in range(n)])
        out = torch.zeros(n * (me + 1), 2)
        dist.all_to_all_single(out, rows, [me + 1] * n, [r + 1 for r in range(n)])
        assert out[:: me + 1, 0].tolist() == [10.0 * r + me for r in range(n)]
        got = [torch.zeros(r, 2) for r in range(n)]
        dist.all_gather(got, torch.full((me, 2), float(me)))
        assert [t.sum().item() for t in got] == [2.0 * r * r for r in range(n)]

    launch(rank, 3)


def test_strided_empty_and_0_dim_tensors_leaves_and_versions() -> None:
    def rank() -> None:
        n = dist.get_world_size()
        base = torch.zeros(6, 8)
        base[::2, 1::2] += 1
        version = base._version
        dist.all_reduce(base[::2, 1::2])
        assert base.sum().item() == 12 * n and base[1::2].sum() == 0
        assert base._version == version + 1
        out = torch.zeros(n, 4)
        dist.all_gather_into_tensor(out.t().t(), torch.arange(8.0)[::2])
        assert out[-1].tolist() == [0, 2, 4, 6]
        for odd in (torch.ones(()), torch.ones(0), torch.ones(2, 0, 3)):
            dist.all_reduce(odd)
            dist.broadcast(odd, 0)
        leaf = torch.ones(3, requires_grad=True)
        dist.all_reduce(leaf)
        assert leaf.tolist() == [n] * 3 and leaf.grad_fn is None

    launch(rank, 3)


def test_reduce_ops() -> None:
    def rank() -> None:
        me, n = dist.get_rank(), dist.get_world_size()
        for op, dtype, expected in [
            (dist.ReduceOp.SUM, torch.int16, 6),
            (dist.ReduceOp.PRODUCT, torch.float32, 6),
            (dist.ReduceOp.MIN, torch.int8, 1),
            (dist.ReduceOp.MAX, torch.bfloat16, 3),
            (dist.ReduceOp.BAND, torch.uint8, 0),
            (dist.ReduceOp.BOR, torch.int64, 3),
            (dist.ReduceOp.BXOR, torch.int32, 0),
            (dist.ReduceOp.AVG, torch.float16, 2),
            (dist._make_nccl_premul_sum(2.0), torch.float64, 12),
            (premul_sum(torch.tensor(0.5)), torch.float32, 3),
            (dist.ReduceOp.SUM, torch.bool, 1),
        ]:
            x = torch.tensor([me + 1]).to(dtype)
            dist.all_reduce(x, op)
            assert x.item() == expected, op
            y = torch.zeros(1, dtype=dtype)
            dist.reduce_scatter(y, [torch.tensor([me + 1]).to(dtype) for _ in range(n)], op)
            assert y.item() == expected, op
            z = torch.tensor([me + 1]).to(dtype)
            dist.reduce(z, 1, op)
            assert z.item() == (expected if me == 1 else torch.tensor(me + 1).to(dtype)), op
        with pytest.raises(RuntimeError, match="result type Float can't be cast"):
            dist.all_reduce(torch.ones(1, dtype=torch.int64), dist.ReduceOp.AVG)
        with pytest.raises(RuntimeError, match="BAND with non-integral dtype"):
            dist.all_reduce(torch.ones(1), dist.ReduceOp.BAND)
        with pytest.raises(ValueError, match="needs a factor"):
            dist.all_reduce(torch.ones(1), dist.ReduceOp.PREMUL_SUM)

    launch(rank, 3)


def test_an_operation_that_ends_while_its_future_is_made_completes_it_once() -> None:
    class Late(WorkerTask):
        def _foresee(self, future: Future[Any]) -> None:
            self.run()  # its worker is that fast
            super()._foresee(future)

    class Doing:
        def describe(self) -> str:
            return "a task"

    def rank() -> Any:
        return Late(world.current(), lambda: None, Doing(), [1]).get_future().wait()

    assert launch(rank, 1) == [[1]]


def test_async_operations_run_in_order_beside_the_caller() -> None:
    def rank() -> None:
        n = dist.get_world_size()
        tensors = [torch.full((1000,), float(i)) for i in range(20)]
        works = [dist.all_reduce(t, async_op=True) for t in tensors]
        futures = [work.get_future() for work in works]
        last = torch.ones(1)
        dist.all_reduce(last)  # comes after them
        assert all(work.is_completed() and work.is_success() for work in works)
        assert [t[0].item() for t in tensors] == [float(i * n) for i in range(20)]
        assert all(future.wait()[0] is t for future, t in zip(futures, tensors, strict=True))
        assert works[3].result()[0] is tensors[3] and works[3].exception() is None

    launch(rank, 3)


def test_in_a_group() -> None:
    def rank() -> None:
        me = dist.get_rank()
        group = dist.new_group([1, 3, 4])
        x = torch.tensor([float(me)])
        if me in (0, 2):
            with pytest.warns(UserWarning, match=f"Running all_reduce on global rank {me}"):
                assert dist.all_reduce(x, group=group) is None
            return
        dist.all_reduce(x, group=group)
        assert x.item() == 8
        dist.broadcast(x.fill_(me), src=3, group=group)
        assert x.item() == 3
        dist.broadcast(x.fill_(me), group_src=2, group=group)
        assert x.item() == 4
        with pytest.raises(ValueError, match="Global rank 0 is not part of group"):
            dist.broadcast(x, src=0, group=group)
        assert group.channel.count == 3

    launch(rank, 5)


def test_objects() -> None:
    def rank() -> None:
        me, n = dist.get_rank(), dist.get_world_size()
        got: list[Any] = [None] * n
        dist.all_gather_object(got, {"rank": me, "tensor": torch.ones(me)})
        assert [(g["rank"], g["tensor"].numel()) for g in got] == [(r, r) for r in range(n)]
        got = [None] * n
        dist.gather_object("x" * me, got if me == 2 else None, dst=2)
        assert got == (["x" * r for r in range(n)] if me == 2 else [None] * n)
        mine: list[Any] = [me, None, me]
        dist.broadcast_object_list(mine, src=1)
        assert mine == [1, None, 1]
        one: list[Any] = [None]
        dist.scatter_object_list(one, [(r, "for") for r in range(n)] if me == 0 else None)
        assert one == [(me, "for")]
        with pytest.raises(ValueError, match="a list of size at least 1"):
            dist.scatter_object_list([], None)

    launch(rank, 3)


def test_wrong_arguments_in_torchs_words() -> None:
    def rank() -> None:
        me, t = dist.get_rank(), torch.zeros(2)
        three = [torch.zeros(2) for _ in range(3)]
        refused: list[tuple[type[Exception], str, Any]] = [
            (TypeError, "`tensor` of type torch.Tensor", lambda: dist.all_reduce([t])),
            (TypeError, "`tensor_list` to be a list", lambda: dist.all_gather(tuple(three), t)),
            (RuntimeError, "expected length 3, got 2", lambda: dist.all_gather(three[:2], t)),
            (ValueError, "tensors with different dtypesFound", lambda: dist.all_gather(three, t.int())),
            (ValueError, "Must specify global_rank or group_rank", lambda: dist.broadcast(t)),
            (RuntimeError, "invalid root rank: 9", lambda: dist.broadcast(t, 9)),
            (ValueError, "Can't specify both", lambda: dist.reduce(t, 0, group_dst=0)),
            (ValueError, "``gather_list`` must", lambda: dist.gather(t, None if me == 0 else three)),
            (ValueError, "``scatter_list`` must", lambda: dist.scatter(t, None if me == 0 else three)),
            (RuntimeError, "the other's dtype and 3 times as many elements", lambda: dist.all_gather_into_tensor(t, t)),
            (RuntimeError, "the other's dtype and 3 times as many elements", lambda: dist.all_gather_into_tensor(t, t.int())),
            (RuntimeError, "the other's dtype and 3 times as many elements", lambda: dist.reduce_scatter_tensor(t, t)),
            (RuntimeError, "the other's dtype and 3 times as many elements", lambda: dist.reduce_scatter_tensor(t, t.int())),
            (RuntimeError, "does not divide them equally", lambda: dist.all_to_all_single(t, t)),
            (RuntimeError, r"has 2 rows for 3 ranks, and \[2\]", lambda: dist.all_to_all_single(t, t, [2], [2])),
            (RuntimeError, r"has 2 rows for 3 ranks, and \[1, 0, 0\]", lambda: dist.all_to_all_single(t, t, [1, 0, 0], [1, 0, 0])),
            (TypeError, r"op must be one of ReduceOp, such as ReduceOp.SUM, but got 'sum' \(str\)", lambda: dist.all_reduce(t, op="sum")),
            (TypeError, r"got 0 \(int\)", lambda: dist.reduce(t, 0, op=0)),
            (ValueError, "Process group 3 is not initialized in the world group map.*new_group returned", lambda: dist.all_reduce(t, group=3)),
            (ValueError, "Invalid process group specified: this rank is not in the group", lambda: dist.P2POp(dist.isend, t, 0, group=-100)),
            (KeyError, "this rank is not in the group", lambda: dist.get_process_group_ranks(dist.GroupMember.NON_GROUP_MEMBER)),
            (TypeError, r"object_list is a list of objects, but got 3 \(int\)", lambda: dist.send_object_list(3, (me + 1) % 3)),
            (AssertionError, "Unknown backend type foo", lambda: dist.new_group([0], backend="foo")),
            (TypeError, "device_ids type should be", lambda: dist.barrier(device_ids=0)),
            (ValueError, "has 2 elements, but the output has 1", lambda: dist.reduce_scatter(t[:1], three)),
        ]  # fmt: skip
        for kind, words, act in refused:
            with pytest.raises(kind, match=words):
                act()
        dist.barrier()  # and nobody is out of step

    launch(rank, 3)


def test_what_ranks_do_differently_is_told_to_all() -> None:
    wrong: dict[str, Any] = {
        r"\[2, 3\].*\[3, 2\]|\[3, 2\].*\[2, 3\]": lambda me: dist.all_reduce(torch.ones(2 + (me == 1), 3 - (me == 1))),
        "float32.*float64|float64.*float32": lambda me: dist.all_reduce(
            torch.ones(4, dtype=torch.float64 if me == 1 else torch.float32)
        ),
        "MAX.*SUM|SUM.*MAX": lambda me: dist.all_reduce(
            torch.ones(4), dist.ReduceOp.MAX if me == 1 else dist.ReduceOp.SUM
        ),
        "root 0.*root 1|root 1.*root 0": lambda me: dist.broadcast(torch.ones(4), int(me == 1)),
        "all_reduce #0.*broadcast #0|broadcast #0.*all_reduce #0": lambda me: (
            dist.broadcast(torch.ones(4), 0) if me == 1 else dist.all_reduce(torch.ones(4))
        ),
    }
    for words, act in wrong.items():

        def rank(act: Any = act, words: str = words) -> None:
            with pytest.raises(dist.DistMismatch, match=words) as caught:
                act(dist.get_rank())
                dist.barrier()  # whoever only sends hears of it here at the latest
            assert str(caught.value).count("test_tensor_collectives.py:") >= 2

        launch(rank, 3)


@pytest.mark.slow
def test_monitored_barrier_takes_timedeltas_and_as_torch_seconds_with_a_warning() -> None:
    def program() -> list[str]:
        said = []
        with pytest.warns(UserWarning, match=r"Converting current value of 2\.5 assuming"):
            dist.monitored_barrier(timeout=2.5)
        for wrong in (3, "3"):
            with pytest.raises(TypeError, match="Expected timeout argument to be of type") as caught:
                dist.monitored_barrier(timeout=wrong)  # type: ignore[arg-type]
            said.append(str(caught.value))
        part = dist.new_group([0])
        if dist.get_rank() == 0:
            dist.monitored_barrier(part, timeout=timedelta(seconds=1))
        return said

    told = launch(program, 1)
    assert told[0][0] == "Expected timeout argument to be of type datetime.timedelta, got 3"


def test_monitored_barrier_names_who_is_missing() -> None:
    def rank(wait_all: bool) -> str:
        me = dist.get_rank()
        if me in (2, 3):
            with pytest.raises(dist.DistError):
                dist.recv(torch.zeros(1), 0)
            return ""
        with pytest.raises(dist.DistError) as caught:
            dist.monitored_barrier(timeout=timedelta(seconds=0.5), wait_all_ranks=wait_all)
        return str(caught.value)

    first = launch(rank, 4, "sim://", args=(False,))[0]
    assert "Rank 2 failed to pass monitoredBarrier in 500 ms" in first
    said = launch(rank, 4, "sim://", args=(True,))
    assert "Ranks 2, 3 failed to pass monitoredBarrier in 500 ms" in said[0]
    assert "rank 0 has failed in monitored_barrier #0" in said[1] and "Ranks 2, 3 failed" in said[1]
