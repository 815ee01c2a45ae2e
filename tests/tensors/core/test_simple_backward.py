"""The engine against its simple form: the same gradients on random graphs, bit for bit."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as mtd
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core import engine, graph
from minitorch_dist.tensors.core.without_warnings import without_warnings

Tensor = mtd.Tensor
SHAPES = [(), (1,), (3,), (2, 3), (0, 3), (2, 1)]

ONE = {
    "neg": lambda x: -x,
    "exp": lambda x: (x * 0.1).exp(),
    "relu": lambda x: x.relu(),
    "sum": lambda x: x.sum(),
    "rows": lambda x: x.sum(-1) if x.ndim else x * 2,
    "view": lambda x: x.reshape(-1),
    "turned": lambda x: x.mT if x.ndim == 2 else x,
    "half": lambda x: x.reshape(-1)[::2],
    "detached": lambda x: x.detach(),
    "float32": lambda x: x.float().double(),
    "written": lambda x: (x + 1).mul_(2),
    "halves": lambda x: functools.reduce(mtd.add, [p.sum() for p in x.reshape(-1).split(2)]),
}
TWO = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "largest": lambda x, y: mtd.maximum(x, y),
}


@st.composite
def programs(draw: Any) -> tuple[int, list[tuple[int, ...]], list[tuple[str, int, int]]]:
    """A seed, the shapes of the leaves, and steps: an operation and which earlier tensors it takes."""
    leaves = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=4))
    names = st.sampled_from([*ONE, *TWO, *TWO])
    places = st.integers(0, 30)
    steps = draw(st.lists(st.tuples(names, places, places), min_size=1, max_size=14))
    return draw(st.integers(0, 2**32 - 1)), leaves, steps


def made(
    seed: int, shapes: list[tuple[int, ...]], steps: list[tuple[str, int, int]]
) -> tuple[list[Tensor], list[Tensor]]:
    """The leaves and all results of a program. Tensors whose shapes do not meet are summed before."""
    rng = np.random.default_rng(seed)
    leaves = [mtd.tensor(rng.standard_normal(shape)).requires_grad_() for shape in shapes]
    results = list(leaves)
    for name, a, b in steps:
        x, y = results[-1 - a % len(results)], results[-1 - b % len(results)]
        if name in ONE:
            results.append(ONE[name](x))
            continue
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            y = y.sum()
        results.append(TWO[name](x, y))
    return leaves, results


def roots_of(results: list[Tensor]) -> list[tuple[Any, Any]]:
    """The last two results that need a gradient, each with a gradient of its own."""
    found = []
    for result in results[-2:]:
        edge = graph.edge_of(result)
        if edge is not None:
            found.append((edge, np.linspace(-1, 2, result.array.size).reshape(result.shape)))
    return found


@given(programs(), st.integers(1, 3))
@settings(deadline=None, max_examples=200)
def test_both_forms_give_the_same_gradients(program: Any, passes: int) -> None:
    leaves, results = made(*program)
    roots = roots_of(results)
    for _ in range(passes):  # a second pass adds to what is there
        with mtd.no_grad():
            without_warnings(engine.simple_backward, roots)
    simple = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    for _ in range(passes):
        engine.run(roots, retain_graph=True)
    for leaf, expected in zip(leaves, simple, strict=True):
        if expected is None:
            assert leaf.grad is None
        else:
            assert leaf.grad is not None
            assert leaf.grad.dtype == expected.dtype
            assert leaf.grad.shape == expected.shape
            assert leaf.grad.numpy().tobytes() == expected.numpy().tobytes()


@pytest.mark.parametrize("depth", [1, 2, 5, 40])
def test_a_result_that_is_used_twice_is_walked_once(depth: int) -> None:
    x = mtd.tensor([1.0, -2.0], requires_grad=True)
    y = x
    for _ in range(depth):
        y = y + y
    edge = graph.edge_of(y)
    assert edge is not None
    engine.simple_backward([(edge, np.ones(2, np.float32))])
    assert x.grad is not None
    assert x.grad.tolist() == [2.0**depth] * 2
    assert grad_modes.is_grad_enabled()
