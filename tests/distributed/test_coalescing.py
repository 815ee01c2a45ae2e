"""Several collectives as one: the same results, one operation on the wire, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import launch
from minitorch_dist.distributed import journal

SIZES = [1, 2, 3, 5, 8]
SHAPES: list[tuple[int, ...]] = [(3,), (), (2, 2), (0,), (1, 5)]


def own(rank: int, shape: tuple[int, ...], salt: int = 0) -> Any:
    count = int(np.prod(shape))
    return (torch.arange(count) * 3.0 + 7 * rank + salt).reshape(shape)


def strided(x: Any) -> Any:
    """The same values, every other one of a larger tensor."""
    base = torch.zeros(*x.shape, 2)
    base[..., 0] = x
    return base[..., 0]


@pytest.mark.parametrize("is_asynchronous", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_one_operation_gives_what_several_do(size: int, is_asynchronous: bool) -> None:
    def rank() -> int:
        me, n = dist.get_rank(), dist.get_world_size()
        group = dist.group.WORLD
        before = group.channel.count

        def together(*calls: Callable[[], Any]) -> None:
            with dist._coalescing_manager(async_ops=is_asynchronous) as manager:
                for call in calls:
                    assert call() is None
            assert len(manager.works) == is_asynchronous
            manager.wait()

        for op in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.AVG):
            ours = [strided(own(me, s)) if k % 2 else own(me, s) for k, s in enumerate(SHAPES)]
            together(*[lambda x=x, op=op: dist.all_reduce(x, op) for x in ours])
            every = [np.stack([own(r, s).numpy() for r in range(n)]) for s in SHAPES]
            reduce = {"SUM": np.sum, "MAX": np.max, "AVG": np.mean}[op.name]
            for x, values in zip(ours, every, strict=True):
                np.testing.assert_allclose(x.numpy(), reduce(values, 0), rtol=1e-6)

        outputs = [torch.zeros(n, *s) for s in SHAPES]
        together(*[
            lambda out=out, s=s: dist.all_gather_into_tensor(out, own(me, s))
            for out, s in zip(outputs, SHAPES, strict=True)
        ])  # fmt: skip
        for out, s in zip(outputs, SHAPES, strict=True):
            assert np.array_equal(out.numpy(), [own(r, s).numpy() for r in range(n)])

        outputs = [torch.zeros(s) for s in SHAPES]
        together(*[
            lambda out=out, s=s: dist.reduce_scatter_tensor(out, own(me, (n, *s)))
            for out, s in zip(outputs, SHAPES, strict=True)
        ])  # fmt: skip
        for out, s in zip(outputs, SHAPES, strict=True):
            every = np.stack([own(r, (n, *s)).numpy() for r in range(n)])
            assert np.array_equal(out.numpy(), every.sum(0)[me])
        return group.channel.count - before

    assert launch(rank, size) == [5] * size


def test_results_appear_at_the_end_and_other_collectives_at_once() -> None:
    def rank() -> None:
        x, y = torch.ones(2), torch.ones(2) * dist.get_rank()
        dist.all_reduce(torch.ones(2))  # a call of this kind was met before
        with dist._coalescing_manager(async_ops=True) as manager:
            work = dist.all_reduce(x, async_op=True)
            dist.broadcast(y, 1)
            assert x.tolist() == [1, 1] and y.tolist() == [1, 1]
            with pytest.raises(ValueError, match=r"Illegal to call wait .* when the block ends"):
                work.wait()
        manager.wait()
        assert x.tolist() == [3, 3]
        x = torch.ones(2)
        dist.all_reduce(x)
        assert x.tolist() == [3, 3]
        with dist._coalescing_manager() as manager:
            pass
        assert manager.works == []

    launch(rank, 3)


def test_what_cannot_be_one_operation_is_refused() -> None:
    def rank() -> None:
        x, y = torch.ones(2), torch.ones(3)

        def refused(words: str, *calls: Callable[[], Any], kind: type[Exception]) -> None:
            with pytest.raises(kind, match=words), dist._coalescing_manager():
                for call in calls:
                    call()
            assert x.tolist() == [1, 1]

        n = dist.get_world_size()

        def one() -> Any:
            return dist.all_reduce(x)

        refused(
            "mixed types: .*all_gather_single", one,
            lambda: dist.all_gather_into_tensor(torch.zeros(2 * n), x), kind=RuntimeError,
        )  # fmt: skip
        refused(
            "got MAX, SUM", one, lambda: dist.all_reduce(y, dist.ReduceOp.MAX), kind=RuntimeError
        )
        refused(
            "same type, but got torch.float32, torch.int64", one,
            lambda: dist.all_reduce(torch.ones(2).long()), kind=RuntimeError,
        )  # fmt: skip
        refused("do not nest", one, lambda: dist._coalescing_manager().__enter__(), kind=ValueError)
        refused("x", one, lambda: {}["x"], kind=KeyError)  # type: ignore[typeddict-item]
        dist.all_reduce(x)  # torch would note it down for ever
        assert x.tolist() == [n, n]

    launch(rank, 2)


def test_ranks_that_put_other_tensors_side_by_side_are_told() -> None:
    def rank() -> None:
        sizes = (4, 6) if dist.get_rank() else (6, 4)
        with dist._coalescing_manager():
            for count in sizes:
                dist.all_reduce(torch.ones(count))

    with pytest.raises(
        dist.DistMismatch, match=r"float32\[6 \+ 4\], SUM\).*float32\[4 \+ 6\], SUM"
    ):
        launch(rank, 2)


def test_more_tensors_than_a_header_names(tmp_path: Path) -> None:
    def rank() -> list[float]:
        tensors = [torch.ones(k % 3) * k for k in range(100)]
        dist.all_reduce_coalesced(tensors)
        with dist._coalescing_manager():
            for tensor in tensors[:3]:
                dist.all_reduce(tensor)
        return [tensor.sum().item() for tensor in tensors]

    path = tmp_path / "journal"
    scale = [9.0 if k < 3 else 3.0 for k in range(100)]
    assert launch(rank, 3, journal=path) == [[scale[k] * k * (k % 3) for k in range(100)]] * 3
    names = {begin.name for begin, _ in journal.read(path).operations}
    assert "all_reduce_coalesced #1 (float32[0 + 1 + 2], SUM)" in names


@pytest.mark.parametrize("size", [1, 3])
def test_the_coalesced_functions_give_futures(size: int) -> None:
    def rank() -> None:
        me, n = dist.get_rank(), dist.get_world_size()
        x = [torch.ones(2), torch.ones(3)]
        future = dist.all_reduce_coalesced(x, async_op=True)
        assert future.wait()[1].tolist() == [n] * 3
        lists = [[torch.zeros(s) for s in SHAPES] for _ in range(n)]
        assert dist.all_gather_coalesced(lists, [own(me, s) for s in SHAPES]) is None
        for r, tensors in enumerate(lists):
            assert all(map(torch.equal, tensors, [own(r, s) for s in SHAPES]))
        dist.all_gather_coalesced(lists, [own(me, s) for s in SHAPES], async_op=True).wait()
        with pytest.raises(RuntimeError, match="expected tensors of"):
            dist.all_gather_coalesced(lists, [own(me, (2,))] * len(SHAPES))
        with pytest.raises(RuntimeError, match="non-empty"):
            dist.all_reduce_coalesced([])

    launch(rank, size)
