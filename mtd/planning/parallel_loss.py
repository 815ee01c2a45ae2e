"""Cross entropy of logits that lie on several ranks, cut by words: no rank ever has all of them.

    log Σ exp(logits)        the largest logit, and the sum, are those of all ranks: two all_reduces
    the right word's logit   one rank has it; the others add zero: one all_reduce

Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3. It holds fewer arrays than torch's `loss_parallel`, which is the second one here: each
of its operations is a kernel with a result of its own. Both compute the same numbers, up to rounding.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist import distributed as dist
from minitorch_dist.autograd.function import Function, once_differentiable
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.nn import functional as F


class ParallelCrossEntropy(Function):
    """The mean over all positions. `logits`: (rows, words of this rank)."""

    @staticmethod
    def forward(ctx: Any, logits: Any, targets: Any, group: ProcessGroup) -> Any:
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
    def backward(ctx: Any, grad: Any) -> Any:
        weights, own, is_here = ctx.saved_tensors
        right = weights.gather(-1, own) - is_here.to(weights.dtype).unsqueeze(-1)
        found = weights.scatter(-1, own, right).mul_(grad / weights.shape[0])
        return found.to(ctx.dtype), None, None


class LossParallel(Function):
    """The same, of logits in float32, with the operations of torch's `loss_parallel` one by one."""

    @staticmethod
    def forward(ctx: Any, logits: Any, targets: Any, group: ProcessGroup) -> Any:
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
    def backward(ctx: Any, grad: Any) -> Any:
        found, own, is_here = ctx.saved_tensors
        right = found.new_zeros(found.shape)
        right.scatter_(-1, own, -is_here.to(found.dtype).unsqueeze(-1))
        return (right + found.exp()) * (grad / found.shape[0]), None, None


def cross_entropy(logits: Any, targets: Any, group: ProcessGroup | None, kernels: str = "usual") -> Any:
    """Mean over (sequences, positions). `group`: the ranks that the words are cut over, if they are. `kernels`: as in a
    model's file."""
    rows, wanted = logits.flatten(0, 1), targets.flatten()
    if group is None or group.size() == 1:
        return F.nll_loss(F.log_softmax(rows.float(), -1), wanted)  # two operations, as torch has it
    if kernels == "usual":
        return ParallelCrossEntropy.apply(rows, wanted, group)
    return LossParallel.apply(rows.float(), wanted, group)
