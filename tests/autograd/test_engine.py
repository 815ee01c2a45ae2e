"""The engine: deep chains, shared nodes, threads, and memory that is given back at once."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.tensors.core import engine
from minitorch_dist.tensors.core.engine import NodeTask
from minitorch_dist.tensors.core.graph import AccumulateGrad, Node

Tensor = mtd.Tensor


def leaf(*shape: int, value: float = 1.0) -> Tensor:
    return mtd.full(shape, value).requires_grad_()


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Whatever is freed inside is freed by counting references, not by the cycle collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


# ------------------------------------------------------------------------------------------- depth


STEPS: list[Any] = [lambda h, w: h * w, lambda h, w: h + 1, lambda h, w: h.view(-1)]


def fifty_thousand(x: Any, w: Any) -> Any:
    """A chain of three kinds of nodes in turn, deeper than any stack."""
    for number in range(50_000):
        x = STEPS[number % 3](x, w)
    return x


@pytest.mark.slow
def test_fifty_thousand_operations_in_a_row() -> None:
    x, w = leaf(1), leaf(1)
    h = fifty_thousand(x, w)
    h.sum().backward()
    assert x.grad.item() == 1.0
    del h  # taking the graph apart must not recurse either


@pytest.mark.slow
def test_a_deep_graph_can_be_dropped_without_a_backward_pass() -> None:
    x, w = leaf(1), leaf(1)
    h = fifty_thousand(x, w)
    del h
    assert x.grad is None


@pytest.mark.slow
def test_many_operations_under_checkpoints() -> None:
    from minitorch_dist.utils.checkpoint import checkpoint

    def function(x: Tensor) -> Tensor:
        for _ in range(2_000):
            x = x * 1.0
        return x

    x = leaf(1)
    h = x
    for _ in range(10):
        h = checkpoint(function, h, use_reentrant=False)
    h.sum().backward()
    assert x.grad.item() == 1.0


def test_shared_nodes_run_once() -> None:
    x = leaf(1)
    runs: list[int] = []
    b = x
    for _ in range(30):  # 2**30 paths
        b = b + b
        b.register_hook(lambda grad: runs.append(1))
    b.sum().backward()
    assert x.grad.item() == 2.0**30 and len(runs) == 30


# ------------------------------------------------------------------------------------------ memory


def test_what_a_node_kept_is_freed_during_the_pass(without_collector: None) -> None:
    alive: list[int] = []
    kept: list[Any] = []
    x = leaf(4)
    h = x
    for _ in range(4):
        h = h * h
        kept.append(weakref.ref(h.array))
        h.register_hook(lambda g: alive.append(sum(r() is not None for r in kept)))
    loss = h.sum()
    del h
    assert sum(r() is not None for r in kept) == 3, "the last product is read by nobody"
    loss.backward()
    assert alive == [3, 2, 1, 0]
    assert sum(r() is not None for r in kept) == 0


@pytest.mark.parametrize("hooked", [False, True])
def test_nothing_waits_for_the_cycle_collector(hooked: bool, without_collector: None) -> None:
    """Activations, nodes, views, written tensors, hooks, retained gradients."""
    x, w = leaf(3, 4), leaf(4)
    watched: list[Any] = []

    def keep(t: Tensor) -> Tensor:
        watched.extend([weakref.ref(t), weakref.ref(t.array), weakref.ref(t.grad_fn)])
        if hooked:
            t.register_hook(lambda g: g * 1)
            t.retain_grad()
        return t

    h = keep(x * w)
    v = keep(h[0])
    v.mul_(2)
    keep(v)
    h.relu_()
    h = keep(h.exp())
    h = keep(h.view(-1))
    loss = keep(h.sum())
    loss.backward()
    del h, v, loss
    assert [r() for r in watched] == [None] * len(watched)


def test_a_leaf_is_freed_although_a_graph_ends_at_it(without_collector: None) -> None:
    x = leaf(3)
    y = x * 2
    reference = weakref.ref(x)
    del x
    assert reference() is None
    y.sum().backward()


def test_gradients_are_arrays_of_their_own() -> None:
    x, y = leaf(3), leaf(3)
    given = mtd.ones(3)
    (x + y).backward(given)
    x.grad.mul_(5)
    assert y.grad.tolist() == [1, 1, 1] and given.tolist() == [1, 1, 1]
    a = leaf(3)
    array = np.ones(3, np.float32)
    a.backward(mtd.from_numpy(array))
    a.grad.add_(1)
    assert array.tolist() == [1, 1, 1]
    b = leaf(3)
    (got,) = mtd.autograd.grad(b * 1, b, given)
    got.mul_(7)
    assert given.tolist() == [1, 1, 1]
    (got,) = mtd.autograd.grad(b.sum(), b)
    got.add_(1)  # although the gradient of a sum is one number seen often
    assert got.tolist() == [2, 2, 2]


def test_a_hook_may_write_to_its_gradient() -> None:
    x, y = leaf(3), leaf(3)
    h = x * 1
    h.register_hook(lambda g: g.mul_(10))
    (h + y).sum().backward()
    assert x.grad.tolist() == [10, 10, 10] and y.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_gradients_have_the_dtype_of_their_leaf(dtype: str) -> None:
    x = mtd.ones(3, dtype=getattr(mtd, dtype)).requires_grad_()
    y = mtd.ones(3, dtype=mtd.float64).requires_grad_()
    (x * y).sum().backward()
    assert x.grad.dtype is x.dtype and y.grad.dtype is y.dtype


# ----------------------------------------------------------------------------------------- threads


def test_several_threads_add_to_the_same_leaves_exactly() -> None:
    """Whole numbers in float64 add up exactly, in whatever order."""
    w = mtd.ones(64, dtype=mtd.float64).requires_grad_()
    shared = w * 1.0  # one graph that all passes run through
    start = threading.Barrier(6)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            start.wait()
            for _ in range(50):
                (w * float(number)).sum().backward()
                shared.backward(mtd.ones(64, dtype=mtd.float64), retain_graph=True)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert (w.grad.numpy() == 50 * (0 + 1 + 2 + 3 + 4 + 5) + 6 * 50).all()


def test_the_mode_belongs_to_the_thread() -> None:
    seen: list[bool] = []
    with mtd.no_grad():
        thread = threading.Thread(target=lambda: seen.append(mtd.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not mtd.is_grad_enabled()
    assert seen == [True]


def test_a_pass_inside_a_pass() -> None:
    x, y = leaf(2), leaf(2)

    def hook(grad: Any) -> None:
        with mtd.enable_grad():
            (y * 3).sum().backward()

    x.register_hook(hook)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad.tolist() == [3, 3]


def test_an_error_in_a_pass_leaves_the_mode_as_it_was() -> None:
    x = leaf(2)
    h = x * 1

    def fail(grad: Any) -> None:
        raise KeyError("hook")

    h.register_hook(fail)
    with pytest.raises(KeyError):
        h.sum().backward()
    assert mtd.is_grad_enabled() and engine.current.get() is None


# ------------------------------------------------------------------------------------- the queue


def push_as_cpp(heap: list[NodeTask], task: NodeTask) -> None:
    """C++'s `push_heap`: append, and rise above every parent that is older."""
    place = len(heap)
    heap.append(task)
    while place and heap[(place - 1) >> 1].priority < task.priority:
        above = (place - 1) >> 1
        heap[place] = heap[above]
        place = above
    heap[place] = task


