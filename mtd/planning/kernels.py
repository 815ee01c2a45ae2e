"""The kernels that a layer's pointwise operations are: each one reads and writes memory once.

    usual     one for a norm; each operation of the turn (RoPE) and of the gate is one of its own
    single    as torch runs it without a compiler: norms and turns in float32, a kernel for each operation, keys and
              values copied for all heads that share them
    joined    as torch.compile leaves it: one for a norm, one for a turn, one for a gate

All three compute the same numbers, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.nn import functional as F
from minitorch_dist.tensors import distributions, generator
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor


class SingleRMSNorm(nn.RMSNorm):
    """Each operation is a kernel, in float32."""

    def forward(self, input: Tensor) -> Tensor:
        x = input.float()
        mean = x.pow(2).mean(-1, keepdim=True)
        eps = self.eps or float(np.finfo(np.float32).eps)
        return (x * torch.rsqrt(mean + eps)).to(input.dtype) * self.weight


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Each pair (first half, second half) of the last dimension, turned."""
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], -1)


def turned_at_once(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The same in one kernel."""
    c, s = cosine.array, sine.array

    def backward(grad: Array) -> list[Any]:
        return [_turn(grad, c, -s), None, None]

    return record_joint(_turn(x.array, c, s), "TurnBackward0", [x, cosine.detach(), sine.detach()], backward)


def _turn(x: Array, c: Array, s: Array) -> Array:
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * c - second * s, second * c + first * s], -1).astype(x.dtype)


def turned_in_float32(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """To float32, one kernel (torch multiplies complex numbers), and back."""
    return turned_at_once(x.float(), cosine.float(), sine.float()).to(x.dtype)


def gated(gate: Tensor, up: Tensor) -> Tensor:
    return F.silu(gate) * up


def gated_at_once(gate: Tensor, up: Tensor) -> Tensor:
    """The same in one kernel, which reads both again for its gradient."""

    def backward(grad: Array) -> list[Any]:
        g = gate.array.astype(np.float32)
        share = 1 / (1 + np.exp(-g))
        d_gate = grad * up.array * (share * (1 + g * (1 - share)))
        return [d_gate.astype(gate.array.dtype), (grad * (g * share)).astype(up.array.dtype)]

    g = gate.array.astype(np.float32)
    out = (g / (1 + np.exp(-g)) * up.array).astype(gate.array.dtype)
    return record_joint(out, "GateBackward0", [gate, up], backward, reads=[gate, up])


def repeated(x: Tensor, groups: int) -> Tensor:
    """Each head (…, heads, L, E) once for each query head that asks it, as a copy."""
    rows, heads, length, size = x.shape
    wide = x.unsqueeze(2).expand(rows, heads, groups, length, size)
    return wide.reshape(rows, heads * groups, length, size)


def added(x: Tensor, y: Tensor, share: float) -> Tensor:
    """x + dropout(y) in one kernel, as Megatron-LM joins them: it keeps a byte of each number, whether it was dropped."""
    if not share:
        return x + y
    kept = distributions.keep(1 - share, y.array.shape, generator.current(), y.array)

    def dropped(array: Array) -> Array:
        out: Array = np.multiply(array, kept, dtype=array.dtype)
        out *= array.dtype.type(1 / (1 - share))
        return out

    return record_joint(x.array + dropped(y.array), "AddBackward0", [x, y], lambda grad: [grad, dropped(grad)])


TURNS = {"usual": turned, "single": turned_in_float32, "joined": turned_at_once}
GATES = {"usual": gated, "single": gated, "joined": gated_at_once}
