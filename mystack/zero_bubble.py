"""Hardly a bubble: a backward has two halves, and for one of them nobody waits.

I   the gradient of what came in; the stage before waits for it
W   the gradient of the weights; only the optimizer needs it, when the step is over

stage 0  F0 F1 F2  ·  · I0 W0 F3 I1 W1  · I2 W2  · I3 W3
stage 1   · F0 F1  · I0 F2 I1 W0 F3 I2 W1  · I3 W2 W3
stage 2   ·  · F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
"""

import math

from . import one_f_one_b

from .face import autograd, nn
from .face.orders import Action, F, I, W


class Later(autograd.Function):
    """x @ weight. In backward the gradient of x is computed, and that of the weight is put off."""

    @staticmethod
    def forward(ctx, x, weight, product):
        ctx.save_for_backward(x, weight)
        ctx.product = product
        return x @ weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.product.fresh.append((ctx.product, x, gradient))
        return gradient @ weight.T, None, None


class Product(nn.Module):
    """Rows of x times a weight."""

    def __init__(self, weight):
        super().__init__()
        self.weight = weight
        self.fresh = []  # notes of the last backward; all products of a stage share one list

    def forward(self, x):
        return Later.apply(x, self.weight, self)


class Stage(one_f_one_b.Stage):
    """As in lesson 27, but an order may have I and W in the place of B."""

    def __init__(self, layers, columns):
        super().__init__(layers, columns)
        self.fresh = []
        self.late = {}  # micro-batch: notes for its W
        for module in layers.modules():
            if isinstance(module, Product):
                module.fresh = self.fresh

    def step(self, order, microbatches, loss):
        for action in order:
            k = action.microbatch
            if action.kind is F:
                self.forward(k, *microbatches[k], loss)
            if action.kind not in (F, W):
                self.backward_input(k)
            if action.kind not in (F, I):
                self.backward_weight(k)
        for work in self.leaving:
            work.wait()

    def backward_input(self, k):
        """I: the gradient of what came in goes to the stage before."""
        self.backward(k)
        self.late[k] = [*self.fresh]
        self.fresh.clear()

    def backward_weight(self, k):
        """W: the notes become gradients."""
        for product, x, gradient in self.late.pop(k):
            part, before = x.T @ gradient, product.weight.grad
            product.weight.grad = part if before is None else before + part


def zero_bubble(rank, pipe, message=0.0):
    """The actions of stage `rank` of `pipe.ranks`
    with its `pipe.microbatches`, one after another.
    """
    count, hops = pipe.microbatches, pipe.ranks - 1 - rank  # to the last stage
    ahead = min(1 + hops * apart(message), count)
    late = min(rank * apart(message), count)
    order = [Action(rank, F, k) for k in range(ahead)]
    for k in range(count):
        order.append(Action(rank, I, k))
        if k >= late:
            order.append(Action(rank, W, k - late))
        if k + ahead < count:
            order.append(Action(rank, F, k + ahead))
    return order + [Action(rank, W, k) for k in range(count - late, count)]


def apart(message):
    """How many more forwards a stage computes ahead than the next one.

    `message` is how long a message takes, in forwards: 0, 0.5, 2.
    """
    return 1 + math.ceil(message)
