"""Are two results close? Numbers, tensors, arrays, and sequences and mappings of them.

assert_close(actual, expected)                     tolerances by dtype
assert_close(actual, expected, rtol=0, atol=0)     equal

Close means |actual - expected| <= atol + rtol * |expected|. The structure is compared first, then the leaves in order; the
error tells of the first leaf that is not close. Texts and tolerances are torch's, because programs match on them.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.distributed.tensor.dtensor import DTensor
from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.makers.creation import as_tensor
from minitorch_dist.tensors.ops.elementwise.comparison import isclose
from minitorch_dist.tensors.tensor import Tensor

Number = int | float | complex
Message = str | Callable[[str], str] | None

TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (0.016, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
}
"""rtol and atol by dtype. All other dtypes are compared exactly."""


@dataclass(frozen=True)
class Closeness:
    """The arguments of `assert_close` that say when two leaves are close."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_stride: bool

    def tolerances(self, *of: dtypes.dtype) -> tuple[float, float]:
        """rtol and atol: those that were given, else the largest of these dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        if self.rtol is not None or self.atol is not None:
            missing = "rtol" if self.rtol is None else "atol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
        usual = [TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in of]
        return max(rtol for rtol, _ in usual), max(atol for _, atol in usual)


class ComparedPair(NamedTuple):
    """Two values that are compared, and the keys that lead to them."""

    path: tuple[Any, ...]
    compare: Callable[[], None]


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Return if `actual` and `expected` are close, else raise.

    Args:
        actual: A tensor, a number, or nested lists and dictionaries of them.
        expected: The same structure.
        rtol: The relative tolerance; None is that of the dtype.
        atol: The absolute tolerance; None is that of the dtype.
        equal_nan: A nan equals a nan.
        check_device: Devices must be the same.
        check_dtype: Types must be the same.
        check_layout: Accepted as in torch; every tensor here is strided.
        check_stride: Strides must be the same.
        msg: The error's text, or a function that makes it of the text that the error would have.

    Raises:
        AssertionError: The text says where they differ, and by how much.

    Example:
        >>> testing.assert_close(torch.ones(2), torch.ones(2) + 1e-7)
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    actual, expected = _local_parts(actual, expected)
    how = Closeness(rtol, atol, equal_nan, check_device, check_dtype, check_stride)
    for pair in list(_pairs(actual, expected, (), how)):
        try:
            pair.compare()
        except AssertionError as error:
            text = _located(str(error), pair.path)
            if msg is not None:
                text = msg(text) if callable(msg) else msg
            raise AssertionError(text) from None


def _local_parts(actual: Any, expected: Any) -> tuple[Any, Any]:
    """Of two DTensors that lie alike, this rank's parts."""
    if isinstance(actual, DTensor) != isinstance(expected, DTensor):
        raise TypeError(
            "Comparing a DTensor to a non-DTensor is ambiguous. Call .full_tensor() to compare the full logical "
            "tensor or .to_local() to compare the local shard."
        )
    if not isinstance(actual, DTensor):
        return actual, expected
    if actual.placements != expected.placements:
        raise AssertionError(f"DTensor placements do not match: {actual.placements} != {expected.placements}")
    if actual.device_mesh != expected.device_mesh:
        raise AssertionError(f"DTensor device meshes do not match: {actual.device_mesh} != {expected.device_mesh}")
    return actual.to_local(), expected.to_local()


# ------------------------------------------------------------------------------------------ structure


def _pairs(actual: Any, expected: Any, path: tuple[Any, ...], how: Closeness) -> Iterator[ComparedPair]:
    """The pairs of leaves, in order. It raises where the structures differ."""
    if _both(Sequence, actual, expected) and not _either(str, actual, expected):
        if len(actual) != len(expected):
            text = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise AssertionError(_located(text, path))
        for number, (a, b) in enumerate(zip(actual, expected, strict=True)):
            yield from _pairs(a, b, (*path, number), how)
    elif _both(Mapping, actual, expected):
        for key in _common_keys(actual, expected, path):
            yield from _pairs(actual[key], expected[key], (*path, key), how)
    else:
        try:
            yield ComparedPair(path, _comparison(actual, expected, how))
        except (TypeError, ValueError) as error:
            raise type(error)(_located(str(error), path)) from None


def _common_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: tuple[Any, ...]) -> list[Any]:
    keys, wanted = set(actual), set(expected)
    if keys != wanted:
        text = (
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(wanted - keys)}\n"
            f"Additional keys in the actual mapping: {sorted(keys - wanted)}"
        )
        raise AssertionError(_located(text, path))
    ordered = list(actual)
    with suppress(TypeError):  # keys of several types have no order
        ordered.sort()
    return ordered