def pop_as_cpp(heap: list[NodeTask]) -> NodeTask:
    """C++'s `pop_heap`: let the newer child (of equals the right one) rise into each gap, then put the
    last task into the gap that is left at the bottom and let it rise again."""
    last = heap.pop()
    if not heap:
        return last
    top, gap, size = heap[0], 0, len(heap)
    while (child := 2 * gap + 1) < size:
        if child + 1 < size and heap[child + 1].priority >= heap[child].priority:
            child += 1
        heap[gap] = heap[child]
        gap = child
    while gap and heap[(gap - 1) >> 1].priority < last.priority:
        heap[gap] = heap[(gap - 1) >> 1]
        gap = (gap - 1) >> 1
    heap[gap] = last
    return top


def test_the_queue_has_the_order_of_a_heap_in_cpp_also_among_equals() -> None:
    rng = np.random.default_rng(0)
    for size in (*range(20), 100):
        for kinds in (1, 2, 6, 1000):
            ours: list[NodeTask] = []
            theirs: list[NodeTask] = []
            for _ in range(size):
                task = NodeTask(Node("N", ()))
                task.priority = int(rng.integers(0, kinds))
                heappush(ours, task)
                push_as_cpp(theirs, task)
                if rng.random() < 0.3:
                    assert heappop(ours) is pop_as_cpp(theirs)
            order = [heappop(ours) for _ in range(len(ours))]
            assert all(task is pop_as_cpp(theirs) for task in order)
            assert [t.priority for t in order] == sorted((t.priority for t in order), reverse=True)


def test_equal_leaves_leave_the_queue_in_torchs_order() -> None:
    heap: list[NodeTask] = []
    tasks = [NodeTask(AccumulateGrad(leaf(2))) for _ in range(4)]
    for task in tasks:
        heappush(heap, task)
    assert [tasks.index(heappop(heap)) for _ in tasks] == [0, 2, 1, 3]


def test_a_gradient_of_a_gradient_is_refused_with_a_way_to_have_it() -> None:
    x = mtd.ones(2, requires_grad=True)
    for ask in (
        lambda: mtd.autograd.grad((x**3).sum(), x, create_graph=True),
        lambda: (x**3).sum().backward(create_graph=True),
    ):
        with pytest.raises(NotImplementedError, match=r"create_graph=True is not offered.*PyTorch"):
            ask()
    assert x.grad is None
