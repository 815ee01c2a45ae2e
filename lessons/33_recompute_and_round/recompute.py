"""Two ways to make room: forget what can be computed again, and keep half the bits.

forward    x ─[layer layer layer]─ x ─[layer layer layer]─ x ─[layer layer layer]─ loss
kept       x                       x                       x    and all of the last segment
backward                           x ─[once more, kept]─▸
           x ─[once more, kept]─▸

float32    16 bits more than the half types: weights, sums and Adam's averages
bfloat16    8 bits of a number, and float32's range          1 + 1/512 is 1
float16    11 bits of a number, from 6e-8 to 65504           1e-8 is 0, and 70000 is inf
"""

import math

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import autograd, nn


class Recomputed(autograd.Function):
    """`module(*inputs)`, of which the graph keeps nothing but the inputs."""

    @staticmethod
    def forward(ctx, module, count, *tensors):
        """`tensors` are `count` inputs and then the module's parameters.

        No graph is recorded in here.
        """
        ctx.module = module
        # BLANK 1: keep what the second forward needs, and return the output (about 3 lines)
        # torch.get_rng_state() is where the random numbers are: dropout must meet the same ones.
        ctx.save_for_backward(*tensors[:count])
        ctx.dice = torch.get_rng_state()
        return module(*tensors[:count])
        # END

    @staticmethod
    def backward(ctx, gradient):
        """The gradients of what `forward` took."""
        inputs = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
        # BLANK 2: the output once more, now with a graph and the same dice (about 5 lines)
        # For all others the random numbers go on as if nobody had drawn: torch.set_rng_state(…).
        outside = torch.get_rng_state()
        torch.set_rng_state(ctx.dice)
        with torch.enable_grad():
            output = ctx.module(*inputs)
        torch.set_rng_state(outside)
        # END
        tensors = [*inputs, *ctx.module.parameters()]
        # BLANK 3: `found`: for each of the tensors its gradient, or None if it needs none (about 3 lines)
        # autograd.grad(output, wanted, gradient, allow_unused=True) gives those of a list `wanted`.
        wanted = [each for each in tensors if each.requires_grad]
        each_one = iter(autograd.grad(output, wanted, gradient, allow_unused=True))
        found = [next(each_one) if each.requires_grad else None for each in tensors]
        # END
        return None, None, *found


def checkpoint(module, *inputs):
    """`module(*inputs)`, whose inside is forgotten, and computed again in backward."""
    # BLANK 4: give `Recomputed.apply` what its forward takes (1 line)
    # A node is recorded only if one of its arguments needs a gradient. Often no input does.
    return Recomputed.apply(module, len(inputs), *inputs, *module.parameters())
    # END


def cuts(count):
    """Where `count` layers are cut into segments: 0, …, count."""
    # BLANK 5: with how many segments is least held at once? (about 2 lines)
    segments = math.ceil(math.sqrt(count))
    return [count * part // segments for part in range(segments + 1)]
    # END


class Segments(nn.Module):
    """A chain of layers, of which a few activations are kept."""

    def __init__(self, layers):
        super().__init__()
        ends = cuts(len(layers))
        self.parts = nn.ModuleList([nn.Sequential(*layers[a:b]) for a, b in zip(ends, ends[1:])])

    def forward(self, x):
        # BLANK 6: which segment does backward need first? It need not be computed again (about 3 lines)
        for part in self.parts[:-1]:
            x = checkpoint(part, x)
        return self.parts[-1](x)
        # END


class Mixed:
    """Trains a model in half precision. Parameter k belongs to rank k % P: only this rank has it
    in float32, and the optimizer's state (lesson 21).

        (mixed.scale * loss).backward()
        mixed.step()
    """

    def __init__(self, model, optimizer, dtype=torch.float16, scale=2.0**16, patience=200):
        rank, size = dist.get_rank(), dist.get_world_size()
        self.owners = {p: k % size for k, p in enumerate(model.parameters())}
        self.scale, self.patience = scale, patience
        self.good = 0  # steps since the scale was last changed
        # BLANK 7: `self.masters`: a copy in float32 of each parameter of mine; the model in `dtype` (about 2 lines)
        # The copies are tensors of their own, from before the model was rounded.
        self.masters = {
            p: p.detach().float().clone() for p, owner in self.owners.items() if owner == rank
        }
        model.to(dtype)
        # END
        self.optimizer = optimizer([*self.masters.values()]) if self.masters else None

    def step(self):
        """Average the gradients, and step if all of them are numbers. Returns whether."""
        for p, owner in self.owners.items():
            gradient = torch.zeros_like(p) if p.grad is None else p.grad
            # BLANK 8: the average over all ranks, without the scale: `masters[p].grad` of its owner (about 4 lines)
            # dist.reduce(tensor, dst) makes `tensor` the sum, on rank dst only.
            # In which precision is it added?
            total = gradient.float() / self.scale
            dist.reduce(total, owner)
            if p in self.masters:
                self.masters[p].grad = total / dist.get_world_size()
            # END
            p.grad = None
        is_good = self.all_are_numbers()
        if is_good and self.optimizer is not None:
            self.optimizer.step()
        for p, owner in self.owners.items():
            if p in self.masters:
                p.data.copy_(self.masters[p])  # rounds
            dist.broadcast(p.data, owner)
        self.rescale(is_good)
        return is_good

    def all_are_numbers(self):
        """Whether no gradient is inf or nan, on any rank."""
        # BLANK 9: each rank sees only its own; all must go the same way (about 3 lines)
        mine = all(master.grad.isfinite().all().item() for master in self.masters.values())
        bad = torch.tensor([0.0 if mine else 1.0])
        dist.all_reduce(bad, dist.ReduceOp.MAX)
        return bad.item() == 0
        # END

    def rescale(self, is_good):
        """After a bad step half the scale; after `patience` good ones in a row twice."""
        # BLANK 10: the next scale (about 5 lines)
        self.good = self.good + 1 if is_good else 0
        if not is_good:
            self.scale /= 2
        elif self.good == self.patience:
            self.scale, self.good = self.scale * 2, 0
        # END
