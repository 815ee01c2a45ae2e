"""The tools of checks that compare with `==`: tensors of whole numbers, whose sums and products are exact.

x, layer = whole_numbers(4, 3), linear(3, 8)      the same on all ranks
my_part(x)                                        this rank's rows of it, one part of P equal ones
compare(found, wanted, "the gradient of x")       AssertionError: which rank, which element, and how much too large
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor
from mtd.course.lab import ranks


def whole_numbers(*shape: int, seed: int = 0, most: int = 2, dtype: torch.dtype = torch.float64) -> Tensor:
    """Numbers from -most to most."""
    found = np.random.Generator(np.random.PCG64([seed, *shape])).integers(-most, most + 1, shape)
    return torch.from_numpy(found.astype(np.float64)).to(dtype)


def linear(inputs: int, outputs: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> nn.Linear:
    """A layer of whole numbers."""
    layer: Any = nn.Linear(inputs, outputs, dtype=dtype)
    layer.weight.data.copy_(whole_numbers(outputs, inputs, seed=seed))
    layer.bias.data.copy_(whole_numbers(outputs, seed=seed + 100))
    return layer  # type: ignore[no-any-return]


def my_part(tensor: Tensor, dim: int = 0) -> Tensor:
    """This rank's part of P equal ones; a view."""
    each = tensor.shape[dim] // dist.get_world_size()
    return tensor.narrow(dim, dist.get_rank() * each, each)


def compare(found: Tensor, wanted: Tensor, what: str) -> None:
    """AssertionError, in words, if these are not equal in form, type and each number."""
    where = f"{ranks(dist.get_world_size())}: on rank {dist.get_rank()} {what}"
    assert found is not None, f"{where} is None, expected {wanted.tolist()}"
    assert isinstance(found, torch.Tensor), f"{where} is {found!r}, expected a tensor"
    mine, ours = (f"{str(each.dtype).removeprefix('torch.')}{[*each.shape]}" for each in (found, wanted))
    assert mine == ours, f"{where} is {mine}, expected {ours}"
    a, b = (each.detach().numpy() for each in (found, wanted))
    if (a != b).any():
        place = tuple(int(n) for n in np.argwhere(a != b)[0])
        raise AssertionError(
            f"{where} has {a[place]:g} at {[*place]}, and one rank alone has {b[place]:g}{remark(a, b)}"
        )


def remark(a: Array, b: Array) -> str:
    """How the difference looks: is all of it too large by one factor?"""
    if b.any() and not a[b == 0].any():
        factors = np.unique(a[b != 0] / b[b != 0])
        if len(factors) == 1 and factors[0]:
            return f"; all numbers are {factors[0]:g} times as large"
    return f" ({int((a != b).sum())} of {a.size} numbers differ)"
