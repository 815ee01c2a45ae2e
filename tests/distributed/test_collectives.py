"""Every collective by every algorithm, on every dtype and op, against numpy; over threads."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from minitorch_dist.distributed import collectives, world
from minitorch_dist.distributed.exceptions import DistMismatch
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.prepared import How
from minitorch_dist.distributed.reductions import COMBINES, ReduceStep
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.values import Values
from minitorch_dist.launching import launch

SIZES = range(1, 10)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64")] + [BFLOAT16]
INTEGERS = [np.dtype(name) for name in ("uint8", "int8", "int16", "int32", "int64")]
DTYPES = [np.dtype(bool), *INTEGERS, *FLOATS]
TIMEOUT = 60.0
from tests.distributed.serving import serving


def each_rank(function: Callable[[ProcessGroup], Any], size: int) -> list[Any]:
    return launch(lambda: function(world.current().default_group), size, timeout=TIMEOUT)


def lengths(size: int) -> list[int]:
    random = int(np.random.default_rng(size).integers(2, 3000))
    return sorted({0, 1, size - 1, size, size + 1, random})


def vector(seed: int, count: int, dtype: Any = np.float32) -> np.ndarray:
    """Small whole numbers, which every dtype holds and adds exactly (bytes wrap)."""
    values = np.random.default_rng(seed).integers(-4, 5, count)
    return values.astype(dtype)


def folded(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    """numpy's answer; small whole numbers do not care for the order."""
    result = arrays[0].copy()
    for array in arrays[1:]:
        result = COMBINES[name](result, array, out=result)
    return result


def algorithms(collective: str, size: int) -> list[str | None]:
    return [None, *serving(collective, size)]


