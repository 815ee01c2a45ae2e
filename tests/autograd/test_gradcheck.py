"""`gradcheck` accepts right gradients and names the element where a wrong one differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from minitorch_dist.autograd import Function
from tests.finite_differences import GradcheckError, gradcheck


def leaf(*shape: int) -> mtd.Tensor:
    values = np.linspace(0.5, 2.0, int(np.prod(shape)) or 1).reshape(shape)
    return mtd.from_numpy(values).requires_grad_()


class WrongAtOne(Function):
    """x², whose gradient is 1 too large at one element."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (x,) = ctx.saved_tensors
        slope = x.detach().numpy() * 2
        slope[1, 2] += 1
        return grad * mtd.from_numpy(slope)


def test_right_gradients_pass() -> None:
    x, y = leaf(2, 3), leaf(3)
    assert gradcheck(lambda x, y: x * y + x.relu(), (x, y))
    assert gradcheck(lambda x, k: x * k, (x, 3.0))
    assert gradcheck(lambda x: (x * x, x.sum(), x > 1), x)
    assert gradcheck(lambda x: x[:, ::2].exp(), x)
    assert gradcheck(lambda x: x, leaf())


def test_inputs_are_left_as_they_were() -> None:
    x = leaf(2, 2)
    before = x.numpy(force=True).copy()
    gradcheck(lambda x: x * x, x)
    np.testing.assert_array_equal(x.detach().numpy(), before)
    assert x.grad is None and x._version == 0


def test_a_wrong_gradient_is_named() -> None:
    with pytest.raises(GradcheckError, match=r"output 0 with respect to input 1") as caught:
        gradcheck(lambda k, x: WrongAtOne.apply(x), (2.0, leaf(2, 3)))
    assert "element (1, 2) of the output and element (1, 2) of the input" in str(caught.value)
    assert "1 of 36 differ" in str(caught.value)


def test_an_output_without_gradient_must_not_depend_on_the_input() -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0"):
        gradcheck(lambda x: (x * x).detach(), leaf(2))


def test_undefined_gradients_must_be_understood() -> None:
    class Careless(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            return g * 2 + h * 3

    with pytest.raises(TypeError, match="NoneType"):
        gradcheck(lambda x: Careless.apply(x), leaf(2))


def test_what_it_asks_for() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, mtd.ones(2))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):  # not a double
        gradcheck(lambda x: x * 2, mtd.ones(2).requires_grad_())
