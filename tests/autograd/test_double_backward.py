"""The gradient of a gradient: finite differences, equal first gradients, and a backward pass that nobody slowed down."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist.tensors.double_backward.closures import OFFERED
from minitorch_dist.tensors.double_backward.simple_forms import FORMS
from minitorch_dist.utils.checkpoint import checkpoint
from tests.double import EXPRESSIONS, IMAGES, NORMS

F = torch.nn.functional


def leaves(name: str) -> list[Any]:
    draw = np.random.default_rng(0)
    shapes = EXPRESSIONS[name][1:]
    return [torch.from_numpy(np.asarray(draw.uniform(-1, 2, s))).requires_grad_() for s in shapes]


MANY = {*IMAGES, *NORMS, "LSTM", "GRU", "RNN", "inverse"} - {"conv1d", "layer_norm", "max_pool1d"}
"""Those with many inputs: torch's second gradients are enough (`tests/parity/test_double_backward.py`)."""

OTHERS = {"of another type", "two types", "detach", "bernoulli", "normal"}
"""Those whose gradient is not their slope, or is too coarse."""


@pytest.mark.parametrize("name", sorted(set(EXPRESSIONS) - OTHERS - MANY))
def test_finite_differences_agree(name: str) -> None:
    inputs = leaves(name)
    assert torch.autograd.gradgradcheck(lambda *x: EXPRESSIONS[name][0](torch, *x), inputs)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_first_gradients_are_the_same_with_and_without_a_graph(name: str) -> None:
    found = []
    for create_graph in (False, True):
        inputs = leaves(name)
        out = EXPRESSIONS[name][0](torch, *inputs)
        grads = torch.autograd.grad(out.sum(), inputs, create_graph=create_graph)
        found.append([grad.detach().numpy() for grad in grads])
    for plain, recorded in zip(*found, strict=True):
        np.testing.assert_allclose(recorded, plain, rtol=1e-12, atol=1e-12)


def functions_met() -> set[str]:
    """The modules and names of all functions of the nodes that the expressions make."""
    met: set[str] = set()

    def visit(node: Any, seen: set[Any]) -> None:
        if node is None or node in seen:
            return
        seen.add(node)
        for function in (*(node.vjps or ()), node.backward):
            if function is not None:
                function = getattr(function, "__func__", function)
                met.add(f"{function.__module__}:{function.__qualname__}")
        for child, _ in node.next_functions:
            visit(child, seen)

    for name in EXPRESSIONS:
        visit(EXPRESSIONS[name][0](torch, *leaves(name)).grad_fn, set())
    return met


def test_every_module_and_form_that_is_offered_was_tried() -> None:
    """A module whose gradients are run on recording arrays has an expression here, and so has a simple form."""
    met = functions_met()
    offered = {
        f"minitorch_dist.tensors.{package}.{module}".replace("..", ".")
        for package, modules in OFFERED.items()
        for module in modules.split()
    }
    assert offered - {name.partition(":")[0] for name in met} == set()
    assert set(FORMS) - {name.replace(":", ".") for name in met} == set()


def test_third_derivatives_of_a_convolution_and_a_norm() -> None:
    """Each is checked against differences of the second."""
    draw = np.random.default_rng(0)
    x, w = (
        torch.from_numpy(draw.normal(size=s)).requires_grad_() for s in ((1, 1, 3, 3), (1, 1, 2, 2))
    )

    def first(x: Any, w: Any) -> Any:
        out = F.layer_norm(F.conv2d(x, w), (2, 2)).pow(3)
        return torch.autograd.grad(
            (out * torch.arange(4.0).view(2, 2)).sum(), w, create_graph=True
        )[0]

    assert torch.autograd.gradgradcheck(lambda w: first(x, w), [w])


