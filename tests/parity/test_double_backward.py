"""Gradients of gradients are torch's: Hessian-vector products, Hessians, a gradient penalty, an inner step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.double import EXPRESSIONS
from tests.parity.compare import mtd, same, to_numpy, torch
from tests.parity.modules import agree, kind_of_error

pytestmark = pytest.mark.parity


def weights(t: Any, x: Any, start: int) -> Any:
    return t.from_numpy(np.cos(np.arange(x.numel()) + start).reshape(tuple(x.shape))).to(x.dtype)


ELSEWHERE = {"l1", "conv1d", "conv2d", "conv_transpose2d"}
"""The second gradient is 0: torch records that for the bias of a convolution, and for l1 not."""


REFUSED_THERE = {"attention of groups"}  # torch has no derivative of the kernel that it takes


@pytest.mark.parametrize("name", sorted(set(EXPRESSIONS) - REFUSED_THERE))
def test_products_with_the_hessian(name: str) -> None:
    """The gradient of a weighted sum, and the gradient of a weighted sum of that. `None` where torch has none."""
    function, *shapes = EXPRESSIONS[name]
    draw = np.random.default_rng(1)
    arrays = [np.asarray(draw.uniform(-1, 2, shape)) for shape in shapes]

    def program(t: Any, *inputs: Any) -> Any:
        out = function(t, *inputs)
        grads = t.autograd.grad((out * weights(t, out, 0)).sum(), inputs, create_graph=True)
        again = sum((g * weights(t, g, 1)).sum() for g in grads if g.requires_grad)
        seconds = t.autograd.grad(again, inputs, allow_unused=True, materialize_grads=True)
        flags = str([g.requires_grad for g in grads])
        return *(g.detach() for g in grads), *seconds, "" if name in ELSEWHERE else flags

    same(program, *arrays, grad=True, rtol=1e-6)


FLAT = {
    "relu": lambda t, x: t.relu(x),
    "relu6": lambda t, x: t.nn.functional.relu6(x),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "threshold": lambda t, x: t.nn.functional.threshold(x, 0.1, 2.0),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "prelu": lambda t, x: t.nn.functional.prelu(x, t.full((1,), 0.25, dtype=x.dtype)),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x, 2),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "adaptive_max_pool2d": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, (1, 2)),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "avg_pool1d": lambda t, x: t.nn.functional.avg_pool1d(x, 2),
    "adaptive_avg_pool2d": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, (1, 2)),
    "adaptive_avg_pool1d": lambda t, x: t.nn.functional.adaptive_avg_pool1d(x, 2),
    "nll_loss": lambda t, x: t.nn.functional.nll_loss(x[0], t.tensor([0, 1, 1, 0])),
    "nll_loss of images": lambda t, x: t.nn.functional.nll_loss(x[None], t.ones(1, 4, 4, dtype=t.int64)),
    "reflect": lambda t, x: t.nn.functional.pad(x, (1, 1), "reflect"),
    "reflect in the plane": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 0), "reflect"),
    "replicate": lambda t, x: t.nn.functional.pad(x, (1, 1), "replicate"),
    "fmod": lambda t, x: t.fmod(x, x + 3),
    "remainder": lambda t, x: t.remainder(x, x + 3),
    "interpolate": lambda t, x: t.nn.functional.interpolate(x[None], (2, 2), mode="area"),
    "abs": lambda t, x: x.abs(),
    "clamp": lambda t, x: x.clamp(0, 1),
    "sign": lambda t, x: x.sign(),
    "frac": lambda t, x: x.frac(),
    "max": lambda t, x: x.max(0).values,
    "amax": lambda t, x: x.amax(1),
    "add": lambda t, x: x + x,
}  # fmt: skip


@pytest.mark.parametrize("name", FLAT)
def test_piecewise_linear_functions_have_a_second_gradient_of_zeros_or_none(name: str) -> None:
    """Where torch says zeros, so do we; where it says that nothing depends on the input, too."""
    numbers = np.random.default_rng(3).normal(size=(3, 4, 4))

    def program(t: Any) -> Any:
        x = t.from_numpy(numbers.copy()).requires_grad_()
        (slope,) = t.autograd.grad(FLAT[name](t, x).sum(), x, create_graph=True)
        if not slope.requires_grad:
            return None
        (second,) = t.autograd.grad((slope * 2).sum(), x, allow_unused=True, retain_graph=True)
        return None if second is None else to_numpy(second).tolist()

    assert program(mtd) == program(torch)


COMPLEX = {
    "add": lambda t, z, w: z + w,
    "mul": lambda t, z, w: z * w,
    "mul by itself": lambda t, z, w: z * z * 2j,
    "div": lambda t, z, w: z / w,
    "matmul": lambda t, z, w: z @ w,
    "exp": lambda t, z, w: z.exp(),
    "log": lambda t, z, w: z.log() * w,
    "abs": lambda t, z, w: z.abs(),
    "squared": lambda t, z, w: z.abs() ** 2,
    "conj": lambda t, z, w: z.conj() * z * w,
    "real": lambda t, z, w: z.real**3,
    "imag": lambda t, z, w: (z * w).imag ** 2,
    "view_as_real": lambda t, z, w: t.view_as_real(z * z) ** 2,
    "view_as_complex": lambda t, z, w: t.view_as_complex(t.view_as_real(z) ** 3),
    "mixed": lambda t, z, w: z.real * w + z.imag,
    "sgn": lambda t, z, w: z.sgn() * w,
    "pow": lambda t, z, w: z**3,
    "sin": lambda t, z, w: z.sin() * w.cos(),
    "sum": lambda t, z, w: z.sum(0) * w.mean(),
    "indexed": lambda t, z, w: z[1:] * w[:2].t()[:2],
}  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name: str) -> None:
    """By torch's convention: the gradient of a complex number is the conjugate of the derivative."""
    draw = np.random.default_rng(4)
    z, w = (draw.normal(size=(3, 3)) + 1j * draw.normal(size=(3, 3)) for _ in range(2))

    def real_sum(t: Any, x: Any, start: int) -> Any:
        parts = t.view_as_real(x) if x.is_complex() else x
        return (parts * weights(t, parts, start)).sum()

    def program(t: Any, z: Any, w: Any) -> Any:
        out = COMPLEX[name](t, z, w)
        grads = t.autograd.grad(real_sum(t, out, 0), (z, w), create_graph=True, allow_unused=True)
        again = sum(real_sum(t, g, 1) for g in grads if g is not None and g.requires_grad)
        seconds = t.autograd.grad(again, (z, w), allow_unused=True, materialize_grads=True) if not isinstance(again, int) else ()  # fmt: skip
        return *(g.detach() for g in grads if g is not None), *seconds

    same(program, z, w, grad=True, rtol=1e-7)


