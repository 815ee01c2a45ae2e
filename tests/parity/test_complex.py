"""Complex numbers as in torch: values, types, gradients from random weights, errors, and how they print."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.compare import same, torch

pytestmark = pytest.mark.parity

Array = np.ndarray[Any, Any]
PRECISE = (np.complex128, np.complex64)


def c(*shape: int, dtype: Any = np.complex128, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def r(*shape: int, dtype: Any = np.float64, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(kind: Any) -> dict[str, float]:
    return {"rtol": 1e-4, "atol": 1e-4} if kind in (np.complex64, np.float32) else {}


UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sigmoid",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "tanh",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "square",
    "neg",
    "positive",
    "abs",
    "angle",
    "sgn",
    "conj",
    "real",
    "imag",
    "sum",
    "mean",
    "prod",
    "view_as_real",
    "isnan",
    "isinf",
    "isfinite",
    "is_complex",
    "any",
    "all",
    "count_nonzero",
    "var",
    "std",
    "norm",
    "diff",
    "trace",
    "std_mean",
    "var_mean",
    "unbind",
    "ravel",
    "nonzero",
    "triu",
    "tril",
    "diag",
    "t",
    "logical_not",
    "inverse",
    "numel",
    "H",
    "mH",
    "adjoint",
]
REFUSED = [
    "sign",
    "floor",
    "ceil",
    "trunc",
    "round",
    "relu",
    "max",
    "min",
    "argmax",
    "sort",
    "median",
    "erf",
    "amax",
    "erfinv",
    "nansum",
    "mode",
    "aminmax",
    "hardshrink",
    "relu6",
    "argsort",
    "msort",
]


def called(t: Any, name: str, x: Any, *args: Any) -> Any:
    function = getattr(t, name, None) or getattr(x, name, None)
    if function is None:
        function = getattr(t.nn.functional, name)
    if isinstance(function, type(t.ones(1))):  # a property of the tensor
        return function
    return (
        function(*args)
        if getattr(t, name, None) is None and hasattr(x, name)
        else function(x, *args)
    )


@pytest.mark.parametrize("kind", PRECISE)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tensor(name: str, kind: Any) -> None:
    same(lambda t, x: called(t, name, x), c(3, 3, dtype=kind), **close(kind))


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_meaning_is_refused_as_in_torch(name: str) -> None:
    said = []
    for t in (torch, mtd):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            called(t, name, t.from_numpy(c(3, 3)))
        said.append(caught)
    assert isinstance(said[1].value, type(said[0].value)), (said[0].value, said[1].value)


BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "eq",
    "ne",
    "matmul",
    "outer",
    "inner",
    "vdot",
    "dot",
    "kron",
    "rsub",
    "true_divide",
]
PAIRS = {
    "complex": (c(3, 3), c(3, 3, seed=2)),
    "complex and real": (c(3, 3), r(3, 3)),
    "real and complex": (r(3, 3), c(3, 3)),
    "complex64 and float64": (c(3, 3, dtype=np.complex64), r(3, 3)),
    "float32 and 0-dim complex128": (r(3, 3, dtype=np.float32), np.array(1 - 2j)),
    "complex and integer": (c(3, 3), np.arange(1, 10).reshape(3, 3)),
    "shapes that broadcast": (c(3, 3), c(3)),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_tensors(name: str, pair: str) -> None:
    x, y = PAIRS[pair]
    if name in ("outer", "vdot", "dot"):
        x, y = x.reshape(-1)[:3], y.reshape(-1)[:3]
    same(lambda t, x, y: getattr(t, name)(x, y), x, y, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "maximum", "fmin", "fmod", "remainder",
                                  "floor_divide", "atan2"])  # fmt: skip
@pytest.mark.parametrize("pair", ["complex", "complex and real", "real and complex"])
def test_an_order_of_complex_numbers_is_refused_in_torchs_words(name: str, pair: str) -> None:
    said = []
    for t in (torch, mtd):
        with pytest.raises(RuntimeError) as caught:
            getattr(t, name)(*(t.from_numpy(x.copy()) for x in PAIRS[pair]))
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("number", [1.5 - 2j, 2, 0.5])
@pytest.mark.parametrize("sign", "+-*/^")
@pytest.mark.parametrize("x", [c(2, 3), c(2, 3, dtype=np.complex64), abs(r(2, 3)), abs(r(2, 3, dtype=np.float32)),
                               np.arange(6) + 1], ids=lambda x: str(x.dtype))  # fmt: skip
def test_python_numbers(x: Array, sign: str, number: Any) -> None:
    operate = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
        "/": lambda a, b: a / b, "^": lambda a, b: a**b,
    }[sign]  # fmt: skip
    same(lambda t, x: operate(x, number), x, **close(x.dtype.type))
    same(lambda t, x: operate(number, x), x, **close(x.dtype.type))


TYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("second", TYPES)
def test_the_table_of_promotion(first: str, second: str) -> None:
    def found(t: Any) -> list[str]:
        a, b = getattr(t, first), getattr(t, second)
        x, y = t.ones(2, dtype=a), t.ones(2, dtype=b)
        zero = t.ones((), dtype=b)
        results = [
            t.promote_types(a, b),
            t.result_type(x, y),
            t.result_type(x, zero),
            t.can_cast(a, b),
        ]
        results += [t.result_type(x, 1j), t.result_type(zero, 1j), (x * 2j).dtype, (x + y).dtype]
        return [str(result) for result in results]

    assert found(mtd) == found(torch)


def test_the_default_complex_type_follows_the_default_floating_type() -> None:
    for t in (torch, mtd):
        try:
            t.set_default_dtype(t.float64)
            assert t.tensor(1j).dtype is t.complex128
            assert (t.ones(2, dtype=t.int64) * 1j).dtype is t.complex128
        finally:
            t.set_default_dtype(t.float32)
        assert t.tensor([1j, 2.0]).dtype is t.complex64
        assert t.cfloat is t.complex64 and t.cdouble is t.complex128


MAKING = {
    "tensor": lambda t: t.tensor([[1j], [2.5], [True]]),
    "tensor of a type": lambda t: t.tensor([1, 2], dtype=t.complex64),
    "no complex number in a real tensor": lambda t: t.tensor([1j], dtype=t.float32),
    "zeros": lambda t: t.zeros(2, 3, dtype=t.cdouble),
    "ones of Python's type": lambda t: t.ones(2, dtype=complex),
    "full": lambda t: t.full((2,), 1j),
    "eye": lambda t: t.eye(3, dtype=t.cfloat),
    "linspace": lambda t: t.linspace(0, 1 + 1j, 3),
    "no arange": lambda t: t.arange(3, dtype=t.cfloat),
    "finfo": lambda t: [str(t.finfo(t.complex64)), t.finfo(t.complex128).eps],
    "as_tensor": lambda t: t.as_tensor([1j, 2j]),
}


@pytest.mark.parametrize("name", MAKING)
def test_making(name: str) -> None:
    same(MAKING[name])


def setitem(x: Any, where: Any, value: Any) -> Any:
    x = x * 1
    x[where] = value
    return x * x


def in_place(x: Any, window: Any, write: Any) -> Any:
    x = x * 1
    write(window(x))
    return x * x


CASES: dict[str, tuple[Any, ...]] = {
    "complex": (lambda t, x, y: t.complex(x, y), r(3, 4), r(4)),
    "polar": (lambda t, x, y: t.polar(x, y), abs(r(3, 4)), r(4)),
    "polar in float32": (lambda t, x, y: t.polar(x, y), abs(r(3, dtype=np.float32)), r(3, dtype=np.float32)),
    "polar of whole numbers": (lambda t: t.polar(t.ones(2, dtype=t.int64), t.ones(2, dtype=t.int64)),),
    "complex of two types": (lambda t, x: t.complex(x, x.float()), r(3)),
    "view_as_complex": (lambda t, x: t.view_as_complex(x), r(3, 4, 2)),
    "view_as_complex of part": (lambda t, x: t.view_as_complex(x[:, ::2]), r(3, 4, 2)),
    "view_as_complex of three": (lambda t, x: t.view_as_complex(x), r(3, 3)),
    "view_as_complex of odd strides": (lambda t: t.view_as_complex(t.ones(2, 5)[:, 1:3]),),
    "view_as_complex of a transposed one": (lambda t, x: t.view_as_complex(x.t()), r(2, 3)),
    "view_as_complex of integers": (lambda t: t.view_as_complex(t.ones(2, 2, dtype=t.int64)),),
    "view_as_real of real": (lambda t, x: t.view_as_real(x), r(2)),
    "imag of real": (lambda t, x: t.imag(x), r(2)),
    "view_as_real of a transposed one": (lambda t, x: t.view_as_real(x.t()), c(2, 3)),
    "sum": (lambda t, x: x.sum(0), c(3, 4)),
    "sum in another type": (lambda t, x: x.sum(dtype=t.complex128), c(3, dtype=np.complex64)),
    "mean": (lambda t, x: x.mean(1, keepdim=True), c(3, 4)),
    "prod": (lambda t, x: x.prod(0), c(3, 4)),
    "cumsum": (lambda t, x: x.cumsum(0), c(3, 4)),
    "cumprod": (lambda t, x: x.cumprod(0), c(3, 4)),
    "batches": (lambda t, x, y: x @ y, c(2, 3, 4), c(4, 5)),
    "bmm": (lambda t, x, y: t.bmm(x, y), c(2, 3, 4), c(2, 4, 2)),
    "matrix and vector": (lambda t, x, y: x @ y, c(3, 4), c(4)),
    "no matrix of another type": (lambda t, x, y: x @ y, c(3, 4), r(4, 2)),
    "einsum": (lambda t, x, y: t.einsum("ij,jk->ik", x, y), c(3, 4), c(4, 2)),
    "linear": (lambda t, x, w, b: t.nn.functional.linear(x, w, b), c(5, 4), c(3, 4), c(3)),
    "addmm": (lambda t, b, x, w: t.addmm(b, x, w), c(3), c(5, 4), c(4, 3)),
    "addcmul": (lambda t, x, y, z: t.addcmul(x, y, z, value=0.5j), c(4), c(4), c(4)),
    "index": (lambda t, x: x[1:, ::2], c(3, 4)),
    "gather": (lambda t, x: x.gather(0, t.tensor([[0, 1]])), c(3, 4)),
    "cat with real": (lambda t, x, y: t.cat([x, y]), c(3, 4), r(3, 4)),
    "stack": (lambda t, x, y: t.stack([x, y]), c(3, 4), c(3, 4, seed=5)),
    "where": (lambda t, x: t.where(x.real > 0, x, 1j), c(3, 4)),
    "masked_fill": (lambda t, x: x.masked_fill(x.real > 0, 2j), c(3, 4)),
    "roll and expand": (lambda t, x: x.roll(1).expand(3, 4), c(4)),
    "norm 1": (lambda t, x: t.linalg.vector_norm(x, 1), c(4)),
    "norm 3": (lambda t, x: t.linalg.vector_norm(x, 3, dim=0), c(4, 3)),
    "norm inf": (lambda t, x: t.linalg.vector_norm(x, float("inf")), c(4)),
    "angle of real": (lambda t, x: t.angle(x), np.array([-1.0, 0.0, 2.0, np.nan])),
    "abs and sgn of zero": (lambda t, x: (x.abs(), x.sgn()), np.array([0j, 1j])),
    "alpha": (lambda t, x, y: t.add(x, y, alpha=1j), c(4), r(4)),
    "alpha of real": (lambda t, x: t.add(x, x, alpha=1j), r(4)),
    "write real": (lambda t, x, y: setitem(x, 0, y), c(3, 4), r(4)),
    "write a number": (lambda t, x: setitem(x, (0, 1), 2j), c(3, 4)),
    "write complex into real": (lambda t, x: setitem(x, 0, 1j), r(3)),
    "mul_": (lambda t, x, y: in_place(x, lambda z: z, lambda z: z.mul_(y)), c(3, 4), c(4)),
    "add_ of real": (lambda t, x, y: in_place(x, lambda z: z, lambda z: z.add_(y)), c(3, 4), r(4)),
    "no complex result in real": (lambda t, x: (x * 1).mul_(1j), r(3)),
    "fill_": (lambda t, x: (x * 1).fill_(2j), c(3)),
    "fill_ of real": (lambda t, x: (x * 1).fill_(2j), r(3)),
    "copy_ of real": (lambda t, x: t.zeros(3, dtype=t.complex128).copy_(x) * 1j, r(3)),
    "to complex": (lambda t, x: x.to(t.complex64) * 1j, r(3)),
    "to double": (lambda t, x: x.cdouble() * 1j, c(3, dtype=np.complex64)),
    "to numbers": (lambda t, x: (x.tolist(), x[0].item(), complex(x[1]), bool(x[0])), c(2)),
    "no float of it": (lambda t, x: float(x[0]), c(2)),
    "no int of it": (lambda t, x: int(x[0]), c(2)),
    "float where nothing is lost": (lambda t, x: (float(x[0]), int(x[0])), np.array([2 + 0j])),
    "contains": (lambda t, x: (1j in x, 2j in x), np.array([1j, 3])),
    "isclose": (lambda t, x: t.isclose(x, x + 1e-9j), c(3)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_one_case(name: str) -> None:
    expression, *arrays = CASES[name]
    same(expression, *arrays)


# ------------------------------------------------------------------------------ what backward is given


def refusals(t: Any) -> list[str]:
    x = t.tensor([1 + 1j, 2.0], requires_grad=True)
    calls = [
        lambda: x.sum().backward(),
        lambda: x.backward(),
        lambda: (x.abs().sum() * 1j).backward(),
        lambda: x.sum().backward(t.tensor(1.0)),
        lambda: x.abs().sum().backward(t.tensor(1j)),
        lambda: t.ones(2, dtype=t.int64).requires_grad_(),
        lambda: x.backward(t.ones(3, dtype=t.complex64)),
    ]
    said = []
    for call in calls:
        with pytest.raises(RuntimeError) as caught:
            call()
        said.append(str(caught.value))
    return said


def test_what_backward_refuses() -> None:
    assert refusals(mtd) == refusals(torch)


def test_a_weight_a_hook_and_a_function_see_torchs_gradient() -> None:
    """The conjugate of ∂L/∂z, wherever a user meets a gradient."""

    def seen(t: Any) -> list[Any]:
        class Square(t.autograd.Function):  # type: ignore[misc, name-defined]
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                found.append(grad.tolist())
                return grad * 2 * ctx.saved_tensors[0].conj()

        found: list[Any] = []
        x = t.tensor([1 + 2j, 3 - 1j], dtype=t.complex128, requires_grad=True)
        y = x * (2 - 1j)
        y.retain_grad()
        x.register_hook(lambda g: found.append(g.tolist()))
        y.register_hook(lambda g: g * 1j)
        z = Square.apply(y).exp()
        z.backward(t.tensor([1j, 2.0], dtype=t.complex128))
        (inner,) = t.autograd.grad((x * x).sum(), x, t.tensor(1 + 1j, dtype=t.complex128))
        return [*found, x.grad.tolist(), y.grad.tolist(), inner.tolist()]

    np.testing.assert_allclose(seen(mtd), seen(torch), rtol=1e-12)


def test_gradcheck() -> None:
    x = mtd.from_numpy(c(2, 3)).requires_grad_()
    y = mtd.from_numpy(r(3)).requires_grad_()
    assert mtd.autograd.gradcheck(lambda x, y: (x * y).exp() / x.conj(), (x, y))
    assert mtd.autograd.gradcheck(lambda x: (x.abs(), x.angle(), x.sgn()), (x,))
    assert mtd.autograd.gradcheck(
        lambda y: mtd.polar(y, y), (y,)
    )  # torch's gradient is wrong for y < 0

    class Wrong(mtd.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1j

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 1j  # not conjugated

    with pytest.raises(mtd.autograd.gradcheck.__globals__["GradcheckError"]):
        mtd.autograd.gradcheck(Wrong.apply, (x,))


# -------------------------------------------------------------------------------------- how they print

SHOWN: dict[str, Any] = {
    "whole": lambda t: t.tensor([1 + 2j, 3 - 4j]),
    "fractions": lambda t: t.tensor([[1.5 + 2j, 3 - 4.25j], [0.1j, -7]]),
    "one": lambda t: t.tensor(1.5 - 2j),
    "double": lambda t: t.tensor([1j], dtype=t.complex128),
    "none": lambda t: t.zeros(0, dtype=t.complex64),
    "far apart": lambda t: t.tensor([1e-5 + 1j, 1e6 - 1e-6j]),
    "nan and inf": lambda t: t.tensor([complex(float("nan"), 1), complex(1, float("-inf")), 0.5j]),
    "many": lambda t: t.arange(2000).to(t.complex64) * (1 - 0.5j),
    "a row too long for a line": lambda t: (
        t.arange(30).reshape(2, 15).to(t.complex64) * (1.25 - 0.5j)
    ),
    "zeros below": lambda t: t.tensor([complex(0.0, -0.0), complex(-0.0, 0.0)]),
    "requires grad": lambda t: t.tensor([1j], requires_grad=True),
}


@pytest.mark.parametrize("name", SHOWN)
def test_printing(name: str) -> None:
    assert repr(SHOWN[name](mtd)) == repr(SHOWN[name](torch))


# ---------------------------------------------------------------------------- memory that is shared


def test_the_parts_are_views_and_writes_are_seen() -> None:
    for t in (torch, mtd):
        z = t.tensor([1 + 2j, 3 + 4j])
        z.real[0], z.imag[1] = 10, 20
        t.view_as_real(z)[0, 1] = 5
        assert z.tolist() == [10 + 5j, 3 + 20j]
        x = t.zeros(2, 2)
        t.view_as_complex(x)[1] = 1 - 1j
        assert x.tolist() == [[0, 0], [1, -1]]
        assert z.real._base is z and z.real.stride() == (2,)
        assert t.real(x) is x and t.conj(x) is x


def test_a_write_through_a_part_is_not_recorded() -> None:
    for part in (lambda z: z.imag, mtd.view_as_real):
        z = mtd.ones(2, dtype=mtd.complex64, requires_grad=True) * 1
        with pytest.raises(NotImplementedError, match=r"write to a clone\(\) of it"):
            part(z).mul_(2)


def test_the_spread_of_normal_numbers() -> None:
    z = mtd.randn(20_000, dtype=mtd.complex64, generator=mtd.Generator().manual_seed(3))
    assert z.dtype is mtd.complex64
    assert abs(float(z.var()) - 1) < 0.03 and abs(float(z.real.var()) - 0.5) < 0.02
    u = mtd.rand(1000, dtype=mtd.complex128)
    assert float(u.real.min()) >= 0 and float(u.imag.max()) < 1


# --------------------------------------------------------------------- a complex number becomes real

LOSSY = {
    "float()": lambda t, z: z.float(),
    "half()": lambda t, z: z.half(),
    "int()": lambda t, z: z.int(),
    "to": lambda t, z: z.to(t.float32),
    "type": lambda t, z: z.type(t.float64),
    "copy_": lambda t, z: t.zeros(2).copy_(z),
    "an assignment": lambda t, z: t.zeros(2).__setitem__(slice(None), z),
    "as_tensor": lambda t, z: t.as_tensor(z, dtype=t.float32),
    "an array": lambda t, z: t.tensor(np.array([1 + 2j]), dtype=t.float32),
    "as_tensor of an array": lambda t, z: t.as_tensor(np.array([1 + 2j]), dtype=t.float32),
    "sum": lambda t, z: z.sum(dtype=t.float32),
    "bool() keeps what it needs": lambda t, z: z.bool(),
    "item": lambda t, z: z[0].real.item(),
    "a gradient": lambda t, z: (t.ones(2, requires_grad=True) * z).abs().sum().backward(),
    "fill_": lambda t, z: t.zeros(2).fill_(1j),
    "full": lambda t, z: t.full((2,), 1j, dtype=t.float64),
    "full of halves": lambda t, z: t.full((2,), 1j, dtype=t.float16),
    "full of ints": lambda t, z: t.full((2,), 1j, dtype=t.int32),
    "full of bytes": lambda t, z: t.full((2,), 1j, dtype=t.uint8),
    "full of bools": lambda t, z: t.full((2,), 1j, dtype=t.bool),
}


@pytest.mark.parametrize("name", LOSSY)
def test_what_is_lost_is_told(name: str) -> None:
    torch.set_warn_always(True)  # else it warns once in a process
    told: list[Any] = []
    try:
        for t in (torch, mtd):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    value = repr(LOSSY[name](t, t.tensor([1 + 2j, 3 - 1j])))
                except Exception as error:
                    value = f"{type(error).__name__}: {error}"
            words = [(w.category, str(w.message).partition(" (Triggered")[0]) for w in caught]
            told.append((value, words))
    finally:
        torch.set_warn_always(False)
    assert told[0] == told[1]


def test_gradients_of_complex_parameters_have_a_real_norm() -> None:
    norms = []
    for t in (torch, mtd):
        z = t.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        (z * z.conj()).real.sum().backward()
        norm = t.nn.utils.clip_grad_norm_([z], 1.0)
        norms.append((norm.dtype.is_complex, norm.item(), z.grad.tolist()))
    assert norms[0][0] == norms[1][0]
    np.testing.assert_allclose(norms[1][1], norms[0][1], rtol=1e-6)
    np.testing.assert_allclose(norms[1][2], norms[0][2], rtol=1e-6)
