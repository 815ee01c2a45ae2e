"""ZeRO and FSDP: each rank keeps a P-th of each parameter, gradient, and optimizer's number.

An all_reduce has two halves. Between them each rank has its part of the sum, so it can step there:

    lesson 17    reduce_scatter gradients,         all_gather gradients, step everything
    ZeRO         reduce_scatter gradients, step,   all_gather the new values

FSDP does not even keep the new values. It gathers a layer before it computes, and frees it then:

    forward     layer 1 | gather, compute, free                  then layer 2 in the same way
    backward    layer 2 | gather, compute, reduce_scatter, free  then layer 1 in the same way

A storage (lesson 2) can give its bytes back while tensors that show it still exist:

    whole = torch.ones(8);  window = whole[:6].view(2, 3);  storage = whole.untyped_storage()
    storage.resize_(0)               0 bytes; `window` has its shape, and reads as nan
    storage.resize_(8 * 4)           32 bytes again, with any numbers in them
    whole.copy_(torch.ones(8))       the same window reads as ones

The real ones: minitorch_dist/distributed/fsdp, to be read as docs/fsdp.md says, and
minitorch_dist/distributed/optim. Source: arXiv:1910.02054, arXiv:2304.11277.
"""

from replicas import take_from_rank_0

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.autograd import Variable
from minitorch_dist.optim import Optimizer


