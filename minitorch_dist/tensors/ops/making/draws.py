"""Chance with given probabilities: coins, dice and rare events."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors import distributions
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import record, result
from minitorch_dist.tensors.dtypes import type_name
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.ops.making.random import check_floating, source
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def bernoulli(input: T, p: float | None = None, *, generator: Generator | None = None) -> T:
    """1 with the probability that stands in `input` (or with `p` everywhere), else 0."""
    out = flips(input, input if p is None else p, generator)
    shape, dtype = out.shape, out.dtype
    if dtype not in distributions.DIGITS:
        return result(input, out)
    return record(out, "BernoulliBackward0", (input, lambda g: np.zeros(shape, dtype, like=g)))


def flips(self: TensorBase, p: TensorBase | float, generator: Generator | None) -> Array:
    """Zeros and ones in the shape and dtype of `self`, ones with probability `p`."""
    probability: Any = p
    if isinstance(p, TensorBase):
        probability = p.array
        check_floating(p.array.dtype, "bernoulli_tensor_cpu_p_")
        if not ((probability >= 0) & (probability <= 1)).all():
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    double = np.dtype(np.float64)
    where = source(generator, self.storage.device)
    u = distributions.draw(self.array.shape, double, where, distributions.unit(double), self.array)
    return np.asanyarray(u < probability).astype(self.array.dtype)  # type: ignore[no-any-return]


def multinomial(
    input: T, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> T:
    """Indices drawn with the weights in the rows of `input` (which need not add up to 1).

    With replacement: where a uniform number falls among the cumulated weights. Without: the first
    to ring among clocks that run at the weights' rates (exponential waiting times).
    """
    weights = input.array
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {weights.ndim}")
    if weights.dtype not in distributions.DIGITS:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            + type_name(weights)[6:-6]
        )
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples: {num_samples}")
    if not replacement and num_samples > weights.shape[-1] and has_numbers(weights):
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement: "
            f"{num_samples} > {weights.shape[-1]}"
        )
    weights = weights.astype(np.float64)
    if not has_numbers(weights):
        return result(input, np.empty((*weights.shape[:-1], num_samples), np.int64, like=weights))
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    total = np.cumsum(weights, axis=-1)
    if weights.size and (total[..., -1] <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    where, double = source(generator, input.storage.device), np.dtype(np.float64)
    if replacement:
        shape = (*weights.shape[:-1], num_samples)
        u = distributions.draw(shape, double, where, distributions.unit(double), weights)
        below = np.nextafter(total[..., -1:], 0)  # so that rounding cannot reach the very end
        place = np.minimum(u * total[..., -1:], below)
        rows = zip(np.atleast_2d(total), np.atleast_2d(place), strict=True)
        index = [np.searchsorted(row, at, side="right") for row, at in rows]
        found = np.array(index, np.int64).reshape(shape)
    else:
        ring = distributions.draw(weights.shape, double, where, distributions.exponential, weights)
        with np.errstate(divide="ignore"):
            ring /= weights
        found = np.argsort(ring, axis=-1, kind="stable")[..., :num_samples].astype(np.int64)
    return result(input, found)