def test_an_input_that_depends_on_another_gets_its_own_part() -> None:
    """A norm whose weight is made of its input: each gradient is a partial one."""
    x = torch.tensor([[1.0, 2.0, 4.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: F.layer_norm(x, (3,), (x * x)[0]), [x])


def test_derivatives_of_any_order() -> None:
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    found = x.sin() * x**3
    orders = []
    for _ in range(4):
        (found,) = torch.autograd.grad(found, x, create_graph=True)
        orders.append(found.item())
    s, c, v = np.sin(0.7), np.cos(0.7), 0.7
    assert orders == pytest.approx(
        [
            v**3 * c + 3 * v**2 * s,
            6 * v**2 * c + (6 * v - v**3) * s,
            (18 * v - v**3) * c + (6 - 9 * v**2) * s,
            (24 - 12 * v**2) * c + (v**3 - 36 * v) * s,
        ]
    )


def test_backward_leaves_gradients_with_a_history_and_adds_to_them() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for times in (1, 2):
        with pytest.warns(UserWarning, match="create_graph=True will create a reference cycle"):
            (x**3).sum().backward(create_graph=True)
        assert x.grad is not None and x.grad.tolist() == [3.0 * times, 12.0 * times]
    assert x.grad is not None
    assert torch.autograd.grad(x.grad.sum(), x)[0].tolist() == [12.0, 24.0]


def test_a_write_after_the_recorded_pass_is_noticed() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    (g,) = torch.autograd.grad((y * y * y).sum(), x, create_graph=True)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        g.sum().backward()


def test_gradients_stay_on_a_simulated_device() -> None:
    with torch.cuda.simulated(1):
        for name in ("slice", "pad", "power 0", "parts in place", "unfold"):
            inputs = [x.detach().cuda().requires_grad_() for x in leaves(name)]
            out = EXPRESSIONS[name][0](torch, *inputs)
            (grad,) = torch.autograd.grad(out.sum(), inputs, create_graph=True)
            assert grad.device == inputs[0].device


def test_a_checkpoint_is_computed_again() -> None:
    found = []
    for through in (lambda f, x: f(x), lambda f, x: checkpoint(f, x, use_reentrant=False)):
        x = torch.linspace(-1, 1, 4).requires_grad_()
        (grad,) = torch.autograd.grad(
            through(lambda x: x.tanh() * x, x).sum(), x, create_graph=True
        )
        found.append(torch.autograd.grad(grad.sum(), x)[0].tolist())
    assert found[0] == pytest.approx(found[1])


def overwritten(x: Any) -> Any:
    return (x * 1).exp_()


def transformed(x: Any) -> Any:
    return torch.fft.irfft(torch.view_as_complex(x.reshape(8, 2)))


@pytest.mark.parametrize("operation", [overwritten, transformed])
def test_what_cannot_be_recorded_says_so_and_names_what_can(operation: Any) -> None:
    x = (torch.eye(4) + 0.1).requires_grad_()
    out = operation(x).sum()
    with pytest.raises(RuntimeError, match=r"create_graph=True is not offered for .*softmax"):
        torch.autograd.grad(out, x, create_graph=True)
    out = operation(x).sum()
    torch.autograd.grad(out, x)  # without a graph it can


def test_other_kinds_of_arrays_are_refused() -> None:
    z = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="create_graph=True is not offered"):
        torch.autograd.grad(torch.fft.fft(z * z).real.sum(), z, create_graph=True)
    x = torch.ones(2, device="meta", requires_grad=True)
    with pytest.raises(RuntimeError, match="without numbers"):
        torch.autograd.grad((x * x).sum(), x, create_graph=True)


class Cubed(torch.autograd.Function):
    """Its gradient is made of tensors that were kept: an input, and a result."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        square = x * x
        ctx.save_for_backward(x, square)
        return square, square * x + y

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, square = ctx.saved_tensors
        return g * 2 * x + h * 3 * square, h


@pytest.mark.parametrize("shape", [(), (4,), (2, 1)])
def test_your_own_functions(shape: tuple[int, ...]) -> None:
    """`y` is broadcast, so its gradient is a sum; a result that no loss uses has zeros."""
    x = torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(2, 4).requires_grad_()
    y = torch.full(shape, 0.5, dtype=torch.float64, requires_grad=True)
    check = torch.autograd.gradgradcheck
    assert check(Cubed.apply, (x, y))
    assert check(lambda x, y: Cubed.apply(x, y)[1] * x * y, (x, y))


def test_a_leaf_whose_hooks_wait_for_its_gradient_is_refused() -> None:
    x = torch.ones(2, requires_grad=True)
    handle = x.register_post_accumulate_grad_hook(lambda x: None)
    with (
        pytest.warns(UserWarning, match="reference cycle"),
        pytest.raises(RuntimeError, match=r"leaves with hooks .*take autograd\.grad"),
    ):
        (x**3).sum().backward(create_graph=True)
    assert torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].requires_grad
    handle.remove()


def test_a_number_of_numpys_is_no_constant() -> None:
    """Results of arrays without dimensions are numbers, which Python takes for floats."""
    p = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    y = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(F.binary_cross_entropy, (p, y))


# ------------------------------------------------------------------- a pass that is not recorded


def functions_of(action: Callable[[], Any]) -> list[str]:
    """The functions of ours that `action` calls, in their order."""
    called: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.startswith("minitorch_dist"):
            called.append(f"{name}.{frame.f_code.co_qualname}")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return called


def test_a_pass_without_a_graph_takes_the_same_road_as_ever() -> None:
    """No function of double backward is called, before a recorded pass and after one."""

    def step() -> list[str]:
        x = torch.ones(3, 4, requires_grad=True)
        w = torch.ones(5, 4, requires_grad=True)
        loss = F.cross_entropy(F.linear(x.tanh(), w), torch.tensor([0, 1, 2]))
        return functions_of(loss.backward)

    step()
    before = step()
    x = torch.ones(3, requires_grad=True)
    torch.autograd.grad((x**3).sum(), x, create_graph=True)[0].sum().backward()
    assert step() == before
    assert not [name for name in before if "double_backward" in name]
    assert "minitorch_dist.tensors.core.engine._walk" in before
    assert not [name for name in before if "attended" in name]
