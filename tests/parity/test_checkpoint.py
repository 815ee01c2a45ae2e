"""Checkpoints in torch and here: the same gradients, the same errors, the same order of hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.test_backward import agree, leaf

pytestmark = pytest.mark.parity


def inner(x: Any, w: Any = None) -> Any:
    h = (x * x).relu() * 2
    return h * w if w is not None else h


def gradients(t: Any, **how: Any) -> Any:
    x, w = leaf(t, 3), leaf(t, 3)
    out = t.utils.checkpoint.checkpoint(inner, x * 1, w, **how)
    (out * out).sum().backward()
    return x.grad, w.grad, out


def closure(t: Any, **how: Any) -> Any:
    """A parameter that the function only closes over, and an input that needs no gradient."""
    x, w = t.ones(3), leaf(t, 3)
    out = t.utils.checkpoint.checkpoint(lambda x: inner(x, w), x, **how)
    if out.requires_grad:
        out.sum().backward()
    return out.requires_grad, w.grad


def selected(t: Any, **how: Any) -> Any:
    x, w = leaf(t, 3), leaf(t, 3)
    out = t.utils.checkpoint.checkpoint(inner, x, w, **how)
    return t.autograd.grad(out.sum(), [w])


def twice(retain: bool) -> Callable[..., Any]:
    def program(t: Any, **how: Any) -> Any:
        x = leaf(t, 3)
        out = t.utils.checkpoint.checkpoint(inner, x, **how).sum()
        out.backward(retain_graph=retain)
        out.backward()
        return x.grad

    return program


def written_between(t: Any, **how: Any) -> Any:
    z = leaf(t, 3) * 1
    out = t.utils.checkpoint.checkpoint(lambda a: a.sin().sin(), z, **how)
    z.add_(1)
    out.sum().backward()


def hooks(t: Any, **how: Any) -> Any:
    seen: list[str] = []
    x, w, v = leaf(t, 3), leaf(t, 3), leaf(t, 3)
    for name, p in zip("xwv", (x, w, v), strict=True):
        p.register_post_accumulate_grad_hook(lambda p, n=name: seen.append(n))
    h = t.utils.checkpoint.checkpoint(inner, x, w, **how)
    t.utils.checkpoint.checkpoint(inner, h, v, **how).sum().backward()
    return seen, x.grad, w.grad, v.grad


def nested(t: Any, **how: Any) -> Any:
    x, w = leaf(t, 3), leaf(t, 3)
    runs: list[int] = []

    def deepest(a: Any) -> Any:
        runs.append(1)
        return inner(a, w).sin()

    def middle(a: Any) -> Any:
        return t.utils.checkpoint.checkpoint(deepest, a * w, **how).exp()

    def outer(a: Any) -> Any:
        return t.utils.checkpoint.checkpoint(middle, a.cos(), **how) * w

    t.utils.checkpoint.checkpoint(outer, x, **how).sum().backward()
    return x.grad, w.grad


def several(t: Any, **how: Any) -> Any:
    x = leaf(t, 3)
    _, b, n = t.utils.checkpoint.checkpoint(lambda x: (x * x, x.exp(), 7), x, **how)
    b.sum().backward()
    return x.grad, n


def custom_function(t: Any, **how: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = x * x
        ctx.save_for_backward(x, out)
        ctx.k = 3
        return out

    def backward(ctx: Any, g: Any) -> Any:
        x, out = ctx.saved_tensors
        return g * x * ctx.k + out

    mine = type("Mine", (t.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})
    x = leaf(t, 3)
    t.utils.checkpoint.checkpoint(lambda x: mine.apply(x.exp()).sin(), x, **how).sum().backward()
    return x.grad


def in_place_inside(t: Any, **how: Any) -> Any:
    def function(x: Any) -> Any:
        y = x * 2
        y[0].mul_(x[1])
        y.relu_()
        return (y * 3).sin()

    x = leaf(t, 3)
    t.utils.checkpoint.checkpoint(function, x, **how).sum().backward()
    return x.grad


def other_shape(t: Any, **how: Any) -> Any:
    runs: list[int] = []

    def function(x: Any) -> Any:
        runs.append(1)
        return (x if len(runs) == 1 else x.unsqueeze(0)).sin()

    t.utils.checkpoint.checkpoint(function, leaf(t, 3), **how).sum().backward()


def fewer(t: Any, **how: Any) -> Any:
    runs: list[int] = []

    def function(x: Any) -> Any:
        runs.append(1)
        return x.sin() if len(runs) > 1 else x.sin().sin()

    t.utils.checkpoint.checkpoint(function, leaf(t, 3), **how).sum().backward()


def without_grad(t: Any, **how: Any) -> Any:
    with t.no_grad():
        return t.utils.checkpoint.checkpoint(inner, leaf(t, 3), **how).requires_grad


def keyword(t: Any, **how: Any) -> Any:
    x, w = leaf(t, 3), leaf(t, 3)
    t.utils.checkpoint.checkpoint(inner, x, w=w, **how).sum().backward()
    return x.grad, w.grad


PROGRAMS = [gradients, closure, selected, twice(False), twice(True), written_between, hooks, nested,
            several, custom_function, in_place_inside, without_grad, keyword]  # fmt: skip
CHECKED = [other_shape, fewer]
WHERE_TORCHS_OLDER_FORM_WORKS = [gradients, twice(True), nested, several, custom_function, in_place_inside]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_same(number: int) -> None:
    agree(lambda t: PROGRAMS[number](t, use_reentrant=False))


@pytest.mark.parametrize("number", range(len(WHERE_TORCHS_OLDER_FORM_WORKS)))
def test_the_older_form_gives_the_same_gradients(number: int) -> None:
    agree(lambda t: WHERE_TORCHS_OLDER_FORM_WORKS[number](t, use_reentrant=True))


@pytest.mark.parametrize("program", CHECKED)
def test_a_function_that_does_something_else_is_caught(program: Any) -> None:
    def run(t: Any) -> Any:
        return program(t, use_reentrant=False)

    agree(run)
