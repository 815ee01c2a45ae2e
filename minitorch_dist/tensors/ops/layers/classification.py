"""Losses over classes: negative log likelihood and cross entropy.

Both say "minus the log probability of the right class". Let the matrix `claim` say how much each
class is claimed to be right. For an index target it is one-hot, times the class's weight. Then the
loss is -Σ claim · log p, and its gradient with respect to logits is p · Σ claim - claim. The index
form never builds that matrix.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops import autocasting

REDUCTIONS: Final = ("none", "mean", "sum")
INDICES: Final = (np.int64, np.uint8)


def check_reduction(reduction: str) -> None:
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction: it is one of {REDUCTIONS}")


@autocasting.full
def nll_loss(input: T, target: T, weight: T | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> T:
    """-input[target]: `input` holds log probabilities, (N, C), (C) or (N, C, d1, …)."""
    check_reduction(reduction)
    choice = ClassChoice(input, target, weight, ignore_index, reduction)
    x = input.array
    out = choice.reduce(-(choice.pick(x) * choice.weights))

    def backward(grad: Array) -> Array:
        whole = np.zeros(x.shape, x.dtype, like=x)
        choice.put(whole, -choice.spread(grad) * choice.weights)
        return whole

    return record(out.astype(x.dtype), "NllLossBackward0", (input, backward, target, weight))


@autocasting.full
def cross_entropy(
    input: T,
    target: T,
    weight: T | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> T:
    """nll_loss of log_softmax.

    Args:
        input: Logits, (N, C) or (N, C, …).
        target: Class indices, or a probability for every class.
        weight: A factor for each class.
        ignore_index: A class that counts nothing.
        reduction: "mean", "sum" or "none".
        label_smoothing: The share of the probability that is spread over all classes.

    Returns:
        The loss.

    Example:
        >>> round(F.cross_entropy(torch.zeros(1, 4), torch.tensor([2])).item(), 4)
        1.3863
    """
    check_reduction(reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    are_probabilities = isinstance(target, TensorBase) and target.array.dtype.kind not in "iub"
    if are_probabilities and target.array.shape == input.array.shape:
        return _with_probabilities(input, target, weight, reduction, label_smoothing)
    choice = ClassChoice(input, target, weight, ignore_index, reduction)
    x, axis = input.array, choice.axis
    if label_smoothing:
        return _smoothed(choice, input, label_smoothing)
    work = _wide(x)
    shifted = work - np.maximum.reduce(work, axis=axis, keepdims=True)
    powers = np.exp(shifted)
    total = np.add.reduce(powers, axis=axis)
    out = choice.reduce((np.log(total) - choice.pick(shifted)) * choice.weights)

    def backward(grad: Array) -> Array:
        claim = choice.spread(grad.astype(work.dtype, copy=False)) * choice.weights
        whole = powers * np.expand_dims((claim / total).astype(work.dtype, copy=False), axis)
        choice.put(whole, choice.pick(whole) - claim)
        return whole.astype(x.dtype, copy=False)  # type: ignore[no-any-return]

    out = out.astype(x.dtype, copy=False)
    return record(out, "NllLossBackward0", (input, backward, input, target, weight))


def _smoothed(choice: ClassChoice, input: T, smoothing: float) -> T:
    """Cross entropy where every class claims a share: `smoothing` of it goes to all alike."""
    x, axis = input.array, choice.axis
    claims = np.zeros_like(_wide(x)) + _per_class(choice.class_weights, x, axis) * (smoothing / x.shape[axis])
    choice.put(claims, choice.pick(claims) + (1 - smoothing) * choice.weights)
    claims *= np.expand_dims(choice.valid, axis)
    return _against(input, claims, axis, choice.reduction, choice.total)


def _with_probabilities(input: T, target: T, weight: T | None, reduction: str, smoothing: float) -> T:
    """Cross entropy against a distribution: -Σ weight · target · log_softmax(input)."""
    same_device(input, target, weight)
    if target._requires_grad:
        raise RuntimeError("cross_entropy has no gradient for its target: detach() it first")
    x = input.array
    axis = 0 if x.ndim == 1 else 1
    classes = x.shape[axis]
    claims = target.array.astype(_wide(x).dtype, copy=False)
    if smoothing:
        claims = claims * (1 - smoothing) + smoothing / classes
    if weight is not None:
        claims = claims * _per_class(_checked(weight, classes, x.dtype), x, axis)
    rows = claims.dtype.type(x.size // classes if classes else 0)
    return _against(input, claims, axis, reduction, rows)


def _against(input: T, claims: Array, axis: int, reduction: str, count: Any) -> T:
    """-Σ claims · log_softmax(input) along the axis of classes; the mean divides by `count`."""
    x = input.array
    work = _wide(x)
    shifted = work - np.maximum.reduce(work, axis=axis, keepdims=True)
    powers = np.exp(shifted)
    total = np.add.reduce(powers, axis=axis, keepdims=True)
    values = -np.add.reduce(claims * (shifted - np.log(total)), axis=axis)
    out = _reduced(values, reduction, count)

    def backward(grad: Array) -> Array:
        each = _spread(grad.astype(work.dtype, copy=False), values.shape, reduction, count)
        mass = np.add.reduce(claims, axis=axis, keepdims=True)
        whole = (powers / total * mass - claims) * np.expand_dims(each, axis)
        return whole.astype(x.dtype, copy=False)  # type: ignore[no-any-return]

    return record(out.astype(x.dtype, copy=False), "DivBackward1", (input, backward, input))


class ClassChoice:
    """Which class is right, for every row: checked, and ready to pick from and to write to."""

    def __init__(
        self, input: TensorBase, target: TensorBase, weight: TensorBase | None, ignore: int, reduction: str
    ) -> None:
        x = input.array
        if not isinstance(target, TensorBase):
            raise TypeError(f"argument 'target' must be Tensor, not {type(target).__name__}")
        same_device(input, target, weight)
        t = target.array
        self.axis = axis = 0 if x.ndim == 1 else 1
        if x.ndim == 1 and t.shape == (1,):
            t = t.reshape(())
        expected = x.shape[:axis] + x.shape[axis + 1 :]
        if x.ndim == 0 or t.shape != expected or t.dtype not in INDICES:
            raise _unfit(x, t, expected)
        classes = x.shape[axis]
        self.valid = t != ignore
        bad = self.valid & ((t < 0) | (t >= classes))
        if bad.any():
            raise IndexError(f"Target {int(t[bad].flat[0])} is out of bounds.")
        self.ignores = not self.valid.all()
        self.index = np.where(self.valid, t, 0) if self.ignores else t
        self._place = np.expand_dims(self.index, axis).astype(np.intp, copy=False)
        dtype = np.dtype(np.float32) if x.dtype in dtypes.HALVES else x.dtype
        if weight is None:
            self.weights: Any = self.valid.astype(dtype)
            self.class_weights = np.ones(classes, dtype, like=x)
        else:
            self.class_weights = _checked(weight, classes, x.dtype).astype(dtype, copy=False)
            self.weights = self.class_weights[self.index] * self.valid
        self.reduction = reduction
        self.total = self.weights.sum() if reduction == "mean" else dtype.type(1)

    def pick(self, array: Array) -> Array:
        """The chosen class's entry of every row."""
        return np.take_along_axis(array, self._place, self.axis).squeeze(self.axis)

    def put(self, array: Array, values: Array) -> None:
        """Write the chosen class's entry of every row."""
        np.put_along_axis(array, self._place, np.expand_dims(values, self.axis), self.axis)

    def reduce(self, values: Array) -> Array:
        if self.ignores:
            values = only(np.asanyarray(values), self.valid)
        return _reduced(np.asanyarray(values), self.reduction, self.total)

    def spread(self, grad: Array) -> Array:
        """The gradient of the reduced loss, per row; zero for rows that are ignored."""
        each = _spread(grad, self.valid.shape, self.reduction, self.total)
        return only(each, self.valid) if self.ignores else each


