"""Fully sharded: each rank keeps a P-th of everything, and
borrows a layer's parameters while it computes with them.

forward     layer 1 | gather, compute, free                  then layer 2 in the same way
backward    layer 2 | gather, compute, reduce_scatter, free  then layer 1 in the same way

A layer's parameters lie in one vector, `whole`; each parameter
is a window on it. Its memory comes and goes; the windows stay.

    whole     [ w w w w | w w b b | b 0 0 0 ]     3 ranks: shards of 4 numbers, padded with zeros
    shard       rank 0    rank 1    rank 2        what a rank keeps, and what its optimizer sees

A storage (lesson 2) can give its bytes back while tensors that show it still exist:

    whole = torch.ones(8);  window = whole[:4].view(2, 2);  storage = whole.untyped_storage()
    storage.resize_(0)               0 bytes; `window` has its shape, and reads as nan
    storage.resize_(8 * 4)           32 bytes again, with any numbers in them
    whole.copy_(torch.ones(8))       the same window reads as ones

The real one: minitorch_dist/distributed/fsdp, to be read as
docs/fsdp.md says. Source: arXiv:1910.02054, arXiv:2304.11277.
"""

from replicas import take_from_rank_0

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn


def shard_length(count, size):
    """How many of `count` numbers each of `size` ranks keeps;
    the last shards may be padded, or nothing but padding.
    """
    # BLANK 1: all shards equally long, together no less than all numbers, and as short as can be (1 line)
    return -(-count // size)
    # END


class FullyShardedDataParallel(nn.Module):
    """One unit: what is gathered together.

    Wrap each layer: nn.Sequential(FullyShardedDataParallel(layer), …).
    """

    def __init__(self, module):
        super().__init__()
        self.module = module
        take_from_rank_0([*module.parameters(), *module.buffers()])
        places = [
            (owner, name)
            for owner in module.modules()
            for name, p in owner._parameters.items()
            if p is not None  # a Linear without bias has None there
        ]
        vectors = [getattr(owner, name).detach().view(-1) for owner, name in places]
        self.shapes = [getattr(owner, name).shape for owner, name in places]
        self.count = sum(v.numel() for v in vectors)
        rank, size = dist.get_rank(), dist.get_world_size()
        length = shard_length(self.count, size)
        self.whole = vectors[0].new_zeros(length * size)
        self.whole[: self.count] = torch.cat(vectors)
        self.shard = nn.Parameter(self.whole[rank * length : (rank + 1) * length].clone())
        self.windows = [part.detach().requires_grad_() for part in self.parts(self.whole)]
        for (owner, name), window in zip(places, self.windows, strict=True):
            del owner._parameters[name]
            setattr(owner, name, window)  # a plain attribute: `parameters()` shows the shard alone
            window.register_post_accumulate_grad_hook(self.arrived)
        self.nbytes = self.whole.nbytes
        self.free()

    def parts(self, flat):
        """Windows on a vector like `whole`, in the shapes of the parameters."""
        parts = flat[: self.count].split([shape.numel() for shape in self.shapes])
        return [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def free(self):
        """Give the memory of the whole back. A view that is read now reads nan."""
        self.whole.untyped_storage().resize_(0)

    def gather(self):
        """Borrow: the memory again, and in it what all ranks have in their shards."""
        # BLANK 2: take the memory back, and fill it (about 2 lines)
        # storage.resize_(n) takes n bytes; dist.all_gather_into_tensor(output,
        # input) puts all ranks' inputs one after the other.
        # Write into self.whole.data: what lies there is
        # what lay there before, so backward shall not mind.
        self.whole.untyped_storage().resize_(self.nbytes)
        dist.all_gather_into_tensor(self.whole.data, self.shard.detach())
        # END

    def forward(self, *inputs):
        # BLANK 3: what is needed before the module computes, and what is not needed after it? (about 3 lines)
        self.gather()
        output = self.module(*inputs)
        self.free()
        # END
        if output.requires_grad:
            output.register_hook(self.backward_begins)
        return output

    def backward_begins(self, grad):
        """Backward has come to what this unit had computed: its turn."""
        # BLANK 4: the graph kept windows, and they are empty (1 line)
        self.gather()
        # END
        self.lacking = len(self.windows)

    def arrived(self, window):
        """Backward has just finished a gradient."""
        self.lacking -= 1
        if self.lacking == 0:
            flat = self.whole.new_zeros(len(self.whole))
            for w, part in zip(self.windows, self.parts(flat), strict=True):
                part.copy_(w.grad)
            # BLANK 5: of the average, a rank keeps its shard; of all the rest, nothing (about 5 lines)
            # dist.reduce_scatter_tensor(output, input): output
            # becomes this rank's part of the sum of all inputs.
            self.shard.grad = torch.empty_like(self.shard)
            dist.reduce_scatter_tensor(self.shard.grad, flat)
            self.shard.grad /= dist.get_world_size()
            for w in self.windows:
                w.grad = None
            self.free()
            # END
