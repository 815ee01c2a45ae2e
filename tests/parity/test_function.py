"""`autograd.Function`: what may be written in forward and backward, in torch and here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.parity.test_backward import agree, leaf, plain

pytestmark = pytest.mark.parity


def function(t: Any, forward: Any, backward: Any = None, setup: Any = None) -> Any:
    """A Function class of namespace `t`."""
    body = {"forward": staticmethod(forward)}
    if backward is not None:
        body["backward"] = staticmethod(backward)
    if setup is not None:
        body["setup_context"] = staticmethod(setup)
    return type("Mine", (t.autograd.Function,), body)


def double(ctx: Any, x: Any, *rest: Any) -> Any:
    return x * 2


def run(t: Any, forward: Any, backward: Any, *more: Any) -> Any:
    """Forward and backward on a leaf; returns the gradient."""
    x = leaf(t, 2)
    out = function(t, forward, backward).apply(x, *more)
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    return x.grad


def saved(t: Any) -> Any:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        out = x * y
        ctx.save_for_backward(x, out, None, y)
        seen.append((t.is_grad_enabled(), x.requires_grad, out.requires_grad))
        return out

    def backward(ctx: Any, grad: Any) -> Any:
        x, out, nothing, y = ctx.saved_tensors
        seen.append((x is a, nothing, out.requires_grad, x.is_leaf, y.is_leaf, t.is_grad_enabled()))
        seen.append((ctx.needs_input_grad, plain(out), plain(y)))
        return grad * y, grad * x

    a, b = leaf(t, 3), leaf(t, 3) * 3
    out = function(t, forward, backward).apply(a, b)
    out.sum().backward()
    return seen, a.grad, type(out.grad_fn).__name__, out.grad_fn.name()


def saved_twice(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1

    def backward(ctx: Any, grad: Any) -> Any:
        return ctx.saved_tensors[0] * grad

    out = function(t, forward, backward).apply(leaf(t, 2)).sum()
    out.backward()
    out.backward()


def nothing_saved_twice(t: Any) -> Any:
    x = leaf(t, 2)
    out = function(t, double, lambda ctx, g: g * 2).apply(x).sum()
    out.backward()
    out.backward()
    return x.grad


def saved_then_written(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 1

    z = leaf(t, 2) * 1
    out = function(t, forward, lambda ctx, g: ctx.saved_tensors[0] * g).apply(z)
    z.mul_(2)
    out.sum().backward()


def output_saved_then_written(t: Any) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        out = x * 1
        ctx.save_for_backward(out)
        return out

    out = function(t, forward, lambda ctx, g: ctx.saved_tensors[0] * g).apply(leaf(t, 2))
    out.mul_(2)
    out.sum().backward()


def several(materialize: bool) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        seen: list[Any] = []

        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(materialize)
            index = (x > 1).to(t.int64)
            constant = x * 7
            ctx.mark_non_differentiable(constant)
            return x * 2, x * 3, index, constant, None, 5

        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(plain(grads))
            return grads[1]

        x = leaf(t, 2)
        outs = function(t, forward, backward).apply(x)
        outs[1].sum().backward()
        return seen, x.grad, [getattr(o, "requires_grad", o) for o in outs], plain(outs)

    return program


def undefined(t: Any) -> Any:
    """A backward that returns None upstream: Functions get zeros, others are left out."""
    seen: list[Any] = []

    def watch(ctx: Any, g: Any) -> Any:
        seen.append(plain(g))
        return g

    x, y = leaf(t, 2), leaf(t, 2)
    first = function(t, double, watch).apply(x) + y * 3
    function(t, double, lambda ctx, g: None).apply(first).sum().backward()
    return seen, x.grad, y.grad


def returned_as_is(t: Any) -> Any:
    x = leaf(t, 2)
    out = function(t, lambda ctx, x: x, lambda ctx, g: g * 5).apply(x)
    out.sum().backward()
    return out is x, out._base is not None, out._base is x, x.grad


def written_after(result: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def program(t: Any) -> Any:
        z = leaf(t, 2) * 1
        out = function(t, lambda ctx, x: result(x), lambda ctx, g, *h: g * 5).apply(z)
        out = out[0] if isinstance(out, tuple) else out
        out.mul_(2)
        return out

    return program


def separate_setup(t: Any) -> Any:
    def forward(x: Any, k: Any, power: int = 2) -> Any:
        return x * k, x * power

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        assert isinstance(inputs, tuple) and isinstance(output, tuple)
        ctx.save_for_backward(inputs[0], output[1])
        ctx.k, ctx.power = inputs[1:]

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return g * ctx.k + h * ctx.power * ctx.saved_tensors[0], None, None

    x = leaf(t, 2)
    a, b = function(t, forward, backward, setup).apply(x, k=3)
    (a + b).sum().backward()
    return x.grad


def not_recorded(t: Any) -> Any:
    mine = function(t, double, lambda ctx, g: g)
    with t.no_grad():
        inside = mine.apply(leaf(t, 2)).requires_grad
    return inside, mine.apply(t.ones(2)).requires_grad, mine.apply(t.ones(2)).grad_fn


PROGRAMS: list[Callable[[Any], Any]] = [
    saved,
    saved_twice,
    nothing_saved_twice,
    saved_then_written,
    output_saved_then_written,
    several(True),
    several(False),
    undefined,
    returned_as_is,
    separate_setup,
    not_recorded,
    written_after(lambda x: x.view(-1)),
    written_after(lambda x: (x.view(-1), x * 1)),
    written_after(lambda x: x),
    written_after(lambda x: (x * 2, x * 3)),
    lambda t: run(t, double, lambda ctx, g: g, 1),
    lambda t: run(t, double, lambda ctx, g: (g, g)),
    lambda t: run(t, double, lambda ctx, g: (g, None)),
    lambda t: run(t, double, lambda ctx, g: (g, g), 1),
    lambda t: run(t, double, lambda ctx, g: (g, None), "text"),
    lambda t: run(t, double, lambda ctx, g: t.ones(3)),
    lambda t: run(t, double, lambda ctx, g: t.ones(1)),
    lambda t: run(t, double, lambda ctx, g: t.ones(3, 2)),
    lambda t: run(t, double, lambda ctx, g: t.ones(2, dtype=t.float64)),
    lambda t: run(t, double, lambda ctx, g: 3),
    lambda t: run(t, double, None),
    lambda t: run(t, lambda ctx, x: ctx.save_for_backward(3), lambda ctx, g: g),
    lambda t: function(t, lambda ctx, x: 3, None).apply(leaf(t, 2)),
    lambda t: function(t, lambda ctx, x: [x * 1], None).apply(leaf(t, 2))[0].requires_grad,
    lambda t: function(t, lambda x, k: x, None, lambda ctx, inputs, output: None).apply(leaf(t, 2)),
    lambda t: run(t, double, t.autograd.function.once_differentiable(lambda ctx, g: g * 3)),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_same(number: int) -> None:
    agree(PROGRAMS[number])
