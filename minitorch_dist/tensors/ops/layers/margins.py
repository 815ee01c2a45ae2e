"""Losses with a margin, and other rarer ones, composed of plain tensor operations.

Here the formula is the code: nothing is fused, so nothing but the formula needs reading.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.core.operations import add, mul, sum
from minitorch_dist.tensors.ops import autocasting
from minitorch_dist.tensors.ops.along_axes.norms import norm
from minitorch_dist.tensors.ops.along_axes.reductions import mean
from minitorch_dist.tensors.ops.elementwise.arithmetic import neg, sub
from minitorch_dist.tensors.ops.elementwise.comparison import eq, gt, where
from minitorch_dist.tensors.ops.elementwise.division import div
from minitorch_dist.tensors.ops.elementwise.exponentials import exp, log, logaddexp
from minitorch_dist.tensors.ops.elementwise.extremes import clamp, maximum, minimum
from minitorch_dist.tensors.ops.elementwise.powers import pow, sqrt
from minitorch_dist.tensors.ops.indexing.indexing import getitem
from minitorch_dist.tensors.ops.layers.losses import binary_cross_entropy_with_logits, reduction_of
from minitorch_dist.tensors.ops.shapes.reshaping import reshape, unsqueeze


def reduced(values: T, reduction: str) -> T:
    """A loss of one value per element (or row), as the caller wants it."""
    if reduction == "none":
        return values
    return mean(values) if reduction == "mean" else sum(values)


@autocasting.full
def margin_ranking_loss(
    input1: T, input2: T, target: T, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> T:  # fmt: skip
    """max(0, -y (x₁ - x₂) + margin): x₁ should rank higher where y = 1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1.array.ndim == input2.array.ndim == target.array.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {list(input1.array.shape)}, input2: {list(input2.array.shape)}, "
            f"target: {list(target.array.shape)} "
        )
    return reduced(clamp(add(mul(neg(target), sub(input1, input2)), margin), min=0), reduction)


