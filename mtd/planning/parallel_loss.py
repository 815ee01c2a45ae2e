"""Cross entropy of logits that lie on several ranks, cut by words: no rank ever has all of them.

    log Σ exp(logits)        the largest logit, and the sum, are those of all ranks: two all_reduces
    the right word's logit   one rank has it; the others add zero: one all_reduce

Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3. It holds fewer arrays than torch's `loss_parallel`, which is the second one here: each
of its operations is a kernel with a result of its own. Both compute the same numbers, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.autograd.function import Function, once_differentiable
from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.nn import functional as F
from minitorch_dist.tensors.autograd.joint import record_joint
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.tensor import Tensor
from mtd.planning.model_files import ModelSizes


class ParallelCrossEntropy(Function):
    """The mean over all positions. `logits`: (rows, words of this rank)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, group: ProcessGroup) -> Tensor:
        words = logits.shape[-1]
        top = logits.max(-1).values
        dist.all_reduce(top, dist.ReduceOp.MAX, group)
        shifted = logits.float() - top.float().unsqueeze(-1)
        own = targets - group.rank() * words
        is_here = (own >= 0) & (own < words)
        own = own.clamp(0, words - 1).unsqueeze(-1)
        right = shifted.gather(-1, own).squeeze(-1) * is_here
        weights = shifted.exp()
        total = weights.sum(-1)
        dist.all_reduce(total, group=group)
        dist.all_reduce(right, group=group)
        ctx.save_for_backward(weights.div_(total.unsqueeze(-1)), own, is_here)
        ctx.dtype = logits.dtype
        return (total.log() - right).mean()

    @staticmethod
    @once_differentiable  # the weights that it reads are no tensors of the graph
    def backward(ctx: Any, grad: Tensor) -> Any:
        weights, own, is_here = ctx.saved_tensors
        right = weights.gather(-1, own) - is_here.to(weights.dtype).unsqueeze(-1)
        found = weights.scatter(-1, own, right).mul_(grad / weights.shape[0])
        return found.to(ctx.dtype), None, None


class LossParallel(Function):
    """The same, of logits in float32, with the operations of torch's `loss_parallel` one by one."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, group: ProcessGroup) -> Tensor:
        words = logits.shape[-1]
        top = logits.amax(-1, keepdim=True)
        dist.all_reduce(top, dist.ReduceOp.MAX, group)
        shifted = logits - top
        total = shifted.exp().sum(-1, keepdim=True)
        dist.all_reduce(total, group=group)
        found = shifted - total.log()
        own = targets - group.rank() * words
        is_here = (own >= 0) & (own < words)
        own = own.clamp(0, words - 1).unsqueeze(-1)
        right = found.gather(-1, own).squeeze(-1) * is_here
        dist.all_reduce(right, group=group)
        ctx.save_for_backward(found, own, is_here)
        return -right.mean()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        found, own, is_here = ctx.saved_tensors
        right = found.new_zeros(found.shape)
        right.scatter_(-1, own, -is_here.to(found.dtype).unsqueeze(-1))
        return (right + found.exp()) * (grad / found.shape[0]), None, None


def fused(rows: Tensor, wanted: Tensor) -> Tensor:
    """One kernel each way, as flash_attn's `CrossEntropyLoss`: beside the logits, in their own type, it keeps one number of a row."""
    logits, own = rows.array, wanted.array[:, None]
    wide = logits.astype(np.float32)
    top = np.maximum.reduce(wide, axis=-1, keepdims=True)
    logs = np.log(np.add.reduce(np.exp(wide - top), axis=-1, keepdims=True)) + top
    loss = np.add.reduce(logs - np.take_along_axis(wide, own, -1), axis=None) / np.float32(len(logits))

    def backward(grad: Array) -> list[Array | None]:
        found = np.exp(logits.astype(np.float32) - logs)
        np.put_along_axis(found, own, np.take_along_axis(found, own, -1) - np.float32(1), -1)
        found *= grad / np.float32(len(logits))
        return [found.astype(logits.dtype), None]

    return record_joint(np.asanyarray(loss), "FusedLossBackward0", [rows, wanted], backward, reads=[rows, wanted])


def show(logits: Tensor, targets: Tensor, times: int) -> None:
    """So many metrics, each of which computes the cross entropy anew by torch's own operations."""
    with torch.no_grad():
        for _ in range(times):
            _of_torch(logits.flatten(0, 1), targets.flatten())


def _of_torch(rows: Tensor, wanted: Tensor) -> Tensor:
    return F.nll_loss(F.log_softmax(rows.float(), -1), wanted)  # two operations in float32


def cross_entropy(logits: Any, targets: Any, group: ProcessGroup | None, model: ModelSizes) -> Any:
    """Mean over (sequences, positions). `group`: the ranks that the words are cut over, if they are."""
    rows, wanted = logits.flatten(0, 1), targets.flatten()
    if group is None or group.size() == 1:
        return fused(rows, wanted) if model.loss == "fused" else _of_torch(rows, wanted)
    if model.kernels == "usual":
        return ParallelCrossEntropy.apply(rows, wanted, group)
    return LossParallel.apply(rows.float(), wanted, group)
