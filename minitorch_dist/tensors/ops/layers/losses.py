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
from minitorch_dist.tensors.core.base import Array, T, TensorBase, type_name
from minitorch_dist.tensors.core.graph import record
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.core.without_warnings import silent, without_warnings
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.rounding import signs
from minitorch_dist.tensors.ops.layers.classification import check_reduction
from minitorch_dist.tensors.promotion import broadcast_error, promote
from minitorch_dist.tensors.shape_arrays.array import has_numbers

Derivative: TypeAlias = "Callable[[], Array]"


def compare(
    name: str,
    values: Array,
    reduction: str,
    dtype: np.dtype[Any],
    *inputs: tuple[Any, float, Derivative, tuple[TensorBase, ...]],
) -> Any:
    """The loss from its `values`.

    Each input comes with its derivative, as a number times a function, and the tensors it reads.
    """
    out: Any = values
    scale = 1.0
    if reduction != "none":
        out = np.add.reduce(values, axis=None)
        if reduction == "mean":
            scale = 1.0 / values.size if values.size else np.nan
            out = out * values.dtype.type(scale)

    def vjp(times: float, derivative: Derivative, shape: tuple[int, ...]) -> Any:
        def back(grad: Array) -> Array:
            each = derivative() * (grad * values.dtype.type(times * scale))
            return sum_to(each.astype(dtype, copy=False), shape)

        return back

    items: Any = [(t, vjp(n, d, t.array.shape), *reads) for t, n, d, reads in inputs]
    if values.dtype != dtype:
        out = np.asanyarray(out).astype(dtype)
    return record(out, name, *items)


def operands(input: T, target: T, what: str | None = None) -> tuple[T, T, Array, Array]:
    """Both tensors in one type, and the arrays to compute with."""
    if not isinstance(target, TensorBase):
        raise TypeError(f"argument 'target' must be Tensor, not {type(target).__name__}")
    if input.array.shape != target.array.shape and what is not None:
        warnings.warn(
            f"Using a target size (torch.Size({list(target.array.shape)})) that is different to "
            f"the input size (torch.Size({list(input.array.shape)})). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=4,
        )
    if input.array.dtype is not target.array.dtype:
        input, target = promote(input, target)
    x, y = input.array, target.array
    if what is not None and x.dtype.kind in "biuc":
        raise NotImplementedError(f"\"{what}_cpu\" not implemented for '{type_name(x)[6:-6]}'")
    if x.dtype in dtypes.HALVES:
        x, y = x.astype(np.float32), y.astype(np.float32)
    return input, target, x, y


def minus(x: Array, y: Array) -> Array:
    try:
        return np.asanyarray(x - y)
    except ValueError:
        raise broadcast_error(x.shape, y.shape) from None


@autocasting.full
def mse_loss(input: T, target: T, reduction: str = "mean") -> T:
    """(input - target)², reduced."""
    check_reduction(reduction)
    input, target, x, y = operands(input, target, "mse")
    difference = minus(x, y)
    both = (input, target)
    out: T = compare(
        "MseLossBackward0",
        difference * difference,
        reduction,
        input.array.dtype,
        (input, 2, lambda: difference, both),
        (target, -2, lambda: difference, both),
    )
    return out


@autocasting.full
def l1_loss(input: T, target: T, reduction: str = "mean") -> T:
    """|input - target|, reduced."""
    check_reduction(reduction)
    input, target, x, y = operands(input, target, "l1")
    difference = minus(x, y)
    both = (input, target)
    out: T = compare(
        "MeanBackward0" if reduction == "mean" else "AbsBackward0",
        np.abs(difference),
        reduction,
        input.array.dtype,
        (input, 1, lambda: signs(difference), both),
        (target, -1, lambda: signs(difference), both),
    )
    return out