@pytest.mark.parametrize("size", SIZES)
def test_those_that_reduce(size: int) -> None:
    def body(group: ProcessGroup) -> None:
        rank = group.rank()
        for count in lengths(size):
            own = [vector(100 + r, count) for r in range(size)]
            parts = [vector(r, count * size) for r in range(size)]
            total = folded("sum", own)
            for algorithm in algorithms("all_reduce", size):
                x = own[rank].copy()
                collectives.all_reduce(group, x, how=How(algorithm))
                assert x.tobytes() == total.tobytes(), (algorithm, count)
            for algorithm in algorithms("reduce", size):
                for root in {0, size // 2, size - 1}:
                    x = own[rank].copy()
                    collectives.reduce(group, x, root, how=How(algorithm))
                    expected = total if rank == root else own[rank]
                    assert x.tobytes() == expected.tobytes(), (algorithm, count, root)
            expected = folded("sum", parts)[rank * count : (rank + 1) * count]
            for algorithm in algorithms("reduce_scatter", size):
                x, how = np.zeros(count, np.float32), How(algorithm)
                given = np.split(parts[rank], size)
                collectives.reduce_scatter(group, x, given, how=how)
                assert x.tobytes() == expected.tobytes(), (algorithm, count)
                x = np.zeros(count, np.float32)
                whole = parts[rank].copy()
                collectives.reduce_scatter_from(group, x, whole, how=how)
                assert x.tobytes() == expected.tobytes(), (algorithm, count)
                assert whole.tobytes() == parts[rank].tobytes(), "the input was written to"

    each_rank(body, size)


@pytest.mark.parametrize("size", SIZES)
def test_those_that_only_move(size: int) -> None:
    def body(group: ProcessGroup) -> None:
        rank = group.rank()
        for count in lengths(size):
            own = [vector(100 + r, count) for r in range(size)]
            for root in {0, size // 2, size - 1}:
                for algorithm in algorithms("broadcast", size):
                    x = own[rank].copy()
                    collectives.broadcast(group, x, root, How(algorithm))
                    assert x.tobytes() == own[root].tobytes(), (algorithm, count, root)
                for algorithm in algorithms("scatter", size):
                    x = np.zeros(count, np.float32)
                    collectives.scatter(group, x, own if rank == root else None, root, How(algorithm))
                    assert x.tobytes() == own[rank].tobytes(), (algorithm, count, root)
                for algorithm in algorithms("gather", size):
                    outputs = [np.zeros(count, np.float32) for _ in own] if rank == root else None
                    collectives.gather(group, own[rank], outputs, root, How(algorithm))
                    if outputs is not None:
                        assert np.array_equal(outputs, own), (algorithm, count, root)
            for algorithm in algorithms("all_gather", size):
                outputs = [np.zeros(count, np.float32) for _ in own]
                collectives.all_gather(group, own[rank], outputs, How(algorithm))
                assert np.array_equal(outputs, own), (algorithm, count)
                whole = np.zeros(count * size, np.float32)
                collectives.all_gather_into(group, own[rank], whole, How(algorithm))
                assert np.array_equal(whole, np.concatenate(own)), (algorithm, count)
            for algorithm in algorithms("all_to_all", size):
                given = [vector(rank * size + to, count) for to in range(size)]
                outputs = [np.zeros(count, np.float32) for _ in own]
                collectives.all_to_all(group, outputs, given, How(algorithm))
                for source, out in enumerate(outputs):
                    assert np.array_equal(out, vector(source * size + rank, count)), algorithm
        for algorithm in algorithms("barrier", size):
            collectives.barrier(group, How(algorithm))

    each_rank(body, size)


def ops_of(dtype: np.dtype[Any]) -> list[str]:
    ops = ["sum", "product", "min", "max"]
    if dtype in FLOATS:
        return [*ops, "avg", "premul_sum"]
    return [*ops, "band", "bor", "bxor"]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_and_op(dtype: np.dtype[Any], size: int) -> None:
    def body(group: ProcessGroup) -> None:
        rank, count = group.rank(), 2 * size + 1
        for op in ops_of(dtype):
            low = 0 if dtype in (np.dtype(bool), np.dtype("uint8")) else -2
            own = [np.random.default_rng(r).integers(low, 3, count).astype(dtype) for r in range(size)]
            scaled = [x * dtype.type(2) for x in own] if op == "premul_sum" else own
            expected = folded(op, scaled)
            if op == "avg":
                expected = (expected / dtype.type(size)).astype(dtype)
            reduction = ReduceStep(op, 2.0 if op == "premul_sum" else None)
            for algorithm in algorithms("all_reduce", size):
                x = own[rank].copy()
                collectives.all_reduce(group, x, reduction, How(algorithm))
                assert x.dtype == dtype and x.tobytes() == expected.tobytes(), (op, algorithm)
            for algorithm in algorithms("reduce", size):
                x = own[rank].copy()
                collectives.reduce(group, x, size - 1, reduction, How(algorithm))
                wanted = expected if rank == size - 1 else own[rank]
                assert x.tobytes() == wanted.tobytes(), (op, algorithm)
            for algorithm in algorithms("reduce_scatter", size):
                x = np.zeros(count, dtype)
                given = [own[rank].copy() for _ in range(size)]
                collectives.reduce_scatter(group, x, given, reduction, How(algorithm))
                assert x.tobytes() == expected.tobytes(), (op, algorithm)
                assert all(part.tobytes() == own[rank].tobytes() for part in given)

    each_rank(body, size)


@pytest.mark.parametrize("size", [2, 3, 5, 8, 9])
@pytest.mark.parametrize("op", ["sum", "product", "min", "max"])
def test_the_order_of_addition_is_the_schedules(size: int, op: str) -> None:
    """Rounding, signed zeros and nans: the same bits on all ranks, and as in the replay."""

    def rough(rank: int, count: int) -> np.ndarray:
        rng = np.random.default_rng(rank)
        x = (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)).astype(np.float32)
        x[::7] = np.array([0.0, -0.0])[rank % 2]
        x[3::11] = np.inf if rank % 2 else -np.inf
        return x

    def body(group: ProcessGroup) -> list[bytes]:
        results = []
        for count in (size - 1, 77, 20_000):
            for algorithm in serving("all_reduce", size):
                x = rough(group.rank(), count)
                collectives.all_reduce(group, x, ReduceStep(op), How(algorithm))
                results.append(x.tobytes())
        return results

    found = each_rank(body, size)
    assert all(result == found[0] for result in found)
    expected = []
    for count in (size - 1, 77, 20_000):
        for schedule in serving("all_reduce", size).values():
            vectors = [rough(rank, count) for rank in range(size)]
            with np.errstate(all="ignore"):
                values = Values(schedule, vectors, COMBINES_OF[op])
                Replay(schedule, size, 4 * count, itemsize=4, contents=values).run()
            expected.append(values.result(0).tobytes())
    assert found[0] == expected


COMBINES_OF = {"sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.mark.parametrize("size", [2, 3, 5])
def test_large_vectors_travel_in_segments(size: int) -> None:
    count = 1_000_003  # several segments, uneven

    def body(group: ProcessGroup) -> None:
        for algorithm in serving("all_reduce", size):
            x = np.full(count, group.rank() + 1, np.int32)
            x[-1] = 7
            collectives.all_reduce(group, x, how=How(algorithm))
            assert (x[:-1] == size * (size + 1) // 2).all() and x[-1] == 7 * size, algorithm
        for algorithm in serving("reduce", size):
            x = np.full(count, group.rank() + 1, np.int32)
            collectives.reduce(group, x, size - 1, how=How(algorithm))
            wanted = size * (size + 1) // 2 if group.rank() == size - 1 else group.rank() + 1
            assert (x == wanted).all(), algorithm

    each_rank(body, size)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_uneven_parts(size: int) -> None:
    def body(group: ProcessGroup) -> None:
        rank = group.rank()
        own = [vector(r, 3 * r) for r in range(size)]
        for algorithm in serving("all_gather", size):
            outputs = [np.zeros_like(x) for x in own]
            collectives.all_gather(group, own[rank], outputs, How(algorithm))
            assert all(np.array_equal(*pair) for pair in zip(outputs, own, strict=True)), algorithm
        for algorithm in serving("reduce_scatter", size):
            x = np.zeros(3 * rank, np.float32)
            collectives.reduce_scatter(group, x, own, how=How(algorithm))
            assert np.array_equal(x, own[rank] * size), algorithm
        for algorithm in ("direct", "pairwise"):
            given = [np.full(rank + 2 * to, rank, np.int64) for to in range(size)]
            outputs = [np.zeros(source + 2 * rank, np.int64) for source in range(size)]
            collectives.all_to_all(group, outputs, given, How(algorithm))
            assert all((out == source).all() for source, out in enumerate(outputs))

    each_rank(body, size)


def test_asynchronous_operations_of_a_group_run_in_order() -> None:
    def body(group: ProcessGroup) -> None:
        works = []
        arrays = [np.full(5, group.rank() + k, np.int64) for k in range(6)]
        for k, x in enumerate(arrays):
            work = collectives.all_reduce(group, x, how=How(asynchronous=True, output=k))
            assert work is not None
            works.append(work)
        collectives.barrier(group)
        for k, (work, x) in enumerate(zip(works, arrays, strict=True)):
            assert work.wait() and work.result() == [k]
            assert (x == 3 * k + 3).all()

    each_rank(body, 3)


def test_ranks_that_choose_different_algorithms_are_told_so() -> None:
    def body(group: ProcessGroup) -> str:
        x = np.ones(4, np.float32)
        with pytest.raises(DistMismatch) as caught:
            collectives.all_reduce(group, x, how=How(["ring", "binomial", "ring"][group.rank()]))
        return str(caught.value)

    assert any("by ring" in text and "by binomial" in text for text in each_rank(body, 3))


def test_no_operation_holds_much_more_than_its_own_tensor() -> None:
    """Scratch and what comes early together: at most 1.25 times the vector, and a little."""
    size, count = 4, 1 << 20
    nbytes = 4 * count

    def peak(body: Callable[[ProcessGroup], None]) -> float:
        def measured(group: ProcessGroup) -> None:
            collectives.barrier(group)
            if group.rank() == 0:
                tracemalloc.start()
                tracemalloc.reset_peak()
            collectives.barrier(group)
            before = tracemalloc.get_traced_memory()[0]
            body(group)
            collectives.barrier(group)
            if group.rank() == 0:
                peaks.append(tracemalloc.get_traced_memory()[1] - before)
                tracemalloc.stop()

        peaks: list[float] = []
        each_rank(measured, size)
        return peaks[0] / size  # the mean over the ranks, which are threads

    vectors = [np.ones(count, np.float32) for _ in range(size)]
    outputs = [np.ones(count // size, np.float32) for _ in range(size)]

    for name in serving("all_reduce", size):
        held = peak(lambda g, n=name: collectives.all_reduce(g, vectors[g.rank()], how=How(n)))
        # Its scratch is a vector for each rank of a round, and 4 ranks need one round.
        several = size if name == "recursive_multiplying" else 1
        assert held <= 1.25 * nbytes * several + 2**17, name
    for name in serving("reduce", size):
        held = peak(lambda g, n=name: collectives.reduce(g, vectors[g.rank()], 0, how=How(n)))
        assert held <= 1.25 * nbytes + 2**17, name
    for name in serving("reduce_scatter", size):
        held = peak(
            lambda g, n=name: collectives.reduce_scatter_from(g, outputs[g.rank()], vectors[g.rank()], how=How(n))
        )
        assert held <= 1.25 * nbytes + 2**17, name
