"""`backward`, `grad`, hooks and flags: the same calls in torch and here, value for value."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity

Program = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """Tensors as nested lists, so that both sides can be compared with ==."""
    if isinstance(value, (torch.Tensor, mtd.Tensor)):
        return ("tensor", str(value.dtype), value.detach().numpy().tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def outcome(t: Any, program: Program) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(program(t))
        except Exception as error:
            return ("raises", type(error).__name__)


def agree(program: Program) -> None:
    """Assert that `program` ends alike in torch and here; floats to rounding."""
    theirs, ours = outcome(torch, program), outcome(mtd, program)
    assert close(theirs, ours), f"torch: {theirs}\nhere: {ours}"


def close(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return b == pytest.approx(a, rel=1e-5, abs=1e-6, nan_ok=True)
    return bool(a == b)


def leaf(t: Any, *shape: int) -> Any:
    values = np.arange(1.0, 1 + int(np.prod(shape, dtype=int)), dtype=np.float32).reshape(shape)
    return t.from_numpy(values).requires_grad_()


def retained(t: Any) -> Any:
    x = leaf(t, 3)
    z = x * 2
    z.retain_grad()
    (z * 3).sum().backward()
    return x.grad, z.grad, z.is_leaf, x.is_leaf


def inputs_only(t: Any) -> Any:
    x, y = leaf(t, 3), leaf(t, 3)
    z = x * y
    z.sum().backward(inputs=[x])
    return x.grad, y.grad


def inner_input(t: Any) -> Any:
    x = leaf(t, 3)
    z = x * 2
    (z * 3).sum().backward(inputs=z)
    return x.grad, z.grad


def hook_replaces(t: Any) -> Any:
    x = leaf(t, 3)
    seen: list[Any] = []
    x.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: seen.append(g * 1))
    z = x * 2
    handle = z.register_hook(lambda g: g * 100)
    z.register_hook(lambda g: g + 1)
    z.sum().backward(retain_graph=True)
    first = x.grad * 1
    handle.remove()
    z.sum().backward()
    return first, x.grad, seen


def hook_before_and_after_a_write(t: Any) -> Any:
    x = leaf(t, 2)
    seen: list[Any] = []
    b = x * 1
    b.register_hook(lambda g: seen.append(("old", plain(g))))
    b.retain_grad()
    b.mul_(3)
    b.register_hook(lambda g: seen.append(("new", plain(g))))
    b.sum().backward()
    return seen, b.grad, x.grad


def hook_and_capture(t: Any) -> Any:
    """torch hands out an inner gradient before its hooks if more lies behind it, else after."""
    x = leaf(t, 3)
    z = x * 2
    z.register_hook(lambda g: g * 10)
    w = (z * 3).sum()
    both = t.autograd.grad(w, [x, z], retain_graph=True)
    return both, t.autograd.grad(w, [z])


def after_accumulation(t: Any) -> Any:
    x = leaf(t, 3)
    seen: list[Any] = []

    def step(p: Any) -> None:
        seen.append((p is x, plain(p.grad)))
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    (x * x).sum().backward()
    t.autograd.grad((x * 5).sum(), x)
    return seen, x.grad


def roots(t: Any) -> Any:
    x = leaf(t, 3)
    y = x * 2
    z = y * y
    t.autograd.backward([z, y.sum()], [t.ones(3), None])
    return x.grad


def repeated_inputs(t: Any) -> Any:
    x = leaf(t, 3)
    return t.autograd.grad([x.sum(), (x * x).sum()], [x, x])


def unused(t: Any) -> Any:
    x, y = leaf(t, 3), leaf(t, 2)
    s = x.sum()
    return t.autograd.grad(s, [x, y], allow_unused=True)


def accumulates(t: Any) -> Any:
    x = leaf(t, 3)
    (x * 2).sum().backward()
    grad, version = x.grad, x.grad._version
    (x * 2).sum().backward()
    return x.grad is grad, x.grad._version - version, x.grad


def strides_of_gradients(t: Any) -> Any:
    return [
        (x.sum().backward(), x.grad.stride())
        for x in (
            t.ones(3, 4).t().requires_grad_(),
            t.ones(3, 4)[:, ::2].requires_grad_(),
            t.ones(3, 4).requires_grad_(),
        )
    ]


def second(build: Callable[[Any], Any]) -> Program:
    def program(t: Any) -> Any:
        x = leaf(t, 3)
        y = build(x).sum()
        y.backward()
        y.backward()
        return x.grad

    return program


def no_grad_view(t: Any) -> Any:
    x = leaf(t, 3)
    with t.no_grad():
        v = x.view(3)
    return v.requires_grad, v.is_leaf, v._base is not None, v._base is x


def modes(t: Any) -> Any:
    def flags() -> Any:
        x = t.ones(1)
        return t.is_inference_mode_enabled(), x.is_inference(), t.is_inference(x)

    n = t.ones(3)
    found: list[Any] = [t.is_grad_enabled(), flags()]
    with t.no_grad():
        found += [t.is_grad_enabled(), flags()]
        with t.enable_grad():
            found.append(t.is_grad_enabled())
    with t.inference_mode():
        found += [t.is_grad_enabled(), flags(), n.view(3).is_inference()]
        with t.no_grad():
            found.append(flags())
        with t.enable_grad():
            found.append(flags())
        with t.inference_mode(False):
            found += [t.is_grad_enabled(), flags()]
    t.set_grad_enabled(False)
    found.append(t.is_grad_enabled())
    t.set_grad_enabled(True)
    with t.set_grad_enabled(False):
        found.append(t.is_grad_enabled())
    found.append(t.is_grad_enabled())
    return found


@pytest.mark.parametrize(
    "program",
    [
        retained,
        inputs_only,
        inner_input,
        hook_replaces,
        hook_before_and_after_a_write,
        hook_and_capture,
        after_accumulation,
        roots,
        repeated_inputs,
        unused,
        accumulates,
        strides_of_gradients,
        no_grad_view,
        modes,
        second(lambda x: x + x),
        second(lambda x: x * 2),
        second(lambda x: x / 2),
        second(lambda x: x / x),
        second(lambda x: x - 1),
        second(lambda x: -x),
        second(lambda x: x.relu()),
        second(lambda x: x.exp()),
        second(lambda x: x.sort()[0]),
        second(lambda x: x**0),
        second(lambda x: x.view(3)),
        second(lambda x: x.mean()),
        second(lambda x: x[1:]),
        second(lambda x: x.clone()),
        second(lambda x: x * x),
    ],
)
def test_same(program: Program) -> None:
    agree(program)


INDICES: list[Any] = [lambda t, x: x.sort(0), lambda t, x: x.topk(2, 0), lambda t, x: x.max(0)]


@pytest.mark.parametrize("number", range(len(INDICES)))
@pytest.mark.parametrize("write", [False, True])
def test_indices_that_a_gradient_uses_must_stay(number: int, write: bool) -> None:
    def program(t: Any) -> Any:
        x = leaf(t, 4, 4)
        values, indices = INDICES[number](t, x)
        if write:
            indices.zero_()
        values.sum().backward()
        return x.grad

    agree(program)


def _inference(t: Any) -> Any:
    with t.inference_mode():
        return t.ones(3)


def _view_in(t: Any, mode: Any, x: Any) -> Any:
    with mode:
        return x.view(3)


def _bad_hook(t: Any, hook: Any) -> Any:
    y = leaf(t, 3) * 1
    y.register_hook(hook)
    y.sum().backward()


REFUSED: list[Program] = [
    lambda t: (leaf(t, 3) * 2).backward(),
    lambda t: t.ones(3).sum().backward(),
    lambda t: (leaf(t, 3) * 2).backward(t.ones(2)),
    lambda t: (leaf(t, 3) * 2).backward(2.0),
    lambda t: leaf(t, 3).sum().backward(t.ones(1)),
    lambda t: leaf(t, 3).sum().backward(inputs=[]),
    lambda t: leaf(t, 3).sum().backward(inputs=[t.ones(1)]),
    lambda t: t.autograd.grad(leaf(t, 3).sum(), []),
    lambda t: t.autograd.grad(leaf(t, 3).sum(), t.ones(1)),
    lambda t: t.autograd.grad(leaf(t, 3).sum(), leaf(t, 3)),
    lambda t: t.autograd.grad(leaf(t, 3) * 2, leaf(t, 3), [t.ones(2)]),
    lambda t: t.ones(3).register_hook(print),
    lambda t: t.ones(3).register_post_accumulate_grad_hook(print),
    lambda t: (leaf(t, 3) * 2).register_post_accumulate_grad_hook(print),
    lambda t: t.ones(2).retain_grad(),
    lambda t: _bad_hook(t, lambda g: 3),
    lambda t: _bad_hook(t, lambda g: g.sum()),
    lambda t: setattr(leaf(t, 3) * 2, "requires_grad", False),
    lambda t: t.ones(3, dtype=t.int64).requires_grad_(),
    lambda t: leaf(t, 3).mul_(2),
    lambda t: leaf(t, 3).view(3).mul_(2),
    lambda t: (leaf(t, 3) * 2).unbind()[1].mul_(2),
    lambda t: (leaf(t, 3) * 2).unbind()[1].view(1).mul_(2),
    lambda t: _view_in(t, t.no_grad(), leaf(t, 3)).mul_(2),
    lambda t: _view_in(t, t.no_grad(), leaf(t, 3) * 2).mul_(2),
    lambda t: _view_in(t, t.no_grad(), t.ones(3)).mul_(leaf(t, 3)),
    lambda t: _view_in(t, t.inference_mode(), leaf(t, 3) * 2).mul_(2),
    lambda t: _inference(t).mul_(2),
    lambda t: _inference(t).view(3).mul_(2),
    lambda t: _inference(t).requires_grad_(),
    lambda t: _inference(t) * leaf(t, 3),
    lambda t: _inference(t)._version,
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_same_refusal(number: int) -> None:
    """The type of the error; its words are ours."""
    theirs, ours = outcome(torch, REFUSED[number]), outcome(mtd, REFUSED[number])
    assert isinstance(theirs, tuple) and theirs[0] == "raises", "torch accepts it"
    assert ours == theirs
