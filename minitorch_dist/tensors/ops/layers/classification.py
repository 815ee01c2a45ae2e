"""Losses over classes: negative log likelihood and cross entropy.

Both say "minus the log probability of the right class". Let the matrix `claim` say how much each
class is claimed to be right. For an index target it is one-hot, times the class's weight. Then the
loss is -Σ claim · log p, and its gradient with respect to logits is p · Σ claim - claim. The index
form never builds that matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, same_device
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.masks import only
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.layers.losses import REDUCTIONS, reduction_of


@autocasting.full
def nll_loss(
    input: T,
    target: T,
    weight: T | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> T:
    """-input[target]: `input` holds log probabilities, (N, C), (C) or (N, C, d1, …)."""
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(reduction, size_average, reduce)
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
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> T:
    """nll_loss of log_softmax; `target` holds class indices, or a probability for every class."""
    if size_average is not None or reduce is not None or reduction not in REDUCTIONS:
        reduction = reduction_of(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if (
        isinstance(target, TensorBase)
        and target.array.shape == input.array.shape
        and target.array.dtype.kind not in "iub"
    ):
        return _with_probabilities(input, target, weight, reduction, label_smoothing)
    choice = ClassChoice(input, target, weight, ignore_index, reduction)
    x, axis = input.array, choice.axis
    if label_smoothing:
        return _smoothed(choice, input, target, weight, label_smoothing)
    work = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
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


def _smoothed(
    choice: ClassChoice, input: T, target: T, weight: T | None, label_smoothing: float
) -> T:
    """Cross entropy where every class claims a share: `label_smoothing` of it goes to all alike."""
    x, axis, per_class = input.array, choice.axis, choice.class_weights
    work = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    shifted = work - np.maximum.reduce(work, axis=axis, keepdims=True)
    powers = np.exp(shifted)
    total = np.add.reduce(powers, axis=axis)
    log_total = np.log(total)
    smooth = label_smoothing / x.shape[axis]
    uniform = log_total * np.sum(per_class) - np.tensordot(per_class, shifted, (0, axis))
    values = (log_total - choice.pick(shifted)) * choice.weights
    out = choice.reduce(
        (1 - label_smoothing) * values + smooth * np.where(choice.valid, uniform, 0)
    )

    def backward(grad: Array) -> Array:
        each = choice.spread(grad.astype(work.dtype, copy=False))
        claim = (1 - label_smoothing) * each * choice.weights  # of the chosen class
        every = smooth * np.where(choice.valid, each, 0)
        mass = claim + every * np.sum(per_class)
        whole = powers * np.expand_dims((mass / total).astype(work.dtype, copy=False), axis)
        shape = [1] * x.ndim
        shape[axis] = x.shape[axis]
        whole -= np.expand_dims(every, axis) * per_class.reshape(shape)
        choice.put(whole, choice.pick(whole) - claim)
        return whole.astype(x.dtype, copy=False)  # type: ignore[no-any-return]

    out = out.astype(x.dtype, copy=False)
    return record(out, "NllLossBackward0", (input, backward, input, target, weight))


def _with_probabilities(
    input: T, target: T, weight: T | None, reduction: str, label_smoothing: float
) -> T:
    """Cross entropy against a distribution: -Σ weight · target · log_softmax(input)."""
    same_device(input, target, weight)
    x = input.array
    work = x.astype(np.float32) if x.dtype in dtypes.HALVES else x
    axis = 0 if x.ndim == 1 else 1
    classes = x.shape[axis]
    claims, target_type = target.array.astype(work.dtype, copy=False), target.array.dtype
    factors: Array | None = None
    if label_smoothing:
        claims = claims * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        _check_weight(weight, classes, x.dtype)
        shape = [1] * x.ndim
        shape[axis] = classes
        factors = weight.array.reshape(shape)
        claims = claims * factors
    shifted = work - np.maximum.reduce(work, axis=axis, keepdims=True)
    powers = np.exp(shifted)
    total = np.add.reduce(powers, axis=axis, keepdims=True)
    log_p = shifted - np.log(total)
    values = -np.add.reduce(claims * log_p, axis=axis)
    rows = x.size // classes if classes else 0
    out = values if reduction == "none" else np.asanyarray(values.sum())
    if reduction == "mean":
        out = np.asanyarray(out / work.dtype.type(rows))
    want_input, want_target = wants(input, target)

    def backward(grad: Array) -> tuple[Array | None, ...]:
        each = np.broadcast_to(grad.astype(work.dtype, copy=False), values.shape)
        if reduction == "mean":
            each = each / rows
        each = np.expand_dims(each, axis)
        of_input = of_target = None
        if want_input:
            mass = np.add.reduce(claims, axis=axis, keepdims=True)
            of_input = ((powers / total * mass - claims) * each).astype(x.dtype, copy=False)
        if want_target:
            of_target = -log_p * each * (1 - label_smoothing)
            if factors is not None:
                of_target = of_target * factors
            of_target = of_target.astype(target_type, copy=False)
        return of_input, of_target

    reads = [input, target] if weight is None else [input, target, weight]
    return record_joint(
        out.astype(x.dtype, copy=False), "DivBackward1", (input, target), backward, reads=reads
    )


class ClassChoice:
    """Which class is right, for every row: checked, and ready to pick from and to write to."""

    def __init__(
        self,
        input: TensorBase,
        target: TensorBase,
        weight: TensorBase | None,
        ignore: int,
        reduction: str,
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
        if x.ndim == 0 or t.shape != expected or t.dtype not in (np.int64, np.uint8):
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
            _check_weight(weight, classes, x.dtype)
            self.class_weights = weight.array.astype(dtype, copy=False)
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
        if self.reduction == "none":
            return np.asanyarray(values)
        total = np.asanyarray(np.add.reduce(values, axis=None))
        return total if self.reduction == "sum" else np.asanyarray(total / self.total)

    def spread(self, grad: Array) -> Array:
        """The gradient of the reduced loss, per row; zero for rows that are ignored."""
        each = np.broadcast_to(grad, self.valid.shape)
        if self.reduction == "mean":
            each = np.zeros_like(each) if (self.total == 0).all() else each / self.total
        return only(each, self.valid) if self.ignores else each


def _unfit(x: Array, t: Array, expected: tuple[int, ...]) -> Exception:
    """Why these targets are none for these inputs."""
    if x.ndim == 0:
        return RuntimeError("a loss over classes needs an input with a dimension of classes")
    if x.ndim >= 2 and t.shape[:1] != x.shape[:1]:
        return ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size "
            f"({t.shape[0] if t.ndim else 0})."
        )
    if t.shape != expected:
        return RuntimeError(
            f"Expected target size {list(expected)}, got {list(t.shape)} for an input of size "
            f"{list(x.shape)}: one class index per row"
        )
    return RuntimeError(
        f"expected target dtype to be Long or Byte, but got {type_name(t)[6:-6]}: class "
        "indices are int64 (call .long() on the target)"
    )


def _check_weight(weight: TensorBase, classes: int, dtype: np.dtype[Any]) -> None:
    if weight.array.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.array.shape)}"
        )
    if weight.array.dtype != dtype:
        raise RuntimeError(
            f"expected scalar type {type_name(np.empty(0, dtype))[6:-6]} but found "
            f"{type_name(weight.array)[6:-6]}: the weights have the type of the input"
        )
