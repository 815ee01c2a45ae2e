"""The engine calls a function when the backward pass is over (lesson 18); a Function has a gradient of its own (31)."""

import numpy as np

from .. import backwards
from . import tensors


class Engine:
    def queue_callback(self, function):
        tensors.callbacks.append(function)


class Variable:
    _execution_engine = Engine()


class Context:
    """This is what `forward` leaves for `backward`."""

    def __init__(self, inputs):
        self.needs_input_grad = [getattr(each, "requires_grad", False) for each in inputs]

    def save_for_backward(self, *given):
        self.saved_tensors = given


class Function:
    """An operation with a gradient of its own: `backward` returns one for each argument of `forward`."""

    @classmethod
    def apply(cls, *inputs):
        ctx = Context(inputs)
        with tensors.no_grad():
            made = cls.forward(ctx, *inputs)
        places = [place for place, needs in enumerate(ctx.needs_input_grad) if needs]
        found = {}

        def edge(place):
            def vjp(grad):
                if place == places[0]:  # the node's edges are read one after another
                    every = cls.backward(ctx, tensors.Tensor(grad))
                    found.update(enumerate(every if isinstance(every, tuple) else (every,)))
                part = found.pop(place)
                return np.zeros(inputs[place].shape) if part is None else part.array

            return inputs[place].node, vjp

        if tensors.recording and places:
            made.node = backwards.Node(f"{cls.__name__}Backward", *map(edge, places))
        return made


def grad(output, inputs, gradient, allow_unused=False):
    """The gradients of these leaves; their `grad` stays as it is."""
    order = backwards.in_order(output.node)
    leaves = [node for node in order if isinstance(node, tensors.Leaf)]
    before = [vars(leaf).copy() for leaf in leaves]
    for leaf in leaves:
        leaf.grad, leaf.before, leaf.hooks = None, [], []
    backwards.send_back(output.node, gradient.array)
    found = {leaf: leaf.grad for leaf in leaves}
    for leaf, kept in zip(leaves, before):
        vars(leaf).update(kept)
    return [found.get(each.node) for each in inputs]
