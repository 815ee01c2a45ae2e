"""Element-wise operations against mathematics: gradients by finite differences, identities, silence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

import minitorch_dist as mtd
from minitorch_dist.nn import functional
from minitorch_dist.tensors.core import without_warnings
from minitorch_dist.tensors.ops.elementwise import error_function
from minitorch_dist.tensors.ops.elementwise.extremes import beside_number
from tests.strategies import arrays, broadcastable

Array = np.ndarray[Any, Any]

UNARY: dict[str, tuple[float, float]] = {
    **dict.fromkeys(["exp", "exp2", "expm1", "sigmoid", "sin", "cos", "tanh", "square"], (-2, 2)),
    **dict.fromkeys(["log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal"], (0.3, 3)),
    "abs": (0.1, 2),
}
ACTIVATIONS = ["elu", "gelu", "silu", "softplus", "logsigmoid"]


def leaf(array: Array) -> Any:
    return mtd.from_numpy(np.array(array)).requires_grad_()


def slopes_agree(function: Callable[..., Any], *inputs: Array, step: float = 1e-6) -> None:
    """The gradient of sum(function · weights) equals that by central differences."""
    tensors = [leaf(x) for x in inputs]
    out = function(*tensors)
    weights = mtd.from_numpy(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
    (out * weights).sum().backward()
    for number, x in enumerate(inputs):
        expected = np.zeros(x.shape)
        for place in np.ndindex(*x.shape):
            total = 0.0
            for sign in (1, -1):
                moved = [np.array(a) for a in inputs]
                moved[number][place] += sign * step
                shifted = function(*map(mtd.from_numpy, moved))
                total += sign * float((shifted * weights).sum().item())
            expected[place] = total / (2 * step)
        np.testing.assert_allclose(tensors[number].grad.numpy(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_gradients_of_functions(name: str, data: Any) -> None:
    low, high = UNARY[name]
    x = data.draw(arrays(st.sampled_from([(), (3,), (2, 2)]), low=low, high=high))
    slopes_agree(getattr(mtd, name), x)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_gradients_of_activations(name: str) -> None:
    x = np.random.default_rng(0).uniform(-2.5, 2.5, (3, 4))
    slopes_agree(getattr(functional, name), x)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "remainder"])
@given(shapes=broadcastable(max_dims=3), seed=st.integers(0, 1000))
def test_gradients_of_two_operands(name: str, shapes: list[tuple[int, ...]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    if sum(np.prod(s) for s in shapes) < 30:
        x, y = rng.uniform(0.5, 2.4, shapes[0]), rng.uniform(2.5, 3, shapes[1])
        slopes_agree(getattr(mtd, name), x, y)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.var(0),
        lambda x: x.std(),
        lambda x: x.prod(1),
        lambda x: x.norm(1, 0),
        lambda x: x.logsumexp(1),
        lambda x: x.softmax(0),
        lambda x: x.log_softmax(1),
        lambda x: x.amax(1),
        lambda x: x.mean((0, 1)),
        lambda x: x.max(1)[0],
        lambda x: x.norm(dim=1),
        lambda x: x.clamp(-0.5, 0.5),
    ],
)
def test_gradients_of_reductions(function: Callable[[Any], Any]) -> None:
    slopes_agree(function, np.random.default_rng(1).uniform(-1, 1, (3, 4)))


# ------------------------------------------------------------------------------------------ silence

SPECIAL = np.array([0, -0.0, 1, -1, 3, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40], "float32")
TWO = ["add", "sub", "mul", "div", "floor_divide", "remainder", "pow", "maximum"]


def quietly(function: Callable[..., Any], *inputs: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = function(*inputs)
        if out.requires_grad:
            out.sum().backward()


@pytest.mark.parametrize("name", [*UNARY, "floor", "round", "sign"])
def test_no_warning_from_functions(name: str) -> None:
    quietly(getattr(mtd, name), leaf(SPECIAL))
    quietly(getattr(mtd, name), leaf(SPECIAL[:-3].astype("float16")))


@pytest.mark.parametrize("name", TWO)
def test_no_warning_from_two_operands(name: str) -> None:
    x, y = leaf(np.repeat(SPECIAL, len(SPECIAL))), leaf(np.tile(SPECIAL, len(SPECIAL)))
    if name == "floor_divide":  # which has no gradient
        x, y = x.detach(), y.detach()
    quietly(getattr(mtd, name), x, y)
    quietly(lambda x: getattr(mtd, name)(x, mtd.zeros(())), x.detach())


@pytest.mark.parametrize("name", [*ACTIVATIONS, "relu", "leaky_relu", "gelu"])
def test_no_warning_from_activations(name: str) -> None:
    quietly(getattr(functional, name), leaf(SPECIAL))


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "var", "std", "norm", "logsumexp", "amax", "max", "softmax"])
def test_no_warning_from_reductions(name: str) -> None:
    quietly(lambda x: getattr(x, name)(*([0] if name in ("softmax", "logsumexp") else [])), leaf(SPECIAL))


@pytest.mark.parametrize("dtype", [mtd.float16, mtd.float32])
def test_no_warning_where_a_result_is_too_large_for_its_type(dtype: mtd.dtype) -> None:
    largest = mtd.finfo(dtype).max
    for function in (
        lambda x: x * largest,
        lambda x: x + largest,
        lambda x: x / 1e-4,
        lambda x: x @ x,
        lambda x: x.sum(),
        lambda x: x.cumsum(0),
        lambda x: x.mean(),
        lambda x: x.prod(),
    ):
        quietly(function, mtd.full((2,), largest, dtype=dtype, requires_grad=True))


def test_the_users_numpy_keeps_its_warnings() -> None:
    _ = mtd.from_numpy(SPECIAL) / 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        _ = SPECIAL[2:3] / np.float32(0)


def test_quiet_leaves_no_trace() -> None:
    before = np.geterr()
    assert without_warnings.without_warnings(np.divide, 1.0, 0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        without_warnings.without_warnings(lambda: 1 // 0)
    assert np.geterr() == before


# ------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 1.2e-7), (np.float64, 1e-15)])
def test_normal_cdf(dtype: Any, error: float) -> None:
    x = np.concatenate([np.linspace(-9, 9, 2001), [np.inf, -np.inf, 1e30, -1e30, 0]]).astype(dtype)
    exact = [math.erfc(-float(v) / math.sqrt(2)) / 2 for v in x]
    found: Any = without_warnings.without_warnings(error_function.normal_cdf, x)
    np.testing.assert_allclose(found, exact, rtol=0, atol=error)
    assert found[-5:-1].tolist() == [1, 0, 1, 0] and (np.diff(found[:2001]) >= -error).all()


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 5000, 70_001])
def test_many_elements_go_the_same_way_as_few(size: int) -> None:
    x = np.random.default_rng(size).standard_normal(size).astype("float32") * 5
    x[::7] = [np.nan, np.inf, -np.inf, -0.0, 0.0][size % 5]
    for ufunc in (np.maximum, np.minimum):
        for number in (0, -1.5, np.float32(2), np.nan):
            np.testing.assert_array_equal(beside_number(ufunc, x, number), ufunc(x, number))
            out = x.copy()
            beside_number(ufunc, out, number, out)
            np.testing.assert_array_equal(out, ufunc(x, number))
    one_by_one = [error_function.normal_cdf(x[i : i + 1])[0] for i in range(0, size, 97)]
    found: Any = without_warnings.without_warnings(error_function.normal_cdf, x)
    np.testing.assert_allclose(found[::97], one_by_one, rtol=4e-7)


def test_halves_round_once() -> None:
    """A number beside a half is not rounded to a half first."""
    x = np.linspace(0.1, 3, 50)
    for kind in (np.float16, ml_dtypes.bfloat16):
        half = x.astype(kind)
        t = mtd.zeros(50, dtype=mtd.float16 if kind is np.float16 else mtd.bfloat16)
        t.array[...] = half
        exact = (half.astype(np.float32) * np.float32(0.1)).astype(kind)
        assert ((t * 0.1).array == exact).all()
        assert ((0.1 * t).array == exact).all()


@pytest.mark.parametrize("kind", [np.float16, ml_dtypes.bfloat16, np.float32])
@pytest.mark.parametrize(
    "name", [*UNARY, "relu", "softmax", "amax", "mean", "var", "norm", "prod", "logsumexp", "gelu"]
)
def test_gradients_keep_the_element_type(name: str, kind: Any) -> None:
    """Also between operations, where nothing would round them back."""
    function = getattr(mtd, name, None) or getattr(functional, name)
    x = mtd.zeros(2, 3, dtype=mtd.float32)
    x.array = np.full((2, 3), 0.5).astype(kind)
    middle = x.requires_grad_() * 1
    seen = []
    middle.register_hook(lambda g: seen.append(g.array.dtype))
    out = function(middle, 0) if name in ("softmax", "logsumexp") else function(middle)
    (out * 2).sum().backward()
    assert out.array.dtype == seen[0] == np.dtype(kind)


# --------------------------------------------------------------------------------------- operators


class Stranger:
    """It knows tensors; tensors do not know it."""

    def __radd__(self, other: Any) -> str:
        return "asked"

    __rsub__ = __rmul__ = __rtruediv__ = __rpow__ = __eq__ = __gt__ = __radd__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def test_an_unknown_operand_is_asked() -> None:
    t, s = mtd.ones(2), Stranger()
    assert t + s == t - s == t * s == t / s == t**s == "asked"
    assert (t == s) == (t < s) == "asked"
    assert (t == None) is False  # noqa: E711
    assert (t != "a") is True
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = t + "a"


def test_tensors_are_keys_by_identity() -> None:
    a, b = mtd.ones(1), mtd.ones(1)
    assert hash(a) == id(a)
    assert len({a, b, a}) == 2


def test_numpy_meets_tensors() -> None:
    t, x = mtd.ones(2), np.array([2.0, 3.0], "float32")
    for out in (np.float32(2) * t, np.float64(2) - t, t * np.int64(2), np.int32(2) ** t):
        assert isinstance(out, mtd.Tensor)
        assert out.dtype is mtd.float32
    assert (t + x).tolist() == [3, 4]
    assert (t == x).tolist() == [False, False]
    with pytest.raises(TypeError):
        _ = x + t
    with pytest.raises(RuntimeError, match="requires grad"):
        _ = t.requires_grad_() + x


def test_in_place_writes_into_the_same_memory() -> None:
    x = mtd.ones(4)
    y = x[1:]
    array, version = x.array, x._version
    for write in (
        lambda: y.add_(1),
        lambda: y.sub_(mtd.ones(3)),
        lambda: y.mul_(2),
        lambda: y.div_(4.0),
        lambda: y.clamp_(0, 1),
        lambda: y.zero_(),
        lambda: y.fill_(3),
        lambda: y.add_(y, alpha=2),
        lambda: y.relu_(),
        lambda: y.neg_(),
    ):
        assert write() is y
        assert x.array is array
        version += 1
        assert x._version == version
    assert x.tolist() == [1, -9, -9, -9]


def test_in_place_under_no_grad_is_not_recorded() -> None:
    w = mtd.ones(3).requires_grad_()
    with mtd.no_grad():
        w.sub_(mtd.ones(3), alpha=0.5).mul_(2).add_(w).clamp_(max=1.5)
    assert w.is_leaf
    assert w.tolist() == [1.5] * 3
    with pytest.raises(RuntimeError, match="leaf Variable"):
        w.add_(1)


def test_devices_do_not_mix() -> None:
    with mtd.cuda.simulated(2):
        a, b = mtd.ones(2).cuda(0), mtd.ones(2).cuda(1)
        for operation in (mtd.add, mtd.eq, mtd.maximum, mtd.logical_and, mtd.bitwise_and, mtd.isclose, mtd.equal):
            x, y = (a, b) if operation is not mtd.bitwise_and else (a.int(), b.int())
            with pytest.raises(RuntimeError, match="same device"):
                operation(x, y)
        for name in ("add_", "sub_", "mul_", "div_"):
            with pytest.raises(RuntimeError, match="same device"):
                getattr(a, name)(b)
        zero = mtd.tensor(2.0)
        assert (a * zero).device == (a < zero).device == mtd.where(a > 0, a, zero).device == a.device
