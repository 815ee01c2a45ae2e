"""Operations that few programs use: volumes, and pooling undone, as torch has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity
DRAW = np.random.default_rng(5)


def numbers(*shape: int) -> Any:
    return np.asarray(DRAW.normal(size=shape))


V, W = numbers(2, 4, 5, 6, 7), numbers(6, 4, 2, 3, 3)
VOLUMES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "conv3d": (lambda f, x, w, b: f.conv3d(x, w, b), [V, W, numbers(6)]),
    "conv3d, settings": (lambda f, x, w: f.conv3d(x, w, None, (2, 1, 3), (1, 2, 0), (2, 1, 2)), [V, W]),
    "conv3d, groups": (lambda f, x, w: f.conv3d(x, w, groups=2, stride=2, padding=1), [V, numbers(6, 2, 3, 1, 2)]),
    "conv3d, same": (lambda f, x, w: f.conv3d(x, w, padding="same", dilation=(2, 1, 1)), [V[0], W]),
    "conv3d, too small": (lambda f, x, w: f.conv3d(x[:, :, :1], w), [V, W]),
    "conv_transpose3d": (lambda f, x, w, b: f.conv_transpose3d(x, w, b), [V, numbers(4, 3, 2, 3, 1), numbers(3)]),
    "conv_transpose3d, settings": (
        lambda f, x, w: f.conv_transpose3d(x, w, None, (2, 1, 3), (1, 0, 2), (1, 0, 1), 2, (1, 2, 1)), [V, numbers(4, 3, 3, 2, 3)]),
    "conv_transpose3d, one": (lambda f, x, w: f.conv_transpose3d(x, w, stride=2), [V[0], numbers(4, 2, 2, 2, 2)]),
    "max_pool3d": (lambda f, x: f.max_pool3d(x, 2), [V]),
    "max_pool3d, settings": (lambda f, x: f.max_pool3d(x, (3, 2, 3), (1, 2, 2), (1, 1, 0), (2, 1, 2), True, True), [V]),
    "max_pool3d, equal": (lambda f, x: f.max_pool3d(x, 2, 1, return_indices=True), [np.round(V[0])]),
    "avg_pool3d": (lambda f, x: f.avg_pool3d(x, 2), [V]),
    "avg_pool3d, settings": (lambda f, x: f.avg_pool3d(x, (3, 2, 3), (2, 1, 2), (1, 1, 0), True, False), [V]),
    "avg_pool3d, divisor": (lambda f, x: f.avg_pool3d(x, 3, 2, 1, True, True, 5), [V[0]]),
    "adaptive_avg_pool3d": (lambda f, x: f.adaptive_avg_pool3d(x, (2, 4, None)), [V]),
    "adaptive_max_pool3d": (lambda f, x: f.adaptive_max_pool3d(x, (2, 4, 3), True), [V]),
    "adaptive_max_pool3d, one": (lambda f, x: f.adaptive_max_pool3d(x, 3), [V[0]]),
    "max_unpool1d": (lambda f, x: f.max_unpool1d(*f.max_pool1d(x, 2, 2, return_indices=True), 2), [numbers(2, 3, 8)]),
    "max_unpool2d": (lambda f, x: f.max_unpool2d(*f.max_pool2d(x, 2, 2, return_indices=True), 2, output_size=(2, 3, 7, 9)), [numbers(2, 3, 7, 9)]),
    "max_unpool2d, wrong size": (lambda f, x: f.max_unpool2d(*f.max_pool2d(x, 2, 2, return_indices=True), 2, output_size=(12, 9)), [numbers(2, 3, 7, 9)]),
    "max_unpool3d": (lambda f, x: f.max_unpool3d(*f.max_pool3d(x, 2, return_indices=True), 2, padding=0), [V[:, :, :4, :, :6]]),
    "three dimensions": (lambda f, x: f.max_pool3d(x, 2), [V[0, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes(name: str) -> None:
    program, arrays = VOLUMES[name]
    same(lambda t, *inputs: program(t.nn.functional, *inputs), *arrays, rtol=1e-6, atol=1e-9)


LAYERS = {
    "Conv3d": "n.Conv3d(4, 2, (2, 3, 1), stride=2, padding=1, padding_mode='circular')",
    "ConvTranspose3d": "n.ConvTranspose3d(4, 2, 3, stride=2, output_padding=1)",
    "MaxPool3d": "n.MaxPool3d(3, 2, padding=1)",
    "AvgPool3d": "n.AvgPool3d((2, 3, 2), stride=1, count_include_pad=False)",
    "AdaptiveAvgPool3d": "n.AdaptiveAvgPool3d(2)",
    "AdaptiveMaxPool3d": "n.AdaptiveMaxPool3d((3, 1, 2))",
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_volumes(name: str) -> None:
    def program(t: Any, x: Any) -> Any:
        layer = eval(LAYERS[name], {"n": t.nn}).double()
        for number, weight in enumerate(layer.parameters()):
            with t.no_grad():
                weight.copy_(t.from_numpy(np.cos(np.arange(weight.numel()) + number)).reshape(tuple(weight.shape)))  # fmt: skip
        return layer(x), repr(layer)

    same(program, V, rtol=1e-6, atol=1e-9)


def unpooled(t: Any, x: Any) -> Any:
    found, at = t.nn.MaxPool2d(2, 2, return_indices=True)(x)
    layer = t.nn.MaxUnpool2d(2, stride=2)
    return layer(found, at), layer(found, at, output_size=x.size()), repr(layer)


def unpooled_line(t: Any, x: Any) -> Any:
    return t.nn.MaxUnpool1d(2)(*t.nn.MaxPool1d(2, return_indices=True)(x))


def unpooled_volume(t: Any, x: Any) -> Any:
    return t.nn.MaxUnpool3d(2)(*t.nn.MaxPool3d(2, return_indices=True)(x))


UNPOOLED: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "unpooled": (unpooled, [numbers(1, 2, 5, 7)]),
    "unpooled, line": (unpooled_line, [numbers(1, 2, 6)]),
    "unpooled, volume": (unpooled_volume, [numbers(1, 2, 4, 2, 6)]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNPOOLED)
def test_unpooling(name: str) -> None:
    program, arrays = UNPOOLED[name]
    same(program, *arrays, rtol=1e-6, atol=1e-9)
