"""What a checkpoint promises: memory given back, the same random numbers, the same gradients."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.utils.checkpoint import checkpoint


def leaf(*shape: int) -> mtd.Tensor:
    return mtd.ones(*shape).requires_grad_()


def watch(tensor: mtd.Tensor, into: list[Any]) -> mtd.Tensor:
    into.append(weakref.ref(tensor.array))
    return tensor


@pytest.fixture
def without_collector() -> Any:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_what_is_computed_inside_is_freed_at_once(without_collector: Any) -> None:
    inside: list[Any] = []
    alive_while_running: list[int] = []

    def function(x: mtd.Tensor) -> mtd.Tensor:
        for _ in range(5):
            x = watch(x * x, inside)
            x = x + 1
            alive_while_running.append(sum(ref() is not None for ref in inside))
        return x

    x = leaf(4)
    out = checkpoint(function, x)
    assert [ref() for ref in inside] == [None] * 5
    assert max(alive_while_running) <= 2, "the graph keeps what it was to forget"
    out.sum().backward()
    assert len(inside) == 10
    del out
    assert [ref() for ref in inside] == [None] * 10


def test_inner_inputs_of_nested_checkpoints_are_freed(without_collector: Any) -> None:
    inside: list[Any] = []

    def inner(x: mtd.Tensor) -> mtd.Tensor:
        return watch(x * x, inside) + 1

    def outer(x: mtd.Tensor) -> mtd.Tensor:
        for _ in range(3):
            x = checkpoint(inner, watch(x * 2, inside), use_reentrant=False)
        return x

    x = leaf(4)
    out = checkpoint(outer, x, use_reentrant=False)
    assert [ref() for ref in inside] == [None] * 6
    out.sum().backward()
    del out
    assert all(ref() is None for ref in inside)


def test_a_graph_that_is_dropped_unused_leaves_nothing(without_collector: Any) -> None:
    x = leaf(4)
    y = x * 2
    out = checkpoint(lambda a: a * a * a, y, use_reentrant=False)
    node, storage = weakref.ref(out.grad_fn), weakref.ref(y.array)
    del out, y
    assert node() is None and storage() is None


@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers_are_drawn_again(preserve: bool) -> None:
    masks: list[Any] = []

    def function(x: mtd.Tensor) -> mtd.Tensor:
        masks.append(mtd.rand(50))
        return x * x * masks[-1]

    x = leaf(50)
    mtd.manual_seed(3)
    out = checkpoint(function, x, preserve_rng_state=preserve)
    after = mtd.rand(3)
    out.sum().backward()
    assert (masks[0].numpy() == masks[1].numpy()).all() == preserve
    if preserve:
        np.testing.assert_array_equal(x.grad.numpy(), 2 * masks[0].numpy())
        mtd.manual_seed(3)
        mtd.rand(50), mtd.rand(3)
        undisturbed = mtd.rand(3).numpy()
        mtd.manual_seed(3)
        out = checkpoint(function, x)
        assert (mtd.rand(3).numpy() == after.numpy()).all()
        out.sum().backward()
        np.testing.assert_array_equal(mtd.rand(3).numpy(), undisturbed)


def test_hooks_inside_belong_to_the_graph_that_stays() -> None:
    seen: list[Any] = []

    def function(x: mtd.Tensor) -> mtd.Tensor:
        y = x * x
        if not seen:
            y.register_hook(lambda g: seen.append(g.numpy().tolist()))
            seen.append("registered")
        return y.sin()

    x = leaf(2)
    checkpoint(function, x, use_reentrant=False).sum().backward()
    assert seen[0] == "registered" and len(seen) == 2
