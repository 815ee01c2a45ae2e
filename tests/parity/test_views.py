"""Views, pieces and axes against torch: values, gradients, strides, names, and who shares memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as mtd
from minitorch_dist.tensors import devices
from tests.parity.compare import same
from tests.strategies import arrays, shapes

pytestmark = pytest.mark.parity

SHAPES: dict[str, tuple[int, ...]] = {
    "3d": (2, 3, 4),
    "2d": (3, 4),
    "1d": (6,),
    "0d": (),
    "empty": (2, 0, 3),
    "ones": (1, 3, 1),
}

EXPRESSIONS = """
x.view(-1) ; x.view(4, -1) ; x.view((6, 4)) ; x.view(size=(12, 2)) ; x.view(5, 5) ; x.view(-1, 5) ; x.view(-1, -1) ; x.view(-2)
x.view(2, 3, 2, 2) ; x.view(0, -1) ; x.view(-1, 0) ; x.view(2, 0, 3) ; x.view("a") ; x.view(1.5) ; x.view() ; x.view(1) ; x.view(())
x.reshape(-1) ; x.reshape(4, 6) ; x.reshape([2, 12]) ; x.reshape(shape=(3, 8)) ; x.reshape(7) ; x.reshape(()) ; x.reshape(1, 1)
x.transpose(0, 1).reshape(-1) ; x.transpose(0, 1).reshape(6, 4) ; x.transpose(0, 1).view(-1) ; x.transpose(0, 1).view(3, 2, 2, 2) ; x.transpose(0, 1).view(3, 1, 2, 4)
t.reshape(x, (-1,)) ; t.reshape(input=x, shape=(-1,)) ; x.view_as(x) ; x.reshape_as(x.flatten()) ; x.view_as(x.flatten())
x.flatten() ; x.flatten(1) ; x.flatten(0, 1) ; x.flatten(-2, -1) ; x.flatten(2, 1) ; x.flatten(5) ; t.flatten(x, start_dim=1) ; x.ravel() ; t.ravel(x) ; x.T.ravel()
x.unflatten(-1, (2, 2)) ; x.unflatten(0, (1, -1)) ; x.unflatten(1, (3, 3)) ; x.unflatten(0, ()) ; t.unflatten(x, 0, (-1, 1))
x.permute(2, 0, 1) ; x.permute((1, 0)) ; x.permute(dims=(0,)) ; x.permute(()) ; x.permute(0, 0, 1) ; x.permute(0, 1) ; x.permute(-1, 0, 1) ; t.permute(x, (1, 2, 0)) ; x.permute()
x.squeeze() ; x.squeeze(0) ; x.squeeze(1) ; x.squeeze(-1) ; x.squeeze((0, 2)) ; x.squeeze((0, 1)) ; x.squeeze(5) ; x.squeeze(dim=0) ; t.squeeze(x) ; t.squeeze(x, 0) ; x.squeeze(())
x.unsqueeze(0) ; x.unsqueeze(-1) ; x.unsqueeze(1) ; x.unsqueeze(5) ; t.unsqueeze(x, 0) ; x.T.unsqueeze(1) ; x.T.unsqueeze(-1) ; x[..., None] ; x.unsqueeze(-9)
x.expand(2, 2, 3, 4) ; x.expand(-1, 3, 4) ; x.expand(5, -1, 4) ; x.expand(1, 6) ; x.expand(3) ; x.expand(2, 3, 5) ; x.expand(-1, 2, 3, 4) ; x.expand(2, 3, 4) ; x.expand(size=(3, 4)) ; x.expand(6) ; x.expand(0, 6) ; x.expand() ; x.expand(())
x.expand_as(x) ; x.expand_as(x[None])
x.narrow(0, 0, 1) ; x.narrow(1, 1, 2) ; x.narrow(-1, -2, 1) ; x.narrow(0, 1, 5) ; x.narrow(0, 9, 1) ; x.narrow(0, 0, -1) ; t.narrow(x, 0, 0, 0)
x.select(0, 0) ; x.select(1, -1) ; x.select(0, 9) ; x.select(-1, 2) ; t.select(x, 0, 1) ; x.select(4, 0)
x.split(1) ; x.split(2, 1) ; x.split(3, -1) ; x.split(0) ; x.split(-1) ; x.split([1, 1]) ; x.split([1, 2], 1) ; x.split([1, 2]) ; x.split([3, -1], 1) ; x.split(9) ; t.split(x, 2, dim=-1) ; t.split(x, [1, 2], 1) ; x.split_with_sizes([2, 1], 1) ; t.split_with_sizes(x, [2]) ; x.split(split_size=2)
x.chunk(2) ; x.chunk(3, 1) ; x.chunk(5) ; x.chunk(0) ; t.chunk(x, 2, -1) ; x.chunk(2, dim=1)
x.tensor_split(2) ; x.tensor_split(4, -1) ; x.tensor_split((1,), 1) ; x.tensor_split((1, 5), 0) ; x.tensor_split(0) ; t.tensor_split(x, 3) ; x.tensor_split((-1,)) ; x.tensor_split(t.tensor([1, 2]))
x.unbind() ; x.unbind(1) ; x.unbind(-1) ; x.unbind(4) ; t.unbind(x, dim=0) ; list(x) ; [*x[0]]
"""
TABLE = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" ; ")]


def evaluate(expression: str, t: Any, x: Any) -> Any:
    return eval(expression, {"t": t, "x": x, "list": list})


@pytest.mark.parametrize("expression", TABLE)
def test_values_and_gradients(expression: str) -> None:
    for shape in SHAPES.values():
        x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        same(lambda t, x: evaluate(expression, t, x * 1), x)


def described(t: Any, expression: str, x: Any) -> list[Any]:
    """Everything about the results that is not a number: where they lie, and whose memory it is."""
    base = x * 1
    out = evaluate(expression, t, base)
    found: list[Any] = []
    for y in out if isinstance(out, (tuple, list)) else (out,):
        if not isinstance(y, t.Tensor):
            continue
        steps = [s for n, s in zip(y.shape, y.stride(), strict=True) if n > 1]
        found += [repr(y.shape), y._base is base, y is base, y.is_contiguous()]
        found += [type(y.grad_fn).__name__, y.requires_grad]
        if y.numel():
            found += [steps, y.storage_offset()]
            if "contiguous" not in expression and "clone" not in expression:
                found.append(y.data_ptr() - base.data_ptr() if y._base is base else None)
    return found


@pytest.mark.parametrize("expression", TABLE)
def test_memory(expression: str) -> None:
    for shape in SHAPES.values():
        x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        same(lambda t, x: described(t, expression, x), x)


@st.composite
def strided_and_target(draw: Any) -> tuple[list[tuple[str, Any]], tuple[int, ...], tuple[int, ...]]:
    """A shape, a way to an odd layout of it, and a shape of as many elements."""
    shape = draw(shapes(min_dims=1, max_dims=4, max_side=4))
    steps: list[tuple[str, Any]] = []
    now = list(shape)
    for _ in range(draw(st.integers(0, 3))):
        axis = draw(st.integers(0, len(now) - 1))
        kind = draw(st.sampled_from(["transpose", "step", "expand", "cut"]))
        if kind == "transpose":
            other = draw(st.integers(0, len(now) - 1))
            now[axis], now[other] = now[other], now[axis]
            steps.append((kind, (axis, other)))
        elif kind == "step":
            steps.append((kind, axis))
            now[axis] = -(-now[axis] // 2)
        elif kind == "cut":
            steps.append((kind, axis))
            now[axis] = max(now[axis] - 1, 0)
        else:
            steps.append((kind, 2))
            now.insert(0, 2)
    left = int(np.prod(now))
    target = []
    while left > 1:
        divisors = [d for d in range(2, left + 1) if left % d == 0]
        target.append(draw(st.sampled_from(divisors)))
        left //= target[-1]
    if int(np.prod(now)) == 0:
        target = [0]
    for _ in range(draw(st.integers(0, 2))):
        target.insert(draw(st.integers(0, len(target))), 1)
    return steps, shape, tuple(draw(st.permutations(target)))


def lay_out(x: Any, steps: list[tuple[str, Any]]) -> Any:
    for kind, argument in steps:
        if kind == "transpose":
            x = x.transpose(*argument)
        elif kind == "expand":
            x = x.expand(argument, *x.shape)
        else:
            part = slice(None, None, 2) if kind == "step" else slice(0, max(x.shape[argument] - 1, 0))
            x = x[(slice(None),) * argument + (part,)]
    return x


@given(strided_and_target())
@settings(max_examples=250)
def test_view_refuses_exactly_what_torch_refuses(case: Any) -> None:
    steps, shape, target = case
    x = np.arange(float(np.prod(shape))).reshape(shape)
    same(lambda t, x: lay_out(x, steps).view(target), x)

    def look(t: Any, x: Any) -> Any:
        y = lay_out(x, steps)
        z = y.reshape(target)
        big = [s for n, s in zip(z.shape, z.stride(), strict=True) if n > 1]
        return z, z._base is x, big if z.numel() else None

    same(look, x)


@given(arrays(), st.integers(-5, 5), st.integers(-5, 5))
def test_axes_of_any_array(x: Any, a: int, b: int) -> None:
    for expression in (
        lambda t, x: x.transpose(a, b),
        lambda t, x: x.unsqueeze(a),
        lambda t, x: x.squeeze(a),
        lambda t, x: x.flatten(a, b),
        lambda t, x: x.unbind(a),
        lambda t, x: x.chunk(2, a),
        lambda t, x: x.T,
        lambda t, x: [s for n, s in zip(x.shape, x.clone().stride(), strict=True) if n > 1] if x.numel() else 0,
        lambda t, x: (x * 2).contiguous(),
    ):
        same(expression, np.asarray(x))


def test_broadcast_shapes() -> None:
    for given_shapes in ([(2, 1), (3,)], [(2,), (3,)], [()], [(0,), (1,)], [(5, 1), (1, 4), 4], []):
        same(lambda t, s=given_shapes: t.broadcast_shapes(*s))


DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]


@pytest.mark.parametrize("source", DTYPES)
def test_the_same_bytes_as_another_dtype(source: str) -> None:
    for target in DTYPES:
        if "bool" in (source, target) and source != target:
            continue
        for shape in ((2, 8), (3,), (), (0, 4), (4, 3)):
            x = np.ones(shape)

            def look(t: Any, x: Any, target: str = target) -> Any:
                y = x.to(getattr(t, source)).view(getattr(t, target))
                return y.dtype, tuple(y.shape), y.stride() if y.numel() else 0, repr(y)

            same(look, x, grad=False)
    same(lambda t, x: x.T.view(t.int16), np.ones((2, 3), np.float32), grad=False)


def test_writes_are_seen_through_every_view() -> None:
    def write(t: Any, x: Any) -> Any:
        y = x * 1
        views = [y.view(-1), y.transpose(0, 1), y[1], y.split(1, 1)[0], y.detach(), y.data]
        y.detach()[1, 0] = 100
        return [v.detach().clone() for v in views], [v._version for v in views]

    same(write, np.arange(6.0).reshape(2, 3))


def test_size() -> None:
    for expression in (
        "x.shape",
        "x.size()",
        "x.shape[1:]",
        "x.shape[0]",
        "x.shape + (1,)",
        "x.shape * 2",
        "x.shape.numel()",
        "x.size(-1)",
        "x.size(5)",
        "x.size(dim=1)",
        "hash(x.shape) == hash((2, 3, 4))",
        "x.shape == (2, 3, 4)",
        "repr(t.Size(()))",
        "t.Size([1, 'a'])",
        "t.Size((2, 3)).numel()",
        "t.Size()",
        "t.tensor(1.).size(0)",
        "t.tensor(1.).shape",
        "[x.dim(), x.ndim, x.numel(), x.nelement(), len(x)]",
        "[x.element_size(), x.itemsize, x.nbytes, x.storage_offset(), x.is_contiguous()]",
        "[x[1].storage_offset(), x.T[1:].storage_offset(), x.stride(0), x.stride(-1)]",
        "x.stride(7)",
        "t.zeros(3, 0).stride()",
        "t.zeros(2, 0, 3).stride()",
        "t.zeros(1, 1).stride()",
        "len(t.tensor(1.))",
        "[x.is_floating_point(), x.is_complex(), x.is_signed(), x.is_cpu, x.is_cuda, x.get_device()]",
        "[t.is_floating_point(x), t.is_complex(x), t.numel(x), t.is_tensor(x), t.is_tensor(3)]",
        "(1, 2) + x.shape",
        "x.untyped_storage().nbytes()",
        "x[0].untyped_storage().nbytes()",
        "x.data_ptr() == x.detach().data_ptr()",
        "[x.is_sparse, x.is_meta, x.is_quantized, str(x.layout)]",
        "x.untyped_storage().data_ptr() == x.data_ptr()",
        "[x.is_mps, x.is_xpu]",
        "x.untyped_storage().size()",
        "type(x.shape).__name__",
    ):
        same(lambda t, x, e=expression: evaluate(e, t, x), np.ones((2, 3, 4), np.float32))


def test_a_storage_gives_its_bytes_up_and_takes_them_back() -> None:
    def run(t: Any) -> Any:
        x = t.ones(4)
        y, storage = x[1:], x.untyped_storage()
        storage.resize_(0)
        empty = (x.untyped_storage().size(), y.untyped_storage().nbytes(), x.data.untyped_storage().size())
        storage.resize_(16)
        x.copy_(t.arange(4.0))
        return empty, storage.size(), y, x.shape

    same(run)
    x = mtd.ones(4)
    for size in (32, 4):  # torch makes room, or drops what lies behind
        with pytest.raises(RuntimeError, match=f"cannot resize a storage of 16 bytes to {size}"):
            x.untyped_storage().resize_(size)


def test_a_device_does_not_count_bytes_that_were_given_up() -> None:
    with devices.simulated(1, "1MB"):
        x = mtd.ones(1000, device="cuda:0")
        x.data.untyped_storage().resize_(0)
        assert mtd.cuda.memory_allocated(0) == 0
        x.untyped_storage().resize_(4000)
        assert mtd.cuda.memory_allocated(0) == 4000
        del x
        assert mtd.cuda.memory_allocated(0) == 0


def test_data_is_outside_of_the_graph() -> None:
    def run(t: Any, x: Any) -> Any:
        y = x * x
        x.data.mul_(2)  # no version bump: backward uses the new values, as in torch
        y.data = t.ones(3, dtype=t.float64) * 5
        return y * 1, x._version, x.data.requires_grad, x.data._base is None, y.data.is_leaf

    same(run, np.arange(3.0))

    def refused(t: Any, x: Any) -> None:
        x.data = t.tensor([1, 2])

    same(refused, np.arange(3.0))


def test_detach() -> None:
    def run(t: Any, x: Any) -> Any:
        y = x * 2
        y.detach_()
        return y.requires_grad, y.is_leaf, y._version

    same(run, np.ones(2))
    same(lambda t, x: (x * 2)[0].detach_(), np.ones(2))
    same(lambda t, x: x.detach()._base is None, np.ones(2))
