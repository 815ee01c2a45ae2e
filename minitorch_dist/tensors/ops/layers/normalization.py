"""Normalisation whose statistics are shared by planes: batch, group and instance norm.

    x̂ = (x - mean) / √(var + ε)        out = x̂ · weight + bias

`batch_norm` takes mean and variance over the images of a batch (Ioffe & Szegedy 2015, arXiv:1502.03167).
`group_norm` takes them over a group of channels of one image (Wu & He 2018, arXiv:1803.08494), and
`instance_norm` over a single plane. The mean and σ are computed from x, so the gradient is, per plane,

    dx = weight/σ · (g - mean(g) - x̂ · mean(g · x̂))  =  a·g + b·x + c

so only x, the means and σ are kept, and dx takes one pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.joint import record_joint, wants
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import Gradient, same_device
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops.layers.planes import affine, gradient, gradient_sums, means, moments, planes, restored


@silent
def batch_norm(
    input: T,
    running_mean: TensorBase | None,
    running_var: TensorBase | None,
    weight: T | None = None,
    bias: T | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> T:
    """Normalise each channel of (N, C, …), over the batch in training, else by the running statistics.

    Training moves the running statistics a step of `momentum` towards the batch's, in place and outside
    of any record; the running variance is the unbiased one.
    """
    _check_batch_norm(input, running_mean, running_var, training, eps)
    channels = input.array.shape[1:2] or (0,)
    check_parameters(input, channels, running_mean=running_mean, running_var=running_var, weight=weight, bias=bias)
    same_device(input, running_mean, running_var)
    x = planes(input.array)
    if not training:
        assert running_mean is not None and running_var is not None
        mean, var = running_mean.array.astype(np.float64), running_var.array.astype(np.float64)
        return _normalised(input, x, mean, var, weight, bias, eps, "NativeBatchNormBackward0", None)
    count = x.shape[0] * x.shape[2]
    centre = means(x).mean(0)
    first, second = moments(x, np.broadcast_to(centre, x.shape[:2]))
    shift = first.sum(0) / count
    mean, var = centre + shift, second.sum(0) / count - shift * shift
    if running_mean is not None and running_var is not None:
        _move(running_mean.array, mean, momentum)
        _move(running_var.array, var * (count / (count - 1)), momentum)
    return _normalised(input, x, mean, var, weight, bias, eps, "NativeBatchNormBackward0", (0,))


@silent
def group_norm(input: T, num_groups: int, weight: T | None = None, bias: T | None = None, eps: float = 1e-5) -> T:
    """Normalise each image of (N, C, …) over groups of neighbouring channels."""
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if shape[1] % num_groups:
        raise RuntimeError(f"{num_groups} groups do not divide the channels of an input of shape {list(shape)}")
    check_parameters(input, shape[1:2], weight=weight, bias=bias)
    if input.array.size and input.array.size // num_groups == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    x = planes(input.array if len(shape) > 2 else input.array[:, :, None])
    mean, var = _group_statistics(x, num_groups)
    return _normalised(input, x, mean, var, weight, bias, eps, "NativeGroupNormBackward0", num_groups)


def instance_norm(input: T, *, weight: T | None = None, bias: T | None = None, eps: float = 1e-5) -> T:
    """Normalise each channel of each image by itself."""
    shape = input.array.shape
    if len(shape) < 3 or shape[2:] == (1,) * (len(shape) - 2):
        raise ValueError(f"instance_norm takes more than one value per channel, but got the shape {list(shape)}")
    return group_norm(input, shape[1], weight, bias, eps)


# ----------------------------------------------------------------------------------------------------


def _move(running: Array, towards: Array, momentum: float) -> None:
    running *= 1 - momentum
    running += (momentum * towards).astype(running.dtype)


def _group_statistics(x: Array, groups: int) -> tuple[Array, Array]:
    """Mean and variance of each group of planes, (N, C): every plane has those of its group."""
    each = x.shape[1] // groups
    centre = _over_groups(means(x), groups) / each
    first, second = (_over_groups(m, groups) for m in moments(x, centre))
    shift = first / (each * x.shape[2])
    return centre + shift, second / (each * x.shape[2]) - shift * shift


def _over_groups(values: Array, groups: int) -> Array:
    """The sum over each group of channels, at all of its channels."""
    count, channels = values.shape
    sums = values.reshape(count, groups, channels // groups).sum(2)
    return np.repeat(sums, channels // groups, axis=1)


def _normalised(
    input: T, x: Array, mean: Array, var: Array, weight: T | None, bias: T | None, eps: float, name: str, shared: Any
) -> T:
    """Apply the statistics and record it.

    `shared` says which planes they were computed from: None (they are given constants), (0,) (all
    images), or the number of groups of channels.
    """
    source = input.array
    shape, dtype, (count, channels, size) = source.shape, source.dtype, x.shape
    std = 1 / np.sqrt(var + eps)
    std, mean = (np.broadcast_to(v, (count, channels)) for v in (std, mean))
    scale = std if weight is None else std * weight.array.astype(np.float64)
    offset = 0.0 if bias is None else bias.array.astype(np.float64)
    out = restored(affine(x, scale, offset - mean * scale), shape, dtype)
    del x
    wanted = wants(input, weight, bias)
    of_weight, of_bias = (None if t is None else t.array.dtype for t in (weight, bias))

    def averaged(sums: Array) -> Array:
        """The mean over the planes that share statistics, of sums over planes."""
        if shared == (0,):
            return np.asanyarray(sums.sum(0) / (count * size))
        shares: Array = _over_groups(sums, shared) / (channels // shared * size)
        return shares

    def backward(g: Array) -> list[Gradient]:
        x, g = planes(_deep(source)), planes(_deep(g))
        sum_g, sum_gx = gradient_sums(g, x, mean)
        grads: list[Gradient] = [None]
        if wanted[0] and shared is None:
            grads[0] = restored(affine(g, scale, np.zeros_like(scale)), shape, dtype)
        elif wanted[0]:
            w = scale / std
            of_x = np.broadcast_to(-(std**3) * averaged(w * sum_gx), mean.shape)
            constant = np.broadcast_to(-std * averaged(w * sum_g), mean.shape) - of_x * mean
            grads[0] = restored(gradient(g, x, scale, of_x, constant), shape, dtype)
        if of_weight is not None:
            grads.append((sum_gx * std).sum(0).astype(of_weight) if wanted[1] else None)
        if of_bias is not None:
            grads.append(sum_g.sum(0).astype(of_bias) if wanted[2] else None)
        return grads

    def _deep(array: Array) -> Array:
        """(N, C) as batch norm sees it, or with planes of one value as the others do."""
        return array if shared in (None, (0,)) or array.ndim > 2 else array[:, :, None]

    inputs = [t for t in (input, weight, bias) if t is not None]
    reads = [t for t in (input, weight) if t is not None]
    return record_joint(out, name, inputs, backward, reads, owns=True)


def check_parameters(input: T, shape: tuple[int, ...], **named: TensorBase | None) -> None:
    """Numbers of this shape, in the type of the input, or in float32 beside halves."""
    kind = input.array.dtype
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"normalisation is not implemented for {input.dtype}")
    for name, tensor in named.items():
        if tensor is None:
            continue
        own = tensor.array.dtype
        if tensor.array.shape != shape or not (own == kind or (kind.itemsize == 2 and own == np.float32)):
            own = f"{list(tensor.array.shape)} of {tensor.dtype}"
            raise RuntimeError(f"{name} should be {list(shape)} numbers of {input.dtype}, as the input, and is {own}")


def _check_batch_norm(
    input: T, running_mean: TensorBase | None, running_var: TensorBase | None, training: bool, eps: float
) -> None:
    x = input.array
    if training and x.ndim > 1 and x.size and x.size == x.shape[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(x.shape)}")
    if training and eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if not training and running_mean is None:
        raise RuntimeError("running_mean must be defined in evaluation mode")
