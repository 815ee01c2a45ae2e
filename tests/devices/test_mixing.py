"""Operations refuse tensors of different devices, in torch's words; what torch allows is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.nn import functional as F

Make = Callable[[str], Any]


@pytest.fixture(autouse=True)
def two_devices() -> Iterator[None]:
    with mtd.cuda.simulated(2):
        yield


def x(device: str) -> Any:
    return mtd.arange(12.0).reshape(3, 4).to(device)


def index(device: str) -> Any:
    return mtd.tensor([0, 2, 1]).to(device)


# `a` and `b` make tensors on two devices: a("x"), b("index") …
CASES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a.x + b.x,
    "sub": lambda a, b: a.x - b.x,
    "mul": lambda a, b: a.x * b.x,
    "div": lambda a, b: a.x / b.x,
    "pow": lambda a, b: a.x**b.x,
    "floor_divide": lambda a, b: a.x // b.x,
    "remainder": lambda a, b: a.x % b.x,
    "promoted": lambda a, b: a.x + b.index[:, None],
    "add_": lambda a, b: a.x.add_(b.x),
    "mul_": lambda a, b: a.x.mul_(b.x),
    "addcmul": lambda a, b: mtd.addcmul(a.x, a.x, b.x),
    "addcdiv_": lambda a, b: a.x.addcdiv_(a.x, b.x),
    "maximum": lambda a, b: mtd.maximum(a.x, b.x),
    "eq": lambda a, b: a.x == b.x,
    "lt": lambda a, b: a.x < b.x,
    "isclose": lambda a, b: mtd.isclose(a.x, b.x),
    "equal": lambda a, b: mtd.equal(a.x, b.x),
    "logical_and": lambda a, b: mtd.logical_and(a.x, b.x),
    "bitwise_and": lambda a, b: a.index & b.index,
    "where": lambda a, b: mtd.where(a.x > 1, a.x, b.x),
    "where condition": lambda a, b: mtd.where(b.x > 1, a.x, a.x),
    "matmul": lambda a, b: a.x @ b.x.t(),
    "mm": lambda a, b: mtd.mm(a.x, b.x.t()),
    "bmm": lambda a, b: mtd.bmm(a.x[None], b.x.t()[None]),
    "dot": lambda a, b: mtd.dot(a.x[0], b.x[0]),
    "outer": lambda a, b: mtd.outer(a.x[0], b.x[0]),
    "einsum": lambda a, b: mtd.einsum("ij,kj", a.x, b.x),
    "cat": lambda a, b: mtd.cat([a.x, b.x]),
    "stack": lambda a, b: mtd.stack([a.x, b.x]),
    "gather": lambda a, b: a.x.gather(0, b.index[None]),
    "scatter_": lambda a, b: a.x.scatter_(0, b.index[None], 1.0),
    "scatter_ src": lambda a, b: a.x.scatter_(0, a.index[None], b.x),
    "scatter_add_": lambda a, b: a.x.scatter_add_(0, a.index[None], b.x),
    "index_select": lambda a, b: a.x.index_select(0, b.index),
    "index_add_": lambda a, b: a.x.index_add_(0, b.index, a.x),
    "index_add": lambda a, b: a.x.index_add(0, a.index, b.x),
    "masked_fill": lambda a, b: a.x.masked_fill(b.x > 1, 0.0),
    "masked_fill_": lambda a, b: a.x.masked_fill_(b.x > 1, 0.0),
    "searchsorted": lambda a, b: mtd.searchsorted(a.x[0], b.x[0]),
    "written by index": lambda a, b: a.x.__setitem__(a.index, b.x),
    "linear": lambda a, b: F.linear(a.x, b.x),
    "linear bias": lambda a, b: F.linear(a.x, a.x, b.x[:, 0]),
    "conv2d": lambda a, b: F.conv2d(a.x[None, None], b.x[None, None, :2, :2]),
    "conv2d bias": lambda a, b: F.conv2d(a.x[None, None], a.x[None, None, :2, :2], b.x[0, :1]),
    "batch_norm": lambda a, b: F.batch_norm(a.x, b.x[0], b.x[1], training=True),
    "batch_norm weight": lambda a, b: F.batch_norm(a.x, None, None, b.x[0], b.x[1], training=True),
    "layer_norm": lambda a, b: F.layer_norm(a.x, (4,), b.x[0]),
    "embedding": lambda a, b: F.embedding(b.index, a.x),
    "mse_loss": lambda a, b: F.mse_loss(a.x, b.x),
    "l1_loss": lambda a, b: F.l1_loss(a.x, b.x),
    "cross_entropy": lambda a, b: F.cross_entropy(a.x, b.index),
    "cross_entropy weight": lambda a, b: F.cross_entropy(a.x, a.index, b.x[0]),
    "cross_entropy probabilities": lambda a, b: F.cross_entropy(a.x, b.x),
    "nll_loss": lambda a, b: F.nll_loss(a.x, b.index),
    "bce": lambda a, b: F.binary_cross_entropy_with_logits(a.x, b.x),
    "kl_div": lambda a, b: F.kl_div(a.x, b.x, reduction="batchmean"),
    "module": lambda a, b: mtd.nn.Linear(4, 2).to(b.device)(a.x),
}


class On:
    """Tensors on one device, made when they are asked for."""

    def __init__(self, device: str) -> None:
        self.device = device

    @property
    def x(self) -> Any:
        return x(self.device)

    @property
    def index(self) -> Any:
        return index(self.device)


@pytest.mark.parametrize("name", CASES)
def test_devices_do_not_mix(name: str) -> None:
    for a, b in (("cuda:0", "cpu"), ("cpu", "cuda:0"), ("cuda:0", "cuda:1")):
        with pytest.raises(
            RuntimeError, match=r"^Expected all tensors to be on the same device, but found at least two devices, "
        ) as error:
            CASES[name](On(a), On(b))
        assert f"{a}" in str(error.value) and f"{b}" in str(error.value)
    out = CASES[name](On("cuda:1"), On("cuda:1"))
    if isinstance(out, mtd.Tensor):
        assert out.device == mtd.device("cuda:1")


@pytest.mark.parametrize(
    "write",
    [
        lambda kept: kept.add_(x("cpu")),
        lambda kept: kept.scatter_(0, index("cpu")[None], 1.0),
        lambda kept: kept.index_add_(0, index("cuda:0"), x("cpu")),
        lambda kept: kept.masked_fill_(x("cpu") > 1, 0.0),
        lambda kept: kept.__setitem__(index("cpu"), x("cpu")),
    ],
)
def test_a_refused_write_changes_nothing(write: Any) -> None:
    kept = x("cuda:0")
    with pytest.raises(RuntimeError, match="same device"):
        write(kept)
    assert kept.tolist() == x("cpu").tolist() and kept._version == 0


def test_numbers_of_the_cpu_go_anywhere() -> None:
    number = mtd.tensor(2.0)
    assert (x("cuda:0") * number).get_device() == 0
    assert (number - x("cuda:1")).get_device() == 1
    assert mtd.where(x("cuda:0") > 1, number, x("cuda:0")).is_cuda
    assert x("cuda:0").add_(number).is_cuda
    with pytest.raises(RuntimeError, match="same device"):  # but not the other way round
        x("cpu") * number.cuda()
    weight = mtd.tensor(3.0, requires_grad=True)
    (x("cuda:0") * weight).sum().backward()
    assert weight.grad.device.type == "cpu" and weight.grad.item() == 66


def test_an_index_may_lie_on_the_cpu() -> None:
    data = x("cuda:0").requires_grad_()
    out = data[index("cpu")]
    assert out.is_cuda and data[mtd.tensor([True, False, True])].shape == (2, 4)
    out.sum().backward()
    assert data.grad.is_cuda
    with mtd.no_grad():
        data[index("cpu")] = 0.0
    assert data.sum().item() == 0
    for wrong in (lambda: x("cpu")[index("cuda:0")], lambda: x("cuda:0")[index("cuda:1") > 1]):
        with pytest.raises(RuntimeError, match=r"^indices should be either on cpu or on the same"):
            wrong()
    with pytest.raises(RuntimeError, match=r"^indices should be either on cpu"):
        x("cpu").__setitem__(index("cuda:0"), 1.0)


def test_copies_go_everywhere() -> None:
    a, b = x("cuda:0"), x("cuda:1") + 1
    a.copy_(b)
    assert a.tolist() == b.tolist() and a.get_device() == 0
    a[0] = x("cpu")[2]
    a[1] = mtd.tensor(5.0)
    assert a[0].tolist() == [8, 9, 10, 11] and a[1].tolist() == [5] * 4
    model = mtd.nn.Linear(4, 3).to(1)
    model.load_state_dict({"weight": x("cpu"), "bias": x("cuda:0")[:, 0]})
    assert model.weight.get_device() == 1 and model.weight.tolist() == x("cpu").tolist()


def test_gradients_come_home() -> None:
    leaf = mtd.ones(3, requires_grad=True)
    far = leaf.to("cuda:0").mul(2).to("cuda:1").mul(3)
    assert far.get_device() == 1
    far.sum().cpu().backward()
    assert leaf.grad.device.type == "cpu" and leaf.grad.tolist() == [6, 6, 6]
    with pytest.raises(RuntimeError, match="gradient 0 is on cpu, and its tensor on cuda:0"):
        leaf.to("cuda:0").backward(mtd.ones(3))
    with pytest.raises(RuntimeError, match="gradient on cuda:0 cannot be assigned"):
        leaf.grad = mtd.ones(3, device="cuda:0")


def test_conversions() -> None:
    a = x("cuda:1")
    assert a.cuda(1) is a and a.to(1) is a and a.to("cuda:1") is a and a.to(a) is a
    assert a.cpu().cpu() is not a and a.cpu().device.type == "cpu"
    assert a.to("cpu", mtd.float64).dtype is mtd.float64
    assert a.cuda().get_device() == 0 and a.to(mtd.device("cuda")).get_device() == 0
    assert mtd.zeros_like(a).get_device() == a.new_zeros(3).get_device() == 1
    assert mtd.tensor([1.0], device=1).is_cuda and a.is_cuda and not a.is_cpu
    with pytest.raises(TypeError, match=r"can't convert cuda:1 device type tensor to numpy. Use Tensor.cpu"):
        a.numpy()
    with pytest.raises(TypeError, match=r"can't convert cuda:1 device type tensor to numpy"):
        import numpy as np

        np.asarray(a)
    assert a.tolist()[0] == [0, 1, 2, 3] and a[0, 1].item() == 1
    assert "device='cuda:1'" in repr(a)
    with pytest.raises(RuntimeError, match="must be cuda device"):
        a.cuda("cpu")
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        a.pin_memory()
    assert not x("cpu").pin_memory().is_pinned()