def test_a_gradient_penalty() -> None:
    """WGAN-GP (Gulrajani et al. 2017, arXiv:1704.00028): the critic's slope between real and fake is to be 1."""

    def program(t: Any, real: Any, fake: Any, first: Any, bias: Any, second: Any) -> Any:
        F = t.nn.functional

        def critic(x: Any) -> Any:
            return F.linear(F.leaky_relu(F.linear(x, first, bias), 0.2), second)

        between = (0.3 * real + 0.7 * fake).detach().requires_grad_()
        scores = critic(between)
        (slopes,) = t.autograd.grad(
            scores, between, grad_outputs=t.ones_like(scores), create_graph=True, retain_graph=True,
            only_inputs=True,
        )  # fmt: skip
        penalty = ((slopes.norm(2, dim=1) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    draw = np.random.default_rng(0)
    same(program, *(draw.normal(size=s) for s in ((5, 4), (5, 4), (8, 4), (8,), (1, 8))))


def test_an_inner_step() -> None:
    """MAML (Finn et al. 2017, arXiv:1703.03400): the loss after a step, differentiated by the weights before it."""

    def program(t: Any, w: Any, b: Any, x: Any) -> Any:
        F = t.nn.functional
        y = t.from_numpy(np.arange(6) % 3)
        for _ in range(2):
            loss = F.cross_entropy(F.linear(x, w, b).tanh() * 3, y)
            dw, db = t.autograd.grad(loss, (w, b), create_graph=True)
            w, b = w - 0.5 * dw, b - 0.5 * db
        return F.cross_entropy(F.linear(x, w, b).tanh() * 3, y)

    draw = np.random.default_rng(0)
    same(program, *(draw.normal(size=s) for s in ((3, 4), (3,), (6, 4))))


def test_weights_of_outputs_have_gradients_too() -> None:
    def program(t: Any, x: Any, v: Any) -> Any:
        (g,) = t.autograd.grad(x.exp() * x, x, v, create_graph=True)
        return g, t.autograd.grad(g.sum(), v)[0]

    same(program, np.linspace(-1, 1, 4), np.linspace(0, 3, 4))


def cubes(x: Any) -> Any:
    return (x**3).sum() * x.sum()


def pairs(x: Any, y: Any) -> Any:
    return (x * y[:2] * x).sum() * y.exp().sum()


FUNCTIONAL: dict[str, Any] = {
    "hessian": lambda f, x, y: f.hessian(cubes, x),
    "hessian of two": lambda f, x, y: f.hessian(pairs, (x, y)),
    "hessian of a tuple": lambda f, x, y: f.hessian(cubes, (x,)),
    "hessian of a line": lambda f, x, y: f.hessian(lambda x: x.sum() * 2, x),
    "hessian with a graph": lambda f, x, y: f.hessian(cubes, x, create_graph=True),
    "hvp": lambda f, x, y: f.hvp(cubes, x, x * 2),
    "hvp of two": lambda f, x, y: f.hvp(pairs, (x, y), (x, y)),
    "vhp": lambda f, x, y: f.vhp(cubes, x, x * 2),
    "vhp of two": lambda f, x, y: f.vhp(pairs, (x, y), (x, y)),
    "vhp of one number": lambda f, x, y: f.vhp(lambda x: x**3, x[0]),
    "jacobian with a graph": lambda f, x, y: f.jacobian(lambda x: x**3, x, create_graph=True),
    "vjp with a graph": lambda f, x, y: f.vjp(lambda x: x**3, x, x, create_graph=True),
}
REFUSED: dict[str, Any] = {
    "hessian of several numbers": lambda f, x, y: f.hessian(lambda x: x * x, x),
    "hessian of a pair": lambda f, x, y: f.hessian(lambda x: (x.sum(), x.sum()), x),
    "hvp of several numbers": lambda f, x, y: f.hvp(lambda x: x * x, x, x),
    "vhp without a vector": lambda f, x, y: f.vhp(cubes, x),
    "vhp of another size": lambda f, x, y: f.vhp(cubes, x, y),
    "hessian, strict, of a line": lambda f, x, y: f.hessian(lambda x: x.sum(), x, strict=True),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
@pytest.mark.parametrize("wanted", [False, True])
def test_whole_second_derivatives(name: str, wanted: bool) -> None:
    def program(t: Any) -> Any:
        x = t.tensor([0.5, -1.0], dtype=t.float64, requires_grad=wanted)
        y = t.tensor([1.0, 2.0, 0.3], dtype=t.float64, requires_grad=wanted)
        return FUNCTIONAL[name](t.autograd.functional, x, y)

    agree(program)


@pytest.mark.parametrize("name", REFUSED)
def test_second_derivatives_that_are_refused(name: str) -> None:
    def program(t: Any) -> Any:
        x, y = t.tensor([0.5, -1.0]), t.tensor([1.0, 2.0, 0.3])
        return kind_of_error(lambda: REFUSED[name](t.autograd.functional, x, y))

    agree(program)


def test_gradgradcheck() -> None:
    def program(t: Any) -> Any:
        x = t.linspace(-1, 1, 4, dtype=t.float64, requires_grad=True)
        check = t.autograd.gradgradcheck
        return (
            check(lambda x: x.exp() * x, (x,)),
            check(lambda x: x * x.detach(), (x,), raise_exception=False),
            kind_of_error(lambda: check(lambda x: x, (x.detach(),))),
        )

    agree(program)


def test_backward_with_a_graph() -> None:
    def program(t: Any) -> Any:
        x = t.tensor([1.0, 2.0], requires_grad=True)
        y = t.tensor([1.0, 3.0], requires_grad=True)
        (x**2 * y).sum().backward(create_graph=True)
        grads = [x.grad.detach(), y.grad.detach()]
        found = t.autograd.grad((x.grad * y.grad).sum(), (x, y))
        (x * y).sum().backward(create_graph=True, inputs=[x])
        return *grads, *found, x.grad.detach()

    same(program)  # torch warns once in a process


def test_a_gradient_penalty_of_images() -> None:
    """The critic that people write: convolutions, a norm, leaky relus; all its weights get torch's gradients."""

    def program(t: Any, x: Any, first: Any, scale: Any, second: Any) -> Any:
        F = t.nn.functional
        hidden = F.leaky_relu(F.conv2d(x, first, stride=2, padding=1), 0.2)
        hidden = F.leaky_relu(F.instance_norm(hidden, weight=scale), 0.2)
        scores = F.conv2d(hidden, second).sum((1, 2, 3))
        (slopes,) = t.autograd.grad(scores.sum(), x, create_graph=True)
        return ((slopes.flatten(1).norm(2, dim=1) - 1) ** 2).mean()

    draw = np.random.default_rng(0)
    same(program, *(draw.normal(size=s) for s in ((3, 2, 8, 8), (3, 2, 4, 4), (3,), (1, 3, 4, 4))))


def test_inner_steps_of_a_small_convolutional_net() -> None:
    """MAML as its authors' net has it: convolution, batch norm, relu, pooling, a layer."""

    def program(t: Any, w: Any, scale: Any, last: Any, x: Any) -> Any:
        F = t.nn.functional
        y = t.from_numpy(np.arange(6) % 3)

        def loss(w: Any, scale: Any, last: Any) -> Any:
            hidden = F.batch_norm(F.conv2d(x, w), None, None, scale, None, True)
            return F.cross_entropy(F.linear(F.max_pool2d(hidden.relu(), 2).flatten(1), last), y)

        weights = (w, scale, last)
        for _ in range(2):
            grads = t.autograd.grad(loss(*weights), weights, create_graph=True)
            weights = tuple(v - 0.1 * g for v, g in zip(weights, grads, strict=True))
        return loss(*weights)

    draw = np.random.default_rng(0)
    same(program, *(draw.normal(size=s) for s in ((4, 1, 3, 3), (4,), (3, 36), (6, 1, 8, 8))))


def function(t: Any, backward: Any, once: bool = False) -> Any:
    """x · exp(y), by a Function of namespace `t`."""

    def forward(ctx: Any, x: Any, y: Any) -> Any:
        power = y.exp()
        ctx.save_for_backward(x, power)
        return x * power

    if once:
        backward = t.autograd.function.once_differentiable(backward)
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Mine", (t.autograd.Function,), body).apply


def slopes(ctx: Any, grad: Any) -> Any:
    x, power = ctx.saved_tensors
    return grad * power, grad * x * power


def of_numbers(ctx: Any, grad: Any) -> Any:
    x, power = ctx.saved_tensors
    return grad.detach() * power.detach(), grad * x.detach()


def replacing(t: Any, x: Any, y: Any) -> Any:
    z = x * y
    z.register_hook(lambda g: g * x)
    z.register_hook(lambda g: None)
    return z * z


def around_nodes(t: Any, x: Any, y: Any) -> Any:
    z = x * y
    z.grad_fn.register_prehook(lambda grads: (grads[0] * y,))
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * x, None))
    return z * z


def of_a_leaf(t: Any, x: Any, y: Any) -> Any:
    x.register_hook(lambda g: g * g)
    return x * x * y


OWN: dict[str, Any] = {
    "a function": lambda t, x, y: function(t, slopes)(x, y * x) * x,
    "a function that hides its history": lambda t, x, y: function(t, of_numbers)(x, y) * x,
    "hooks that replace": replacing,
    "hooks of a node": around_nodes,
    "a hook of a leaf": of_a_leaf,
}


@pytest.mark.parametrize("name", OWN)
def test_functions_and_hooks_of_your_own(name: str) -> None:
    def program(t: Any, x: Any, y: Any) -> Any:
        out = OWN[name](t, x, y)
        grads = t.autograd.grad((out * weights(t, out, 0)).sum(), (x, y), create_graph=True)
        again = sum((g * weights(t, g, 1)).sum() for g in grads)
        return *grads, *t.autograd.grad(again, (x, y), allow_unused=True, materialize_grads=True)

    same(program, np.linspace(-1, 1, 3), np.linspace(0.5, 2, 3), rtol=1e-9)


def test_a_function_that_is_differentiable_once() -> None:
    def program(t: Any, x: Any, y: Any) -> Any:
        out = function(t, slopes, once=True)(x, y) * x
        plain = t.autograd.grad(out.sum(), (x, y), retain_graph=True)
        grads = t.autograd.grad((out * out).sum(), (x, y), create_graph=True)
        error = kind_of_error(lambda: (grads[0] + grads[1]).sum().backward())
        return *plain, *(g.detach() for g in grads), grads[1].requires_grad, error

    same(program, np.linspace(-1, 1, 3), np.linspace(0.5, 2, 3), grad=True)


def test_a_gradient_that_is_retained_has_a_history() -> None:
    def program(t: Any, x: Any) -> Any:
        y = x * x
        y.retain_grad()
        t.autograd.grad((y**2 * x).sum(), x, create_graph=True)
        kept = y.grad
        return kept.detach().clone(), t.autograd.grad(kept.sum(), x)[0]

    same(program, np.linspace(-1, 1, 3), rtol=1e-9)


def test_sum_to_size() -> None:
    def program(t: Any, x: Any) -> Any:
        return (
            x.sum_to_size(3, 1),
            x.sum_to_size((1, 1, 4)[1:]),
            x.sum_to_size(4),
            x.sum_to_size(3, 4),
        )

    same(program, np.arange(12.0).reshape(3, 4))
    same(lambda t, x: x.sum_to_size(2, 4), np.arange(12.0).reshape(3, 4))