def shard_length(shape, size):
    """How many numbers of a parameter of this shape each of `size` ranks keeps.

    The last shards may be padded, or nothing but padding.
    """
    # BLANK 1: all shards equally long, together no less than all numbers, and as short as can be (1 line)
    # `shape.numel()` is how many numbers a tensor of this shape has.
    return -(-shape.numel() // size)
    # END


class ShardedParameter:
    """One parameter: a rank keeps its shard, and borrows the whole.

    whole     [ w w w w | w w w w | w w 0 0 ]     10 numbers on 3 ranks: shards of 4, padded
    shard       rank 0    rank 1    rank 2        what a rank keeps, and its optimizer sees
    window    the whole without the padding, in the parameter's shape

    Where the whole stays, the shard is a view of it.
    """

    def __init__(self, p, stays=False):
        rank, size = dist.get_rank(), dist.get_world_size()
        length = shard_length(p.shape, size)
        self.shape = p.shape
        self.whole = p.detach().new_zeros(length * size)
        self.window = self.in_shape(self.whole).detach()
        self.window.copy_(p.detach())
        mine = self.whole[rank * length : (rank + 1) * length]
        self.shard = nn.Parameter(mine if stays else mine.clone())
        self.shard.requires_grad_(p.requires_grad)
        self.nbytes = self.whole.nbytes

    def in_shape(self, flat):
        """The numbers of a vector like `whole`, in the parameter's shape."""
        return flat[: self.shape.numel()].view(self.shape)

    def reduce(self, grad):
        """Add this rank's part of the ranks' average to `shard.grad`.

        It is None, and counts as 0, if this rank did not use the parameter.
        """
        flat = self.whole.new_zeros(len(self.whole))
        if grad is not None:
            self.in_shape(flat).copy_(grad)
        # BLANK 2: the first half of an all_reduce; a rank keeps its part of the average (about 4 lines)
        # dist.reduce_scatter_tensor(output, input): output becomes this rank's part of the sum
        # of all inputs. Backwards add up until somebody sets shard.grad to None.
        mine = torch.empty_like(self.shard)
        dist.reduce_scatter_tensor(mine, flat)
        mine /= dist.get_world_size()
        self.shard.grad = mine if self.shard.grad is None else self.shard.grad + mine
        # END

    def gather(self):
        """Borrow the whole: the memory again, and in it what all ranks have in their shards."""
        # BLANK 3: take the memory back; then the second half of an all_reduce (about 2 lines)
        # storage.resize_(n) takes n bytes; dist.all_gather_into_tensor(output,
        # input) puts all ranks' inputs one after the other.
        # Write into self.whole.data: what lies there is
        # what lay there before, so backward shall not mind.
        self.whole.untyped_storage().resize_(self.nbytes)
        dist.all_gather_into_tensor(self.whole.data, self.shard.detach())
        # END

    def free(self):
        """Give the memory of the whole back. A window that is read now reads nan."""
        self.whole.untyped_storage().resize_(0)


class ZeroRedundancyOptimizer(Optimizer):
    """ZeRO: `optimizer_class(params, **defaults)` on the shards of all parameters.

    Each rank has the whole model, and no wrapper: gradients are averaged in the step.
    """

    def __init__(self, params, optimizer_class, **defaults):
        super().__init__(params, defaults)
        self.parameters = [p for group in self.param_groups for p in group["params"]]
        take_from_rank_0(self.parameters)
        self.parts = [ShardedParameter(p, stays=True) for p in self.parameters]
        for p, part in zip(self.parameters, self.parts):
            p.data = part.window  # so that what is gathered is the parameter
        self.optim = optimizer_class([part.shard for part in self.parts], **defaults)

    def step(self, closure=None):
        """The step that `optimizer_class` would make with the average of all ranks' gradients."""
        # BLANK 4: average each gradient, step on the shards, and give each parameter its new values (about 6 lines)
        # p.grad is this rank's gradient of p. p.requires_grad says whether it is trained.
        for p, part in zip(self.parameters, self.parts):
            if p.requires_grad:
                part.reduce(p.grad)
        self.optim.step()
        for part in self.parts:
            part.gather()
        # END
        self.optim.zero_grad()  # the next step begins with p.grad alone


class FullyShardedDataParallel(nn.Module):
    """One unit: what is gathered together.

    Wrap each layer: nn.Sequential(FullyShardedDataParallel(layer), …).
    A shard's `requires_grad` says whether its parameter is trained.
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
        self.parts = [ShardedParameter(p) for p in places]
        for number, (part, where) in enumerate(zip(self.parts, places.values())):
            setattr(self, f"shard_{number}", part.shard)  # what `parameters()` shows
            for owner, name in where:
                del owner._parameters[name]
                setattr(owner, name, part.window)  # a plain attribute
            part.window.requires_grad_().register_post_accumulate_grad_hook(self.arrived)
        self.is_due = False  # whether this backward has to average the gradients, yet
        self.free()

    def gather(self):
        for part in self.parts:
            part.gather()

    def free(self):
        for part in self.parts:
            part.free()

    def forward(self, *inputs):
        for part in self.parts:  # frozen or trained, as the shard is now
            part.window.requires_grad_(part.shard.requires_grad)
        # BLANK 5: what is needed before the module computes, and what is not needed after it? (about 3 lines)
        self.gather()
        output = self.module(*inputs)
        self.free()
        # END
        if output.requires_grad:
            output.register_hook(self.backward_begins)
        return output

    def average(self):
        """All gradients of this unit are there, or will not come."""
        self.is_due = False
        # BLANK 6: each shard that is trained gets its part; of all that is whole, nothing stays (about 5 lines)
        # part.window.grad is the gradient of the whole parameter.
        for part in self.parts:
            if part.shard.requires_grad:
                part.reduce(part.window.grad)
                part.window.grad = None
        self.free()
        # END

    def backward_begins(self, grad):
        """Backward has come to what this unit had computed: its turn."""
        # BLANK 7: the graph kept windows, and they are empty (1 line)
        self.gather()
        # END
        self.is_due = any(part.shard.requires_grad for part in self.parts)
        Variable._execution_engine.queue_callback(self.backward_ends)

    def arrived(self, window):
        """Backward has just finished a gradient."""
        trained = [part for part in self.parts if part.shard.requires_grad]
        if self.is_due and all(part.window.grad is not None for part in trained):
            self.average()

    def backward_ends(self):
        """All of backward is over."""
        # BLANK 8: a parameter that nobody used gets no gradient, so `arrived` still waits; a frozen unit is whole (about 3 lines)
        if self.is_due:
            self.average()
        self.free()
        # END


def clip_grad_norm_(parameters, max_norm):
    """Scale gradients that lie in shards down until the norm of all is at most `max_norm`.

    Returns the norm before.
    """
    grads = [p.grad for p in parameters if p.grad is not None]
    squares = sum((grad.double() ** 2).sum().item() for grad in grads)
    # BLANK 9: the root of the sum of all squares, of which this rank has those of its shards (about 3 lines)
    # `norm`, a float, is the same on all ranks. For the sum: torch.tensor([…], dtype=torch.float64)
    total = torch.tensor([squares], dtype=torch.float64)
    dist.all_reduce(total)
    norm = total.item() ** 0.5
    # END
    for grad in grads:
        grad *= min(1.0, max_norm / norm) if norm else 1.0
    return norm
