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

from .replicas import take_from_rank_0

from .face import tensors as torch
from .face import distributed as dist
from .face import nn
from .face.autograd import Variable


def shard_length(count, size):
    """How many of `count` numbers each of `size` ranks keeps;
    the last shards may be padded, or nothing but padding.
    """
    return -(-count // size)


class FullyShardedDataParallel(nn.Module):
    """One unit: what is gathered together.

    Wrap each layer: nn.Sequential(FullyShardedDataParallel(layer), …).
    A unit is trained, or it is frozen: `shard.requires_grad` says which.
    """

    def __init__(self, module):
        super().__init__()
        self.module = module
        take_from_rank_0([*module.parameters(), *module.buffers()])
        places = {}  # of each parameter: two layers may share one
        for owner in module.modules():
            for name, p in owner._parameters.items():
                if p is not None:  # a Linear without bias has None there
                    places.setdefault(p, []).append((owner, name))
        kinds = {(p.dtype, p.requires_grad) for p in places}
        if len(kinds) != 1:
            raise ValueError(
                f"this unit has parameters of {len(kinds)} kinds (type, trained): {kinds}. "
                "They lie in one vector, so they must be alike: wrap layers of one kind"
            )
        self.shapes = [p.shape for p in places]
        self.count = sum(p.numel() for p in places)
        rank, size = dist.get_rank(), dist.get_world_size()
        length = shard_length(self.count, size)
        vectors = [p.detach().view(-1) for p in places]
        self.whole = vectors[0].new_zeros(length * size)
        self.whole[: self.count] = torch.cat(vectors)
        self.shard = nn.Parameter(self.whole[rank * length : (rank + 1) * length].clone())
        self.shard.requires_grad_(all(p.requires_grad for p in places))
        self.windows = [part.detach().requires_grad_() for part in self.parts(self.whole)]
        for where, window in zip(places.values(), self.windows, strict=True):
            for owner, name in where:
                del owner._parameters[name]
                setattr(
                    owner, name, window
                )  # a plain attribute: `parameters()` shows the shard alone
            window.register_post_accumulate_grad_hook(self.arrived)
        self.nbytes = self.whole.nbytes
        self.is_due = False  # whether this backward has to reduce the gradients, yet
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
        self.whole.untyped_storage().resize_(self.nbytes)
        dist.all_gather_into_tensor(self.whole.data, self.shard.detach())

    def forward(self, *inputs):
        for window in self.windows:  # frozen or trained, as the shard is now
            window.requires_grad_(self.shard.requires_grad)
        self.gather()
        output = self.module(*inputs)
        self.free()
        if output.requires_grad:
            output.register_hook(self.backward_begins)
        return output

    def backward_begins(self, grad):
        """Backward has come to what this unit had computed: its turn."""
        self.gather()
        self.is_due = self.shard.requires_grad
        Variable._execution_engine.queue_callback(self.backward_ends)

    def arrived(self, window):
        """Backward has just finished a gradient."""
        if self.is_due and all(w.grad is not None for w in self.windows):
            self.reduce()

    def reduce(self):
        """Average the gradients, and forget what is whole."""
        self.is_due = False
        flat = self.whole.new_zeros(len(self.whole))
        for w, part in zip(self.windows, self.parts(flat), strict=True):
            if w.grad is not None:  # else it was not used
                part.copy_(w.grad)
        mine = torch.empty_like(self.shard)
        dist.reduce_scatter_tensor(mine, flat)
        mine /= dist.get_world_size()
        self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
        for w in self.windows:
            w.grad = None
        self.free()

    def backward_ends(self):
        """All of backward is over."""
        if self.is_due:
            self.reduce()
        self.free()
