"""A pipeline: each rank holds some of the layers, and a batch goes through them in micro-batches.

stage 0   F0 F1 F2  ·  ·  ·  · B0 B1 B2       Fk  micro-batch k goes forward
stage 1    · F0 F1 F2  ·  · B0 B1 B2  ·       Bk  … and backward, from the last stage to the first
stage 2    ·  · F0 F1 F2 B0 B1 B2  ·  ·        ·  the bubble: nothing to do
"""

from .face import tensors as torch
from .face import distributed as dist
from .face.orders import Action, B, F


def gpipe(rank, pipe):
    """The actions of stage `rank`, one after another:
    all `pipe.microbatches` forward, then all backward.
    """
    numbers = range(pipe.microbatches)
    return [Action(rank, F, k) for k in numbers] + [Action(rank, B, k) for k in numbers]


class Stage:
    """This rank's layers, and the micro-batches that are on their way through them."""

    def __init__(self, layers, columns):
        self.layers, self.columns = layers, columns  # columns: of what comes in
        self.rank, self.last = dist.get_rank(), dist.get_world_size() - 1
        self.held = {}  # micro-batch: what came in and what went out, until its backward

    def step(self, order, microbatches, loss):
        """Carry out an order.

        `microbatches` are pairs (input, target); parameters collect gradients.
        """
        for action in order:
            if action.kind is F:
                self.forward(action.microbatch, *microbatches[action.microbatch], loss)
            else:
                self.backward(action.microbatch)

    def forward(self, k, x, target, loss):
        if self.rank > 0:
            x = torch.empty(len(x), self.columns, dtype=x.dtype)
            dist.recv(x, self.rank - 1, tag=k)
            x.requires_grad_()  # a leaf: here this rank's graph begins
        out = self.layers(x)
        if self.rank < self.last:
            self.send(out.detach(), self.rank + 1, k)
        else:
            out = loss(out, target)
        self.held[k] = x, out

    def backward(self, k):
        """From what the next stage sends (or from the loss) to what the stage before waits for."""
        x, out = self.held.pop(k)
        if self.rank < self.last:
            gradient = torch.empty_like(out)
            dist.recv(gradient, self.rank + 1, tag=k)
            out.backward(gradient)
        else:
            out.backward()
        if self.rank > 0:
            self.send(x.grad, self.rank - 1, k)

    def send(self, tensor, to, k):
        dist.send(tensor, to, tag=k)