def _wide(x: Array) -> Array:
    """The logits in the type that they are added up in."""
    return x.astype(np.float32) if x.dtype in dtypes.HALVES else x


def _per_class(vector: Array, x: Array, axis: int) -> Array:
    """A number for each class, as it meets `x`."""
    return vector.reshape(len(vector), *[1] * (x.ndim - axis - 1))


def _reduced(values: Array, reduction: str, total: Any) -> Array:
    """The loss of all rows; the mean divides by `total`."""
    if reduction == "none":
        return values
    out = np.asanyarray(np.add.reduce(values, axis=None))
    return out if reduction == "sum" else np.asanyarray(out / total)


def _spread(grad: Array, shape: tuple[int, ...], reduction: str, total: Any) -> Array:
    """The gradient of each row."""
    each = np.broadcast_to(grad, shape)
    if reduction != "mean":
        return each
    return np.zeros_like(each) if (np.asanyarray(total) == 0).all() else each / total


def _unfit(x: Array, t: Array, expected: tuple[int, ...]) -> Exception:
    """Why these targets are none for these inputs."""
    is_batch = t.dtype in INDICES and x.ndim >= 2 and t.shape[:1] != x.shape[:1]
    return (ValueError if is_batch else RuntimeError)(
        f"an input of shape {list(x.shape)} takes class indices of the type int64 or uint8 and the shape "
        f"{list(expected)}, but got {t.dtype} of shape {list(t.shape)}"
    )


def _checked(weight: TensorBase, classes: int, dtype: np.dtype[Any]) -> Array:
    w = weight.array
    if w.shape != (classes,) or w.dtype != dtype:
        raise RuntimeError(f"weight must be {classes} numbers of {dtype}, but is {w.dtype} of shape {list(w.shape)}")
    return w
