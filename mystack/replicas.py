"""Data parallel: every rank has the whole model, and its own part of each batch.

rank 0    values of     forward with      backward: as soon as a gradient     the same step
rank 1    rank 0        its own samples   is there, it is averaged over all   on every rank
rank 2    for all

All begin equal and take equal steps, so they stay equal, and no parameter is ever sent again.
The one you would use: minitorch_dist/distributed/ddp/module.py.
"""

from .ring import all_reduce

from .face import distributed as dist
from .face import nn


def take_from_rank_0(tensors):
    """Every rank's tensors become those of rank 0."""
    for tensor in tensors:
        dist.broadcast(tensor.detach(), src=0)


class DistributedDataParallel(nn.Module):
    """Trains `module` on all ranks as if one rank had all samples."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        take_from_rank_0([*module.parameters(), *module.buffers()])
        self.followed = set()
        self.follow()

    def follow(self):
        """Be called for each parameter that is trained. A frozen one may be trained later."""
        for p in self.module.parameters():
            if p.requires_grad and p not in self.followed:
                self.followed.add(p)
                self.hook(p)

    def hook(self, p):
        p.register_post_accumulate_grad_hook(self.average)

    def average(self, p):
        """Backward has just finished `p.grad`, as this rank's samples see it.

        Make it the average over all ranks.
        """
        all_reduce(p.grad)
        p.grad /= dist.get_world_size()

    def forward(self, *inputs, **kwargs):
        self.follow()
        take_from_rank_0(self.module.buffers())
        return self.module(*inputs, **kwargs)


def loss(output, target, total):
    """Squared error of this rank's samples; its *average
    over the ranks* is the mean over all `total` samples.
    """
    error = output - target
    return (error * error).sum() * dist.get_world_size() / total
