"""Convolutions against torch's: values and gradients over a table of geometries, and refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same

pytestmark = pytest.mark.parity

# (images, kernels, arguments)
PLANE = [
    ((2, 3, 9, 9), (4, 3, 3, 3), {}),
    ((2, 3, 9, 9), (4, 3, 3, 3), {"padding": 1}),
    ((2, 3, 12, 12), (5, 3, 3, 3), {"padding": 1, "stride": 1}),  # shifted rows, joined
    ((2, 12, 10, 9), (5, 12, 3, 3), {"padding": 1}),  # shifted rows, one product per row
    ((2, 12, 10, 9), (5, 12, 3, 2), {"padding": (2, 1)}),
    ((2, 12, 21, 19), (5, 12, 3, 3), {"padding": 1, "stride": 2}),
    ((2, 3, 33, 31), (6, 3, 7, 7), {"padding": 3, "stride": 2}),
    ((2, 12, 30, 29), (3, 12, 3, 5), {"padding": (1, 4), "stride": (3, 2)}),
    ((2, 12, 16, 16), (3, 12, 2, 2), {"stride": 3}),  # rows that nobody sees
    ((2, 12, 15, 15), (3, 12, 3, 3), {"dilation": 2, "padding": 2}),
    ((2, 12, 25, 25), (3, 12, 3, 2), {"dilation": (2, 3), "stride": (2, 2), "padding": 3}),
    ((2, 5, 9, 9), (4, 5, 1, 1), {}),  # 1×1: no columns
    ((3, 5, 4, 4), (4, 5, 1, 1), {}),
    ((2, 5, 9, 8), (4, 5, 1, 1), {"stride": 2}),
    ((2, 5, 3, 3), (4, 5, 1, 1), {"stride": 2}),
    ((2, 5, 9, 9), (4, 5, 1, 1), {"padding": 1}),
    ((2, 3, 10, 10), (4, 3, 3, 3), {"padding": "same"}),
    ((2, 3, 10, 10), (4, 3, 4, 2), {"padding": "same"}),
    ((2, 3, 10, 10), (4, 3, 2, 3), {"padding": "same", "dilation": 3}),
    ((2, 3, 10, 10), (4, 3, 3, 3), {"padding": "valid"}),
    ((2, 3, 3, 3), (4, 3, 1, 1), {"padding": 5}),
    ((1, 2, 9, 9), (4, 2, 3, 3), {"padding": 5, "stride": 2}),  # whole rows of padding
    ((2, 4, 9, 9), (6, 2, 3, 3), {"groups": 2, "padding": 1}),
    ((2, 4, 12, 9), (8, 2, 3, 1), {"groups": 2, "stride": 2}),
    ((2, 4, 9, 9), (4, 2, 1, 1), {"groups": 2}),
    ((2, 4, 9, 9), (4, 1, 3, 3), {"groups": 4, "padding": 1}),  # depthwise
    ((2, 4, 9, 9), (12, 1, 3, 3), {"groups": 4, "padding": 2, "stride": 2, "dilation": 2}),
    ((3, 9, 9), (4, 3, 3, 3), {"padding": 1}),  # without a batch
    ((0, 3, 9, 9), (4, 3, 3, 3), {}),
    ((2, 3, 9, 9), (4, 3, 9, 9), {}),
    ((2, 3, 5, 6), (4, 3, 3, 3), {"stride": (2,)}),
]
LINE = [
    ((2, 3, 20), (4, 3, 3), {"padding": 1}),
    ((2, 3, 200), (4, 3, 5), {"stride": 2, "padding": 2, "dilation": 1}),
    ((2, 3, 100), (4, 3, 4), {"padding": "same", "dilation": 3}),
    ((2, 4, 90), (4, 1, 3), {"groups": 4}),
    ((3, 20), (4, 3, 1), {}),
    ((2, 40, 100), (4, 40, 3), {"padding": 4}),
]


def arrays(*shapes: tuple[int, ...], dtype: Any = np.float64) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("image", "kernel", "arguments"), PLANE)
def test_conv2d(image: Any, kernel: Any, arguments: Any, dtype: Any) -> None:
    x, w, b = arrays(image, kernel, kernel[:1], dtype=dtype)
    rtol, atol = (1e-4, 2e-4) if dtype is np.float32 else (1e-8, 1e-10)
    same(lambda t, x, w, b: t.conv2d(x, w, b, **arguments), x, w, b, rtol=rtol, atol=atol)
    same(lambda t, x, w: t.nn.functional.conv2d(x, w, **arguments), x, w, rtol=rtol, atol=atol)


@pytest.mark.parametrize(("line", "kernel", "arguments"), LINE)
def test_conv1d(line: Any, kernel: Any, arguments: Any) -> None:
    x, w, b = arrays(line, kernel, kernel[:1])
    same(lambda t, x, w, b: t.conv1d(x, w, b, **arguments), x, w, b, rtol=1e-8)


TRANSPOSED = [
    ((2, 3, 5, 6), (3, 4, 3, 3), {}),
    ((2, 3, 5, 6), (3, 4, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    ((2, 3, 9, 9), (3, 4, 4, 4), {"stride": 2, "padding": 1}),
    ((2, 3, 9, 9), (3, 4, 2, 3), {"stride": (3, 1), "dilation": (1, 2), "output_padding": (2, 1)}),
    ((2, 3, 9, 9), (3, 4, 3, 3), {"dilation": 2, "padding": 3}),
    ((2, 4, 9, 9), (4, 2, 3, 3), {"groups": 2, "stride": 2}),
    ((2, 4, 9, 9), (4, 1, 3, 3), {"groups": 4}),
    ((3, 5, 6), (3, 4, 1, 1), {"stride": 2}),
]


@pytest.mark.parametrize(("image", "kernel", "arguments"), TRANSPOSED)
def test_conv_transpose2d(image: Any, kernel: Any, arguments: Any) -> None:
    x, w, b = arrays(image, kernel, (kernel[1] * arguments.get("groups", 1),))
    same(lambda t, x, w, b: t.conv_transpose2d(x, w, b, **arguments), x, w, b, rtol=1e-8)
    same(lambda t, x, w: t.nn.functional.conv_transpose2d(x, w, **arguments), x, w, rtol=1e-8)


@pytest.mark.parametrize("missing", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)])
def test_only_the_gradients_that_are_wanted(missing: tuple[int, ...]) -> None:
    def expression(t: Any, *tensors: Any) -> Any:
        parts = [x.detach() if k in missing else x for k, x in enumerate(tensors)]
        return t.conv2d(*parts, padding=1)

    same(expression, *arrays((2, 3, 9, 9), (4, 3, 3, 3), (4,)), rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "int32"])
def test_other_types(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    x, w = ((3 * a).astype(kind) for a in arrays((2, 3, 6, 6), (4, 3, 3, 3)))
    coarse = {"rtol": 2e-2, "atol": 1.0} if "float" in dtype else {}
    same(lambda t, x, w: t.conv2d(x, w, padding=1), x, w, **coarse)


def test_arrays_that_are_not_contiguous() -> None:
    x, w = arrays((9, 9, 3, 2), (3, 4, 3, 3))
    for expand in (False, True):  # an expanded gradient is not contiguous either
        same(
            lambda t, x, w, expand=expand: t.conv2d(x, w, padding=1).sum() if expand else t.conv2d(x, w, padding=1),
            x.transpose(3, 2, 1, 0),
            w.swapaxes(0, 1),
            rtol=1e-8,
        )


REFUSED: list[tuple[Any, Any, Any, dict[str, Any]]] = [
    ((2, 5, 8, 8), (4, 3, 3, 3), None, {}),
    ((2, 3, 2, 2), (4, 3, 3, 3), None, {}),
    ((2, 3, 8, 8), (4, 3, 3, 3), (5,), {}),
    ((2, 3, 8, 8), (4, 3, 3, 3), (4, 1), {}),
    ((8, 8), (4, 3, 3, 3), None, {}),
    ((2, 3, 8, 8), (4, 3, 3), None, {}),
    ((1, 1, 3, 8, 8), (4, 3, 3, 3), None, {}),
    ((2, 4, 8, 8), (4, 2, 3, 3), None, {"groups": 3}),
    ((2, 4, 8, 8), (3, 2, 3, 3), None, {"groups": 2}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"groups": 0}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"stride": 0}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"padding": -1}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"dilation": 0}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"padding": "same", "stride": 2}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"padding": "foo"}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"stride": (1, 2, 3)}),
    ((2, 3, 8, 8), (4, 3, 3, 3), None, {"stride": 1.5}),
    ((2, 3, 8, 8), (0, 3, 3, 3), None, {}),
]


@pytest.mark.parametrize(("image", "kernel", "bias", "arguments"), REFUSED)
def test_refusals(image: Any, kernel: Any, bias: Any, arguments: Any) -> None:
    given = arrays(*(shape for shape in (image, kernel, bias) if shape is not None))
    same(lambda t, *given: t.conv2d(*given, **arguments), *given)


def test_types_do_not_mix() -> None:
    x, w, b = arrays((2, 3, 8, 8), (4, 3, 3, 3), (4,))
    for kinds in itertools.product([np.float32, np.float64], repeat=3):
        if len(set(kinds)) > 1:
            given = [a.astype(kind) for a, kind in zip((x, w, b), kinds, strict=True)]
            same(lambda t, *given: t.conv2d(*given), *given)
    same(lambda t, x, w: t.conv2d(x, w), x > 0, w > 0)
    same(lambda t, w: t.conv2d([1.0], w), w)
    same(lambda t, x, w: t.conv_transpose2d(x, w, stride=2, output_padding=2), x, arrays((3, 4, 3, 3))[0])
    same(lambda t, x, w: t.conv_transpose2d(x, w, padding=1), *arrays((1, 3, 1, 1), (3, 4, 1, 1)))
    same(lambda t, x, w: t.conv_transpose2d(x, w), x, arrays((5, 4, 3, 3))[0])