@autocasting.full
def hinge_embedding_loss(
    input: T, target: T, margin: float = 1.0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> T:  # fmt: skip
    """x where y = 1, max(0, margin - x) where y = -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    nothing = result(input, np.zeros((), input.array.dtype, like=input.array))
    far: T = where(eq(target, 1), nothing, clamp(add(neg(input), margin), min=0))
    near: T = where(eq(target, -1), nothing, input)
    return reduced(add(far, near), reduction)


@autocasting.full
def soft_margin_loss(
    input: T, target: T, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> T:  # fmt: skip
    """log(1 + exp(-y x))"""
    reduction = reduction_of(reduction, size_average, reduce)
    if target._requires_grad:
        raise RuntimeError(
            "The function 'soft_margin_loss' is not differentiable with respect to argument "
            "'target'. This input cannot have requires_grad True."
        )
    nothing = result(input, np.zeros((), input.array.dtype, like=input.array))
    return reduced(logaddexp(neg(mul(target, input)), nothing), reduction)


@autocasting.full
def cosine_embedding_loss(
    input1: T, input2: T, target: T, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> T:  # fmt: skip
    """1 - cos(x₁, x₂) where y = 1, max(0, cos - margin) where y = -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    tiny = 1e-12
    dot = sum(mul(input1, input2), -1)
    lengths = mul(add(sum(mul(input1, input1), -1), tiny), add(sum(mul(input2, input2), -1), tiny))
    cosine = div(dot, sqrt(lengths))
    nothing = result(cosine, np.zeros((), cosine.array.dtype, like=cosine.array))
    near: T = where(eq(target, 1), add(neg(cosine), 1), nothing)
    far: T = where(eq(target, -1), clamp(sub(cosine, margin), min=0), nothing)
    return reduced(add(near, far), reduction)


def pairwise_distance(x1: T, x2: T, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> T:
    """The p-norm of x₁ - x₂ + eps over the last dimension."""
    distance: T = norm(add(sub(x1, x2), eps), p, -1, keepdim)
    return distance


@autocasting.full
def triplet_margin_loss(
    anchor: T, positive: T, negative: T, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> T:  # fmt: skip
    """max(0, |a - p| - |a - n| + margin): the positive should be nearer, by the margin."""
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def distance(a: T, b: T) -> T:
        return pairwise_distance(a, b, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: T, positive: T, negative: T, *, distance_function: Callable[[T, T], T] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> T:  # fmt: skip
    """`triplet_margin_loss` with a distance of your own."""
    reduction = reduction_of(reduction, None, None)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or pairwise_distance
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: T, positive: T, negative: T, distance: Callable[[T, T], T], margin: float, swap: bool,
    reduction: str,
) -> T:  # fmt: skip
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(clamp(add(sub(near, far), margin), min=0), reduction)


@autocasting.full
def multi_margin_loss(
    input: T, target: T, p: int = 1, margin: float = 1.0, weight: T | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> T:  # fmt: skip
    """Σ over wrong classes of max(0, margin - x[right] + x[wrong])ᵖ, divided by the class count."""
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    single = input.array.ndim == 1
    rows = reshape(input, (1, -1)) if single else input
    index = reshape(target, (-1, 1))
    right: T = getitem(rows, (np.arange(len(index.array)), target.array.reshape(-1)))
    over = add(sub(rows, reshape(right, (-1, 1))), margin)
    counts = over.array > 0  # exactly at the margin there is no slope
    np.put_along_axis(counts, index.array, False, 1)
    each = pow(where(result(rows, counts), over, 0.0), p)
    if weight is not None:
        each = mul(each, reshape(result(weight, weight.array[target.array]), (-1, 1)))
    values: T = div(sum(each, 1), rows.array.shape[1])
    return reduced(reshape(values, ()) if single and reduction == "none" else values, reduction)


def multilabel_soft_margin_loss(
    input: T, target: T, weight: T | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> T:  # fmt: skip
    """Binary cross entropy of every label, averaged over the labels."""
    reduction = reduction_of(reduction, size_average, reduce)
    each = binary_cross_entropy_with_logits(input, target, reduction="none")
    if weight is not None:
        each = mul(each, weight)
    return reduced(mean(each, -1), reduction)


@autocasting.full
def poisson_nll_loss(
    input: T, target: T, log_input: bool = True, full: bool = False,
    size_average: bool | None = None, eps: float = 1e-8, reduce: bool | None = None,
    reduction: str = "mean",
) -> T:  # fmt: skip
    """λ - k log λ, with input = log λ (or λ itself); `full` adds Stirling's term for k > 1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if log_input:
        values = sub(exp(input), mul(target, input))
    else:
        values = sub(input, mul(target, log(add(input, eps))))
    if full:
        k: T = where(gt(target, 1), target, 1.0)  # elsewhere there is no term, and no gradient
        stirling = add(sub(mul(k, log(k)), k), mul(log(mul(k, 2 * math.pi)), 0.5))
        values = add(values, where(gt(target, 1), stirling, 0.0))
    return reduced(values, reduction)


def gaussian_nll_loss(
    input: T, target: T, var: T | float, full: bool = False, eps: float = 1e-6,
    reduction: str = "mean",
) -> T:  # fmt: skip
    """½ (log var + (input - target)² / var), with var at least `eps`."""
    reduction = reduction_of(reduction, None, None)
    if isinstance(var, (int, float)):
        var = result(input, np.full(input.array.shape, var, input.array.dtype, like=input.array))
    if (var.array < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.array.shape != input.array.shape:
        if var.array.shape == input.array.shape[:-1]:
            var = unsqueeze(var, -1)
        elif var.array.shape[:-1] != input.array.shape[:-1] or var.array.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    floor = result(var, np.asanyarray(eps, var.array.dtype))
    kept = maximum(var, floor) if not var._requires_grad else _floored(var, eps)
    gap = sub(input, target)
    values = mul(add(log(kept), div(mul(gap, gap), kept)), 0.5)
    if full:
        values = add(values, 0.5 * math.log(2 * math.pi))
    return reduced(values, reduction)


def _floored(var: T, eps: float) -> T:
    """var at least eps; as in torch, the floor does not stop the gradient."""
    lift = np.maximum(var.array, eps) - var.array
    return add(var, result(var, lift.astype(var.array.dtype)))