@autocasting.full
def smooth_l1_loss(input: T, target: T, reduction: str = "mean", beta: float = 1.0) -> T:
    """d²/2β where |d| < β, |d| - β/2 beyond: squares near zero, distances far off."""
    check_reduction(reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    input, target, x, y = operands(input, target, "smooth_l1")
    return _knee("SmoothL1LossBackward0", input, target, x, y, reduction, beta, 1.0 / beta)


@autocasting.full
def huber_loss(input: T, target: T, reduction: str = "mean", delta: float = 1.0) -> T:
    """d²/2 where |d| < δ, δ(|d| - δ/2) beyond."""
    check_reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    input, target, x, y = operands(input, target, "huber")
    return _knee("HuberLossBackward0", input, target, x, y, reduction, delta, 1.0)


@silent
def _knee(name: str, input: T, target: T, x: Array, y: Array, reduction: str, knee: float, steep: float) -> T:
    """steep · (d²/2 within the knee, knee·(|d| - knee/2) beyond)."""
    difference = minus(x, y)
    size = np.abs(difference)
    values = steep * np.where(size < knee, 0.5 * difference * difference, knee * (size - 0.5 * knee))
    both = (input, target)

    def slope() -> Array:
        return steep * np.clip(difference, -knee, knee)

    out: T = compare(
        name,
        values.astype(x.dtype, copy=False),
        reduction,
        input.array.dtype,
        (input, 1, slope, both),
        (target, -1, slope, both),
    )
    return out


@autocasting.full
def binary_cross_entropy(input: T, target: T, weight: T | None = None, reduction: str = "mean") -> T:
    """-(y log p + (1 - y) log(1 - p)) of probabilities p; logarithms stop at -100."""
    check_reduction(reduction)
    if input.array.shape != target.array.shape:
        raise ValueError(
            f"Using a target size (torch.Size({list(target.array.shape)})) that is different to the "
            f"input size (torch.Size({list(input.array.shape)})) is deprecated. Please ensure they "
            "have the same size."
        )
    input, target, p, y = operands(input, target)
    if p.size and has_numbers(p) and not (without_warnings(np.min, p) >= 0 and np.max(p) <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    w = _weight(weight, p)
    log_p, log_q = without_warnings(np.log, p), without_warnings(np.log1p, -p)
    values = -(y * np.maximum(log_p, -100) + (1 - y) * np.maximum(log_q, -100)) * w
    tiny = p.dtype.type(1e-12)
    out: T = compare(
        "BinaryCrossEntropyBackward0",
        values,
        reduction,
        input.array.dtype,
        (input, 1, lambda: (p - y) / np.maximum((1 - p) * p, tiny) * w, (input, target)),
        (target, 1, lambda: (log_q - log_p) * w, (input, target)),
    )
    return out


def _weight(weight: TensorBase | None, like: Array) -> Any:
    return like.dtype.type(1) if weight is None else weight.array.astype(like.dtype, copy=False)


@autocasting.full
def binary_cross_entropy_with_logits(
    input: T, target: T, weight: T | None = None, reduction: str = "mean", pos_weight: T | None = None
) -> T:
    """Binary cross entropy of p = sigmoid(input), computed from the logits so that it never overflows.

    (1 - y)·x + (1 + (q - 1)·y) · (log(1 + exp(-|x|)) + max(-x, 0)), with q = `pos_weight`.
    """
    check_reduction(reduction)
    if input.array.shape != target.array.shape:
        raise ValueError(
            f"Target size (torch.Size({list(target.array.shape)})) must be the same as input size "
            f"(torch.Size({list(input.array.shape)}))"
        )
    input, target, x, y = operands(input, target)
    w = _weight(weight, x)
    q = None if pos_weight is None else _weight(pos_weight, x)
    small = np.exp(-np.abs(x))
    softplus = np.log1p(small) + np.maximum(-x, 0)  # log(1 + exp(-x))

    def growth(size: Any) -> int:
        """The share that `pos_weight` adds. Without one it is 0, also for infinite sizes."""
        return 0 if q is None else (q - 1) * size

    values = ((1 - y) * x + (1 + growth(y)) * softplus) * w

    def slope() -> Array:
        sigmoid = np.where(x >= 0, 1, small) / (1 + small)
        return np.asanyarray(((1 + growth(y)) * sigmoid - (y if q is None else q * y)) * w)

    both = (input, target)
    out: T = compare(
        "BinaryCrossEntropyWithLogitsBackward0",
        values,
        reduction,
        input.array.dtype,
        (input, 1, slope, both),
        (target, 1, lambda: (growth(softplus) - x) * w, both),
    )
    return out


@autocasting.full
def kl_div(input: T, target: T, reduction: str = "mean", log_target: bool = False) -> T:
    """target · (log target - input), where `input` (and with log_target also target) are logarithms.

    "batchmean" divides by the batch size, which is the divergence as mathematics means it.
    """
    batchmean = reduction == "batchmean"
    reduction = "sum" if batchmean else reduction
    check_reduction(reduction)
    input, target, x, y = operands(input, target)
    p = np.exp(y) if log_target else y
    log_y = y if log_target else np.where(y == 0, 0, without_warnings(np.log, y))
    values = p * minus(log_y, x)

    def of_target() -> Array:
        if log_target:
            return np.asanyarray(p * (log_y - x + 1))
        return np.asanyarray(without_warnings(np.log, y) - x + 1)  # -inf where nothing is expected

    both = (input, target)
    out: T = compare(
        "KlDivBackward0",
        values,
        reduction,
        input.array.dtype,
        (input, -1, lambda: np.broadcast_to(p, values.shape), both),
        (target, 1, of_target, both),
    )
    if batchmean and input.array.ndim:
        out = div(out, input.array.shape[0])
    return out
