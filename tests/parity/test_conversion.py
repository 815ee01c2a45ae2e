"""Dtypes, copies, numpy, DLPack, pickle, and the old constructors: against torch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import minitorch_dist as mtd
from tests.parity.compare import same, torch
from tests.strategies import arrays

pytestmark = pytest.mark.parity

DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]
SHORT = ["half", "bfloat16", "float", "double", "char", "byte", "short", "int", "long", "bool"]
LEGACY = ["FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "LongTensor", "IntTensor",   "ByteTensor", "BoolTensor"]  # fmt: skip


@pytest.mark.parametrize("source", DTYPES)
def test_every_dtype_becomes_every_other(source: str) -> None:
    x = np.array([[0.0, 1.5, 2.25], [100.75, 3.0, 0.1]])

    def run(t: Any, x: Any) -> Any:
        y = x.to(getattr(t, source))
        outs = [y.to(getattr(t, target)) for target in DTYPES]
        outs += [getattr(y, name)() for name in SHORT]
        outs += [y.type_as(t.zeros(1, dtype=getattr(t, target))) for target in DTYPES]
        return outs, [repr(type(o.grad_fn).__name__) for o in outs], y.type()

    same(run, x, rtol=1e-3)
    same(run, x.T, rtol=1e-3, grad=False)


def test_to() -> None:
    for call in (
        "x.to(t.float64)",
        "x.to(dtype=t.float32)",
        "x.to('cpu')",
        "x.to(t.device('cpu'), t.float16)",
        "x.to('cpu', dtype=t.int64)",
        "x.to(t.zeros(1))",
        "x.to(other=t.zeros(1, dtype=t.float64))",
        "x.to(t.float32, True)",
        "x.to(t.float32, False, True)",
        "x.to('cpu', t.float32, non_blocking=True, copy=True)",
        "x.to(0)",
        "x.to('cuda')",
        "x.to('cuda:0')",
        "x.to('foo')",
        "x.to([])",
        "x.cuda()",
        "x.cuda(0)",
        "x.cpu()",
        "x.to(device=None, dtype=t.float64)",
        "x.to(None)",
        "x.type(t.float64)",
        "x.type(dtype=t.int32)",
        "x.to(copy=True)",
        "x.to(t.float32, foo=1)",
        "x.type_as(t.zeros(1, dtype=t.int8))",
        "x.pin_memory",
        "x.double(memory_format=t.preserve_format)",
    ):

        def run(t: Any, x: Any, call: str = call) -> Any:
            y = eval(call, {"t": t, "x": x})
            return (y, y is x, y.requires_grad) if isinstance(y, t.Tensor) else 0

        same(run, np.ones((2, 3), np.float32))


def test_odd_values() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 70000.0, -1.0, 1e30])
    for dtype in ("float16", "bfloat16", "float32", "bool"):
        same(lambda t, x, d=dtype: x.to(getattr(t, d)), x, grad=False)


# ------------------------------------------------------------------------------------------ copies


@given(arrays(low=-9, high=9), st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_copy_into(x: Any, source: str, target: str) -> None:
    x = np.abs(np.asarray(x))

    def run(t: Any, x: Any) -> Any:
        y = t.zeros((2, *x.shape), dtype=getattr(t, target))
        z = y.copy_(x.to(getattr(t, source)))
        return z, z is y, y._version, y.requires_grad, type(y.grad_fn).__name__

    same(run, x, rtol=1e-3)


def test_copy_wrongly() -> None:
    for call in (
        "t.zeros(2).copy_(t.zeros(3))",
        "t.zeros(2).copy_(t.zeros(1, 2))",
        "t.zeros(2).copy_(3)",
        "t.zeros(2).copy_([1, 2])",
        "t.zeros(2, requires_grad=True).copy_(t.ones(2))",
        "t.zeros(1).expand(3).copy_(t.ones(3))",
        "t.zeros(3, 1).expand(3, 4).mul_(2)",
    ):
        same(lambda t, c=call: eval(c, {"t": t}))


def test_copy_to_a_view_is_recorded() -> None:
    def run(t: Any, x: Any, y: Any) -> Any:
        z = x * 2
        z[1].copy_(y[0])
        z[:, 1:].copy_(y)
        z.T[0].copy_(z.T[1])
        return z, type(z.grad_fn).__name__

    same(run, np.arange(6.0).reshape(2, 3), -np.ones((1, 2)))


def test_copy_and_deepcopy() -> None:
    def run(t: Any, x: Any) -> Any:
        x.tag = "mine"
        (x * 2).sum().backward()
        y, z = copy.copy(x), copy.deepcopy(x)
        base = t.arange(6.0).view(2, 3)
        pair = copy.deepcopy([base, base[1], base.t(), x, x])
        pair[0][1, 0] = 50
        found = [y.data_ptr() == x.data_ptr(), z.data_ptr() == x.data_ptr(), y.requires_grad, z.requires_grad]
        found += [z.tag, z.grad is x.grad, y is x, pair[3] is pair[4], pair[2].stride(), y.is_leaf, z.is_leaf]
        return found, y * 2, z * 2, z.grad.clone(), pair[:3], base

    same(run, np.arange(3.0))
    same(lambda t, x: copy.deepcopy(x * 2), np.ones(2))
    same(lambda t, x: copy.deepcopy({"a": [x]})["a"][0], np.ones(2))
    same(lambda t, x: copy.deepcopy(x.T.expand(2, 3, 2)).stride(), np.ones((2, 3)), grad=False)


def test_pickle() -> None:
    for dtype in DTYPES:
        x = mtd.arange(6).reshape(2, 3).to(getattr(mtd, dtype))
        y = pickle.loads(pickle.dumps(x))
        assert repr(x) == repr(y)
        assert y.dtype is x.dtype
    wide = mtd.zeros(1000)
    assert len(pickle.dumps(wide[:1])) < 1000  # a view does not carry its base
    x = mtd.ones(2, requires_grad=True)
    x.note = [1]
    y = pickle.loads(pickle.dumps(x))
    assert (y.requires_grad, y.note, y.is_leaf) == (True, [1], True)
    assert pickle.loads(pickle.dumps(mtd.ones(1).expand(3))).tolist() == [1, 1, 1]
    for thing in (x.shape, x.dtype, x.device, mtd.strided, mtd.channels_last):
        assert pickle.loads(pickle.dumps(thing)) == thing


# ------------------------------------------------------------------------------------ shared memory


def test_numpy_shares() -> None:
    def run(t: Any, x: Any) -> Any:
        a = np.arange(6.0)
        y = t.from_numpy(a)
        a[0] = 7
        y[1] = 8
        b = y.view(2, 3).T.numpy()
        b[2, 1] = 9
        shares = [np.shares_memory(b, a), np.shares_memory(np.asarray(y), a)]
        shares += [np.shares_memory(np.array(y), a), np.shares_memory(y.numpy(force=True), a)]
        return y, shares, np.asarray(y, dtype=np.float32).dtype.name, b.strides

    same(run, np.ones(1))


def test_numpy_refusals() -> None:
    for call in (
        "x.numpy()",
        "np.asarray(x)",
        "x.detach().numpy().shape",
        "x.detach().bfloat16().numpy()",
        "t.from_numpy([1])",
        "t.from_numpy(np.zeros(3)[::-1])",
        "t.from_numpy(np.zeros(3, '>f4'))",
        "t.from_numpy(np.array('a'))",
        "t.from_numpy(np.float32(3))",
        "t.from_numpy(np.zeros((2, 3)).T).stride()",
        "t.from_numpy(np.zeros(4)[::2]).stride()",
        "t.from_numpy(np.zeros((), np.int8)).dtype",
        "np.asarray(t.tensor([True])).dtype.name",
        "x.detach().numpy().dtype.name",
        "t.from_numpy(np.zeros(3, [('a', 'i1'), ('b', 'f4')])['b'])",
        "np.sin(x.detach())",
        "np.greater(x.detach(), 0)",
        "(x.numpy(force=True) == 1).all().item()",
    ):
        same(lambda t, x, c=call: eval(c, {"t": t, "x": x, "np": np}), np.ones((2, 3), np.float32))


def test_read_only_arrays() -> None:
    a = np.zeros(3)
    a.flags.writeable = False
    for t in (torch, mtd):
        with pytest.warns(UserWarning, match="not writable"):
            x = t.from_numpy(a)
    with pytest.raises(RuntimeError, match="read-only"):  # torch writes, and calls it undefined
        x[0] = 1
    with pytest.raises(RuntimeError, match="read-only"):
        x.mul_(2)


def test_buffers() -> None:
    for call in (
        "t.frombuffer(bytearray(b'abcdefgh'), dtype=t.int32)",
        "t.frombuffer(b'abcd', dtype=t.uint8)",
        "t.frombuffer(bytearray(b'abcdefgh'), dtype=t.int32, count=1, offset=4)",
        "t.frombuffer(bytearray(b'abc'), dtype=t.int32)",
        "t.frombuffer(bytearray(b''), dtype=t.int32)",
        "t.frombuffer(bytearray(b'abcdefgh'), dtype=t.int32, count=5)",
        "t.frombuffer(bytearray(b'abcdefgh'), dtype=t.int32, offset=9)",
        "t.frombuffer([1], dtype=t.int32)",
        "t.frombuffer(bytearray(8), dtype=t.float32, requires_grad=True).requires_grad",
        "t.frombuffer(bytearray(b'abcdefgh'), dtype=t.bfloat16)",
    ):
        same(lambda t, x, c=call: eval(c, {"t": t, "x": x, "np": np}), np.ones((2, 3), np.float32))


# ----------------------------------------------------------------------------------------- Python


def test_numbers_and_lists() -> None:
    for call in (
        "x.item()",
        "x[0].item()",
        "x.tolist()",
        "x[0].tolist()",
        "bool(x)",
        "bool(x[0])",
        "bool(t.zeros(0))",
        "float(x)",
        "float(x[0])",
        "int(x[0] + 0.7)",
        "int(t.tensor([2.5]))",
        "range(10)[t.tensor(3)]",
        "range(10)[t.tensor(3.0)]",
        "range(10)[t.tensor([3])]",
        "list(t.tensor(1.0))",
        "[float(v) for v in x]",
        "len(x)",
        "len(x[0])",
        "1.0 in x",
        "5.0 in x",
        "x[0] in x",
        "hash(x) == id(x)",
        "x in [x]",
        "[v.tolist() for v in reversed(x)]",
        "x.bool().tolist()",
        "x.to(t.bfloat16).tolist()",
        "x.to(t.float16)[1].item()",
        "t.tensor(True).item()",
        "t.tensor(2**40).item()",
        "type(x[0].item()).__name__",
        "[*x.T.unbind()]",
        "t.tensor([1, 2]).T.item()",
        "1 in t.tensor([1, 2])",
    ):
        same(lambda t, x, c=call: eval(c, {"t": t, "x": x}), np.array([1.0, 2.0, 3.5]))


def test_legacy_constructors() -> None:
    for call in (
        "t.Tensor(2, 3).shape",
        "t.Tensor([2])",
        "t.Tensor()",
        "t.Tensor(())",
        "t.Tensor(np.ones(2))",
        "t.Tensor(t.ones(2))",
        "t.Tensor(2.5)",
        "t.Tensor(t.ones(2, dtype=t.int64))",
        "t.LongTensor(t.ones(2))",
        "t.Tensor(t.Size([2, 3])).shape",
        "t.Tensor(-1)",
        "t.Tensor('a')",
        "t.LongTensor(3.0)",
        "t.LongTensor([1.5])",
        "t.LongTensor([[1, 2], [3]])",
        "t.FloatTensor((2, 3))",
        "t.LongTensor(np.array([1, 2]))",
        "t.Tensor(2, 1.5)",
        "t.Tensor([[1, 2], [3, 4]])",
        "t.Tensor(range(3))",
        "t.Tensor(None)",
        "t.Tensor([True, 2.5])",
        "isinstance(t.LongTensor([1]), t.Tensor)",
        "t.LongTensor(2).shape, t.LongTensor(2).dtype",
        "t.LongTensor(2, 3).random_(0, 1)",
        "t.Tensor(3).is_leaf",
    ):
        same(lambda t, c=call: eval(c, {"t": t, "np": np}), grad=False)
    for name in LEGACY:
        same(lambda t, n=name: getattr(t, n)([1, 0, 1]))
        same(lambda t, n=name: getattr(t, n)(2, 0))
        same(lambda t, n=name: getattr(t, n)([1, 0]).type())


def test_subclasses_are_made_as_themselves() -> None:
    class Mine(mtd.Tensor):
        pass

    made = Mine([1.0, 2.0])
    assert type(made) is Mine
    assert type(made * 2) is mtd.Tensor
    assert type(copy.deepcopy(made)) is Mine
    assert type(copy.copy(made)) is Mine
