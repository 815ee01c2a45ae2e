"""Layers without torch beside them: numeric gradients, shapes, and a state that comes back."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist import nn
from tests.finite_differences import gradcheck

Make = Callable[[], nn.Module]
Shape = tuple[int, ...]

# name: how it is made, the shape that goes in, the shape that comes out
LAYERS: dict[str, tuple[Make, Shape, Shape]] = {
    "Linear": (lambda: nn.Linear(3, 4), (2, 3), (2, 4)),
    "Linear, no bias": (lambda: nn.Linear(3, 4, bias=False), (2, 5, 3), (2, 5, 4)),
    "Linear, one vector": (lambda: nn.Linear(3, 4), (3,), (4,)),
    "Conv1d": (lambda: nn.Conv1d(2, 3, 3, padding=1), (2, 2, 5), (2, 3, 5)),
    "Conv2d": (lambda: nn.Conv2d(2, 3, 3, stride=2, padding=1), (2, 2, 5, 5), (2, 3, 3, 3)),
    "Conv2d, 1×1": (lambda: nn.Conv2d(2, 3, 1), (1, 2, 3, 3), (1, 3, 3, 3)),
    "Conv2d, grouped": (lambda: nn.Conv2d(4, 4, 3, groups=2), (1, 4, 4, 4), (1, 4, 2, 2)),
    "Conv2d, dilated": (lambda: nn.Conv2d(1, 2, 2, dilation=2), (1, 1, 4, 4), (1, 2, 2, 2)),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(2, 1, 2, stride=2), (1, 2, 2, 2), (1, 1, 4, 4)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (5, 3), (5, 3)),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(2), (3, 2, 2, 2), (3, 2, 2, 2)),
    "InstanceNorm2d": (lambda: nn.InstanceNorm2d(2, affine=True), (2, 2, 3, 3), (2, 2, 3, 3)),
    "LayerNorm": (lambda: nn.LayerNorm(4), (2, 3, 4), (2, 3, 4)),
    "LayerNorm, two axes": (lambda: nn.LayerNorm((3, 4)), (2, 3, 4), (2, 3, 4)),
    "RMSNorm": (lambda: nn.RMSNorm(4), (2, 4), (2, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (2, 4, 3), (2, 4, 3)),
    "MaxPool2d": (lambda: nn.MaxPool2d(2), (1, 2, 4, 4), (1, 2, 2, 2)),
    "AvgPool2d": (lambda: nn.AvgPool2d(2), (1, 2, 4, 4), (1, 2, 2, 2)),
    "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(1), (1, 2, 3, 3), (1, 2, 1, 1)),
    "Tanh": (nn.Tanh, (2, 3), (2, 3)),
    "Sigmoid": (nn.Sigmoid, (2, 3), (2, 3)),
    "GELU": (nn.GELU, (2, 3), (2, 3)),
    "SiLU": (nn.SiLU, (2, 3), (2, 3)),
    "ReLU": (nn.ReLU, (2, 3), (2, 3)),
    "Softmax": (lambda: nn.Softmax(-1), (2, 3), (2, 3)),
    "LogSoftmax": (lambda: nn.LogSoftmax(0), (2, 3), (2, 3)),
    "Flatten": (nn.Flatten, (2, 3, 4), (2, 12)),
    "RNN": (lambda: nn.RNN(2, 3), (4, 2, 2), (4, 2, 3)),
    "LSTM": (lambda: nn.LSTM(2, 3, batch_first=True), (2, 3, 2), (2, 3, 3)),
    "GRU": (lambda: nn.GRU(2, 3, bidirectional=True), (3, 1, 2), (3, 1, 6)),
    "TransformerEncoderLayer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 5, dropout=0.0, batch_first=True),
        (1, 3, 4),
        (1, 3, 4),
    ),
    "Sequential": (lambda: nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)), (2, 3), (2, 1)),
}

RECURRENT = (nn.RNN, nn.LSTM, nn.GRU)


def drawn(name: str) -> nn.Module:
    """The layer, its parameters drawn by a seed of its own, in float64."""
    mtd.manual_seed(zlib.crc32(name.encode()))
    layer = LAYERS[name][0]().double()
    with mtd.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.3 * mtd.randn(parameter.shape, dtype=mtd.float64))
    return layer


def apply(layer: nn.Module, x: mtd.Tensor) -> mtd.Tensor:
    found = layer(x)
    return found[0] if isinstance(layer, RECURRENT) else found


def apart(shape: Shape) -> mtd.Tensor:
    """Values that lie apart from each other and from 0, where ReLU and max have no derivative."""
    count = mtd.zeros(shape).numel()
    values = (mtd.randperm(count).double() - count / 2 + 0.25) / max(count, 4)
    return values.reshape(shape)


def with_values(layer: Any, values: dict[str, mtd.Tensor]) -> Any:
    """The layer, with these tensors as its parameters and buffers."""
    for name, value in values.items():
        path, _, key = name.rpartition(".")
        part = layer.get_submodule(path)
        (part._parameters if key in part._parameters else part._buffers)[key] = value
    return layer


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_are_the_numeric_ones(name: str) -> None:
    """Of the input and of every parameter."""
    layer = drawn(name)
    names = [key for key, _ in layer.named_parameters()]

    def fn(x: mtd.Tensor, *parameters: mtd.Tensor) -> Any:
        with mtd.no_grad():  # what a batch norm remembers of a batch must not change the next call
            buffers = {key: value.clone() for key, value in layer.named_buffers()}
        values = {**dict(zip(names, parameters, strict=True)), **buffers}
        found = with_values(layer, values)(x)
        return found[0] if isinstance(layer, RECURRENT) else found

    x = apart(LAYERS[name][1]).requires_grad_()
    parameters = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    assert gradcheck(fn, (x, *parameters))


@pytest.mark.parametrize("name", LAYERS)
def test_shapes(name: str) -> None:
    _, shape, expected = LAYERS[name]
    assert tuple(apply(drawn(name), apart(shape)).shape) == expected


@pytest.mark.parametrize("name", LAYERS)
def test_what_lies_otherwise_in_memory_gives_the_same(name: str) -> None:
    """The input as a view with other strides."""
    layer, x = drawn(name).eval(), apart(LAYERS[name][1])
    axes = tuple(reversed(range(x.dim())))
    view = x.permute(axes).contiguous().permute(axes)
    assert tuple(view.shape) == tuple(x.shape)
    assert x.dim() < 2 or 1 in x.shape or not view.is_contiguous()
    assert mtd.allclose(apply(layer, view), apply(layer, x), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", LAYERS)
def test_a_state_comes_back(name: str) -> None:
    """Another layer that loads the state computes the same bits, in training and afterwards."""
    layer, other, x = drawn(name), LAYERS[name][0]().double(), apart(LAYERS[name][1])
    apply(layer, x)  # a batch norm has seen something
    state = layer.state_dict()
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert list(other.state_dict()) == list(state)
    assert all(mtd.equal(value, other.state_dict()[key]) for key, value in state.items())
    assert mtd.equal(apply(other.eval(), x), apply(layer.eval(), x))
    if state:
        missing = dict(list(state.items())[1:])
        with pytest.raises(RuntimeError, match="Missing key"):
            other.load_state_dict(missing)


BATCHES = [name for name, (_, shape, _) in LAYERS.items() if len(shape) > 1 and name not in ("RNN", "LSTM", "GRU")]


@pytest.mark.parametrize("name", BATCHES)
def test_an_empty_batch_gives_an_empty_batch(name: str) -> None:
    _, shape, expected = LAYERS[name]
    x = mtd.zeros((0, *shape[1:]), dtype=mtd.float64)
    assert tuple(apply(drawn(name).eval(), x).shape) == (0, *expected[1:])


def test_embedding() -> None:
    """Rows are looked up, and the gradient of a row is the sum over the places that name it."""
    layer = nn.Embedding(5, 2, padding_idx=1).double()
    index = mtd.tensor([[0, 1, 4], [4, 4, 0]])
    out = layer(index)
    assert tuple(out.shape) == (2, 3, 2)
    assert mtd.equal(out, layer.weight[index])
    out.sum().backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad[:, 0].tolist() == [2.0, 0.0, 0.0, 0.0, 3.0]


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_dropout(p: float) -> None:
    """It drops and rescales in training, and its gradient has the same mask; else it does nothing."""
    layer, x = nn.Dropout(p), mtd.ones(1000).requires_grad_()
    out = layer(x)
    assert set(out.tolist()) <= {0.0, 1 / (1 - p) if p < 1 else 0.0}
    out.sum().backward()
    assert x.grad is not None
    assert mtd.equal(x.grad, out.detach())
    assert mtd.equal(layer.eval()(x), x)