def _comparison(actual: Any, expected: Any, how: Closeness) -> Callable[[], None]:
    """The comparison of two leaves, by their kind."""
    if actual is None or expected is None:
        return lambda: _compare_nones(actual, expected)
    if _both((bool, np.bool_), actual, expected):
        return lambda: _compare_bools(bool(actual), bool(expected))
    if _both((int, float, complex, np.number), actual, expected):
        a, b = (x.item() if isinstance(x, np.number) else x for x in (actual, expected))
        rtol, atol = how.tolerances(_dtype_of(a), _dtype_of(b))
        return lambda: _compare_numbers(a, b, rtol, atol, how)
    tensors = _as_tensors(actual, expected)
    if tensors is None:
        raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")
    rtol, atol = how.tolerances(*(each.dtype for each in tensors))
    return lambda: _compare_tensors(*tensors, rtol, atol, how)


def _both(kind: Any, actual: Any, expected: Any) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _either(kind: Any, actual: Any, expected: Any) -> bool:
    return isinstance(actual, kind) or isinstance(expected, kind)


def _dtype_of(number: Number) -> dtypes.dtype:
    return dtypes.int64 if isinstance(number, int) else dtypes.float64


def _as_tensors(actual: Any, expected: Any) -> tuple[Tensor, Tensor] | None:
    """Both as tensors, if one's type is the other's or a subclass of it."""
    if not (isinstance(actual, type(expected)) or isinstance(expected, type(actual))):
        return None
    try:
        return as_tensor(actual), as_tensor(expected)
    except (TypeError, ValueError, RuntimeError):
        return None


def _located(text: str, path: tuple[Any, ...]) -> str:
    if not path:
        return text
    return f"{text}\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in path)}"


# --------------------------------------------------------------------------------------------- leaves


def _compare_nones(actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise AssertionError(f"None mismatch: {actual} is not {expected}")


def _compare_bools(actual: bool, expected: bool) -> None:
    if actual is not expected:
        raise AssertionError(f"Booleans mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Number, expected: Number, rtol: float, atol: float, how: Closeness) -> None:
    if how.check_dtype and type(actual) is not type(expected):
        raise AssertionError(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    is_nan = cmath.isnan(actual) and cmath.isnan(expected)
    if actual == expected or (how.equal_nan and is_nan):
        return
    difference = abs(actual - expected)
    if not (cmath.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        raise AssertionError(_scalars_differ(actual, expected, rtol, atol))


def _compare_tensors(actual: Tensor, expected: Tensor, rtol: float, atol: float, how: Closeness) -> None:
    attributes = [
        ("shape", True, actual.shape, expected.shape),
        ("stride()", how.check_stride, actual.stride(), expected.stride()),
        ("device", how.check_device, actual.device, expected.device),
        ("dtype", how.check_dtype, actual.dtype, expected.dtype),
    ]
    for name, is_checked, a, b in attributes:
        if is_checked and a != b:
            raise AssertionError(f"The values for attribute '{name}' do not match: {a} != {b}.")
    common = dtypes.promote_types(actual.dtype, expected.dtype)
    with grad_modes.no_grad():
        if actual.device != expected.device:
            actual, expected = actual.cpu(), expected.cpu()
        actual, expected = actual.detach().to(common), expected.detach().to(common)
        matches = isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=how.equal_nan)
        if bool(matches.all()):
            return
        if actual.dim() == 0:
            raise AssertionError(_scalars_differ(actual.item(), expected.item(), rtol, atol))
        raise AssertionError(_tensors_differ(actual, expected, matches, rtol, atol))


# ------------------------------------------------------------------------------------------- the text


def _scalars_differ(actual: Number, expected: Number, rtol: float, atol: float) -> str:
    absolute = abs(actual - expected)
    relative = absolute / abs(expected) if expected != 0 else float("inf")
    return (
        f"Scalars are not {_wanted(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {absolute}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _tensors_differ(actual: Tensor, expected: Tensor, matches: Tensor, rtol: float, atol: float) -> str:
    if not actual.is_floating_point():
        actual, expected = actual.to(dtypes.int64), expected.to(dtypes.int64)
    absolute = (actual - expected).abs().masked_fill(matches, 0)
    relative = (absolute / expected.abs()).masked_fill(matches, 0)
    count, wrong = matches.numel(), matches.numel() - int(matches.sum())
    return (
        f"Tensor-likes are not {_wanted(rtol, atol)}!\n\n"
        f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})\n"
        f"Greatest absolute difference: {_greatest(absolute)}{_allowed(atol, rtol, atol)}\n"
        f"Greatest relative difference: {_greatest(relative)}{_allowed(rtol, rtol, atol)}"
    )


def _greatest(differences: Tensor) -> str:
    at = int(differences.argmax())
    index = tuple(int(i) for i in np.unravel_index(at, tuple(differences.shape)))
    return f"{differences[index].item()} at index {index}"


def _wanted(rtol: float, atol: float) -> str:
    return "equal" if rtol == atol == 0 else "close"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {tolerance} allowed)"
