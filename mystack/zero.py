"""ZeRO: each rank keeps Adam's memory for some of the parameters only, and their gradients.

                parameters   gradients     Adam's two     numbers on each rank
lesson 17          all          all            all             4 Ψ
stage 1            all          all         own part          (2 + 2/P) Ψ
stage 2            all       own part       own part          (1 + 3/P) Ψ

backward    each gradient is averaged on its owner, and forgotten everywhere else
step        each owner steps for its own parameters, and sends the new values to all

The real one: minitorch_dist/distributed/optim/zero_redundancy_optimizer.py.
Source: arXiv:1910.02054.
"""

from functools import partial

from . import replicas

from .face import tensors as torch
from .face import distributed as dist
from .face.optim import Optimizer


def partition(parameters, size):
    """Which parameters each rank owns: `size` lists, as equal in numbers as can easily be."""
    parts = [[] for _ in range(size)]
    for p in sorted(parameters, key=lambda p: p.numel(), reverse=True):
        least = min(parts, key=lambda part: sum(q.numel() for q in part))
        least.append(p)
    return parts


class ZeroRedundancyOptimizer(Optimizer):
    """`optimizer_class(params, **defaults)`, divided among
    the ranks: ZeroRedundancyOptimizer(params, Adam, lr=0.1).
    """

    def __init__(self, params, optimizer_class, **defaults):
        super().__init__(params, defaults)
        parameters = [p for group in self.param_groups for p in group["params"]]
        self.parts = partition(parameters, dist.get_world_size())
        self.owner = {p: rank for rank, part in enumerate(self.parts) for p in part}
        mine = self.parts[dist.get_rank()]  # may be empty: more ranks than parameters
        self.optim = optimizer_class([{"params": mine}], **defaults)

    def step(self, closure=None):
        """The step that `optimizer_class` would make for all parameters."""
        self.optim.step()
        for rank, part in enumerate(self.parts):
            for p in part:
                dist.broadcast(p.detach(), src=rank)


class ShardedDataParallel(replicas.DistributedDataParallel):
    """Stage 2: lesson 17's wrapper, where a gradient has one owner."""

    def __init__(self, module, owner):
        super().__init__(module)
        self.owner = owner  # a rank for each parameter
        self.earlier = {}  # of a parameter: what earlier backwards have averaged

    def hook(self, p):
        p.register_hook(partial(self.put_aside, p))
        super().hook(p)
        p.register_post_accumulate_grad_hook(self.add_earlier)

    def put_aside(self, p, grad):
        """Backward is about to add to `p.grad`, and an average must not be averaged again."""
        self.earlier[p], p.grad = p.grad, None

    def add_earlier(self, p):
        """`average` is done."""
        before = self.earlier.pop(p)
        if before is not None and p.grad is not None:
            p.grad += before

    def average(self, p):
        """Backward has just finished `p.grad`. Only its owner needs the average."""
        dist.reduce(p.grad, dst=self.owner[p])
        if self.owner[p] == dist.get_rank():
            p.grad /= dist.get_world_size()
        else:
            p.grad = None


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
    """Scale gradients down until their norm is at most `max_norm`. Returns the norm before.

    A gradient may lie on its owner only (stage 2), or be the same on all ranks (stage 1).
    """
    parameters = list(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    if norm_type == float("inf"):
        largest = [grad.abs().max().item() for grad in grads if grad.numel()]
        found = torch.tensor([max(largest, default=0.0)], dtype=torch.float64)
        dist.all_reduce(found, op=dist.ReduceOp.MAX)
        norm = found.item()
    else:
        powers = [0.0 if p.grad is None else power(p.grad, norm_type) for p in parameters]
        held = [float(p.grad is not None) for p in parameters]
        sums = torch.tensor([*powers, *held], dtype=torch.float64)
        dist.all_reduce(sums)
        pairs = zip(sums.tolist(), sums.tolist()[len(held) :])
        norm = sum(each / ranks for each, ranks in pairs if ranks) ** (1 / norm_type)
    for grad in grads:
        grad *= min(1.0, max_norm / norm) if norm else 1.0
    return norm


def power(grad, norm_type):
    """The sum of squares, or of what else the norm's type says."""
    return (grad.abs().double() ** norm_type).sum().item()
