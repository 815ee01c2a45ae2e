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

from .face import tensors as torch
from .face import autograd, nn


class Recomputed(autograd.Function):
    """`module(*inputs)`, of which the graph keeps nothing but the inputs."""

    @staticmethod
    def forward(ctx, module, count, *tensors):
        """`tensors` are `count` inputs and then the module's parameters.

        No graph is recorded in here.
        """
        ctx.module = module
        ctx.save_for_backward(*tensors[:count])
        ctx.dice = torch.get_rng_state()
        return module(*tensors[:count])

    @staticmethod
    def backward(ctx, gradient):
        """The gradients of what `forward` took."""
        inputs = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
        outside = torch.get_rng_state()
        torch.set_rng_state(ctx.dice)
        with torch.enable_grad():
            output = ctx.module(*inputs)
        torch.set_rng_state(outside)
        tensors = [*inputs, *ctx.module.parameters()]
        wanted = [each for each in tensors if each.requires_grad]
        each_one = iter(autograd.grad(output, wanted, gradient, allow_unused=True))
        found = [next(each_one) if each.requires_grad else None for each in tensors]
        return None, None, *found


def checkpoint(module, *inputs):
    """`module(*inputs)`, whose inside is forgotten, and computed again in backward."""
    return Recomputed.apply(module, len(inputs), *inputs, *module.parameters())


def cuts(count):
    """Where `count` layers are cut into segments: 0, …, count."""
    segments = math.ceil(math.sqrt(count))
    return [count * part // segments for part in range(segments + 1)]


class Segments(nn.Module):
    """A chain of layers, of which a few activations are kept."""

    def __init__(self, layers):
        super().__init__()
        ends = cuts(len(layers))
        self.parts = nn.ModuleList([nn.Sequential(*layers[a:b]) for a, b in zip(ends, ends[1:])])

    def forward(self, x):
        for part in self.parts[:-1]:
            x = checkpoint(part, x)
        return self.parts[-1](x)
