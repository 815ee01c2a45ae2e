"""Losses that compare element by element: how wrong is each, and how wrong all of them together.

Every one is the same three steps: a value per element, its derivative, a reduction ("mean", "sum"
or "none"). Half-precision inputs are compared in float32 and rounded once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import compute, sum_to
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.rounding import signs
from minitorch_dist.tensors.ops.layers.classification import check_reduction
from minitorch_dist.tensors.promotion import not_implemented, promote
from minitorch_dist.tensors.shape_arrays.array import has_numbers

Derivative: TypeAlias = "tuple[float, Callable[[], Array]]"  # a number, times what the function gives


def reduced(
    name: str, input: T, target: T, values: Array, reduction: str, of_input: Derivative, of_target: Derivative
) -> T:
    """The loss from its `values`, with their derivatives by both tensors."""
    check_reduction(reduction)
    out, dtype, scale = values, input.array.dtype, 1.0
    if reduction != "none":
        out = np.add.reduce(values, axis=None)
        if reduction == "mean":
            scale = 1.0 / values.size if values.size else np.nan
            out = out * values.dtype.type(scale)

    def vjp(tensor: T, derivative: Derivative) -> Callable[[Array], Array]:
        (times, slope), shape = derivative, tensor.array.shape

        def back(grad: Array) -> Array:
            each = slope() * (grad * values.dtype.type(times * scale))
            return sum_to(each.astype(dtype, copy=False), shape)

        return back

    if values.dtype != dtype:
        out = np.asanyarray(out).astype(dtype)
    mine, theirs = (input, vjp(input, of_input)), (target, vjp(target, of_target))
    return record(out, name, (*mine, input, target), (*theirs, input, target))


def operands(input: T, target: T, kernel: str = "", alike: bool = False) -> tuple[T, T, Array, Array]:
    """Both tensors in one type, and the arrays to compute with. `alike`: only of one shape."""
    if not isinstance(target, TensorBase):
        raise TypeError(f"argument 'target' must be Tensor, not {type(target).__name__}")
    if input.array.shape != target.array.shape and (alike or kernel):
        words = f"a target of shape {list(target.array.shape)} beside an input of shape {list(input.array.shape)}"
        if alike:
            raise ValueError(f"{words}: they must be of one shape")
        warnings.warn(f"{words}: this likely leads to incorrect results due to broadcasting", stacklevel=5)
    if input.array.dtype is not target.array.dtype:
        input, target = promote(input, target)
    x, y = input.array, target.array
    if kernel and x.dtype.kind in "biuc":
        raise not_implemented(f"{kernel}_cpu", x)
    if x.dtype in dtypes.HALVES:
        x, y = x.astype(np.float32), y.astype(np.float32)
    return input, target, x, y


# ----------------------------------------------------------------------------------- of the difference


def _of_difference(
    name: str,
    kernel: str,
    input: T,
    target: T,
    reduction: str,
    value: Callable[[Array], Any],
    slope: Callable[[Array], Any],
    times: float = 1,
) -> T:
    """A loss of input - target: its value, and its derivative, which is `times` the slope."""
    input, target, x, y = operands(input, target, kernel)
    difference = np.asanyarray(compute(np.subtract, x, y))

    def slopes() -> Array:
        return slope(difference)  # type: ignore[no-any-return]

    return reduced(name, input, target, value(difference), reduction, (times, slopes), (-times, slopes))


@autocasting.full
def mse_loss(input: T, target: T, reduction: str = "mean") -> T:
    """(input - target)², reduced."""
    return _of_difference("MseLossBackward0", "mse", input, target, reduction, lambda d: d * d, lambda d: d, 2)


@autocasting.full
def l1_loss(input: T, target: T, reduction: str = "mean") -> T:
    """|input - target|, reduced."""
    name = "MeanBackward0" if reduction == "mean" else "AbsBackward0"
    return _of_difference(name, "l1", input, target, reduction, np.abs, signs)


@autocasting.full
def smooth_l1_loss(input: T, target: T, reduction: str = "mean", beta: float = 1.0) -> T:
    """d²/2β where |d| < β, |d| - β/2 beyond: squares near zero, distances far off."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _knee("SmoothL1LossBackward0", "smooth_l1", input, target, reduction, beta, 1.0 / beta)


