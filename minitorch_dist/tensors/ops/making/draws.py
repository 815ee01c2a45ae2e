"""Chance with given probabilities: coins, dice and rare events."""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors import distributions
from minitorch_dist.tensors.core.base import T
from minitorch_dist.tensors.core.graph import result
from minitorch_dist.tensors.generator import Generator
from minitorch_dist.tensors.ops.making.chance import source
from minitorch_dist.tensors.shape_arrays.array import has_numbers


def multinomial(input: T, num_samples: int, replacement: bool = False, *, generator: Generator | None = None) -> T:
    """Indices drawn with the weights in the rows of `input` (which need not add up to 1).

    With replacement: where a uniform number falls among the cumulated weights. Without: the first
    to ring among clocks that run at the weights' rates (exponential waiting times).
    """
    weights = input.array
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got {weights.ndim}")
    if weights.dtype not in distributions.DIGITS:
        raise RuntimeError(f"multinomial takes floating weights, not {input.dtype}")
    if num_samples <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples: {num_samples}")
    if not replacement and num_samples > weights.shape[-1] and has_numbers(weights):
        raise RuntimeError(f"{weights.shape[-1]} entries are too few for {num_samples} samples without replacement")
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