@autocasting.full
def huber_loss(input: T, target: T, reduction: str = "mean", delta: float = 1.0) -> T:
    """d²/2 where |d| < δ, δ(|d| - δ/2) beyond."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _knee("HuberLossBackward0", "huber", input, target, reduction, delta, 1.0)


def _knee(name: str, kernel: str, input: T, target: T, reduction: str, knee: float, steep: float) -> T:
    """steep · (d²/2 within the knee, knee·(|d| - knee/2) beyond)."""

    def value(d: Array) -> Array:
        size = np.abs(d)
        return steep * np.where(size < knee, 0.5 * d * d, knee * (size - 0.5 * knee))

    def slope(d: Array) -> Array:
        return steep * np.clip(d, -knee, knee)

    return _of_difference(name, kernel, input, target, reduction, value, slope)


# -------------------------------------------------------------------------------------- of probabilities


@autocasting.full
def binary_cross_entropy(input: T, target: T, weight: T | None = None, reduction: str = "mean") -> T:
    """-(y log p + (1 - y) log(1 - p)) of probabilities p; logarithms stop at -100."""
    input, target, p, y = operands(input, target, alike=True)
    if p.size and has_numbers(p) and not (np.min(p) >= 0 and np.max(p) <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    w = _weight(weight, p)
    log_p, log_q = np.log(p), np.log1p(-p)
    values = -(y * np.maximum(log_p, -100) + (1 - y) * np.maximum(log_q, -100)) * w
    tiny = p.dtype.type(1e-12)

    def of_input() -> Any:
        return (p - y) / np.maximum((1 - p) * p, tiny) * w

    def of_target() -> Any:
        return (log_q - log_p) * w

    return reduced("BinaryCrossEntropyBackward0", input, target, values, reduction, (1, of_input), (1, of_target))


def _weight(weight: TensorBase | None, like: Array) -> Any:
    return like.dtype.type(1) if weight is None else weight.array.astype(like.dtype, copy=False)


@autocasting.full
def binary_cross_entropy_with_logits(
    input: T, target: T, weight: T | None = None, reduction: str = "mean", pos_weight: T | None = None
) -> T:
    """Binary cross entropy of p = sigmoid(input), computed from the logits so that it never overflows.

    (1 - y)·x + (1 + (q - 1)·y) · (log(1 + exp(-|x|)) + max(-x, 0)), with q = `pos_weight`.
    """
    input, target, x, y = operands(input, target, alike=True)
    w = _weight(weight, x)
    q = None if pos_weight is None else _weight(pos_weight, x)
    small = np.exp(-np.abs(x))
    softplus = np.log1p(small) + np.maximum(-x, 0)  # log(1 + exp(-x))

    def growth(size: Any) -> Any:
        """The share that `pos_weight` adds. Without one it is 0, also for infinite sizes."""
        return 0 if q is None else (q - 1) * size

    values = ((1 - y) * x + (1 + growth(y)) * softplus) * w

    def of_input() -> Array:
        sigmoid = np.where(x >= 0, 1, small) / (1 + small)
        return np.asanyarray(((1 + growth(y)) * sigmoid - (y if q is None else q * y)) * w)

    def of_target() -> Any:
        return (growth(softplus) - x) * w

    name = "BinaryCrossEntropyWithLogitsBackward0"
    return reduced(name, input, target, values, reduction, (1, of_input), (1, of_target))


@autocasting.full
def kl_div(input: T, target: T, reduction: str = "mean", log_target: bool = False) -> T:
    """target · (log target - input), where `input` (and with log_target also target) are logarithms.

    "batchmean" divides by the batch size, which is the divergence as mathematics means it.
    """
    input, target, x, y = operands(input, target)
    p = np.exp(y) if log_target else y
    log_y = y if log_target else np.where(y == 0, 0, np.log(y))
    values = p * compute(np.subtract, log_y, x)

    def of_input() -> Array:
        return np.broadcast_to(p, values.shape)

    def of_target() -> Array:
        if log_target:
            return np.asanyarray(p * (log_y - x + 1))
        return np.asanyarray(np.log(y) - x + 1)  # -inf where nothing is expected

    one = "sum" if reduction == "batchmean" else reduction
    out = reduced("KlDivBackward0", input, target, values, one, (-1, of_input), (1, of_target))
    return div(out, input.array.shape[0]) if reduction == "batchmean" and input.array.ndim else out
