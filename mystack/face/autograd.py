"""The engine calls a function when the backward pass is over (lesson 18); a Function has a gradient of its own (31)."""

from types import SimpleNamespace

from .. import backwards
from . import tensors


class Engine:
    def queue_callback(self, function):
        tensors.callbacks.append(function)


class Variable:
    _execution_engine = Engine()


class Function:
    """An operation of a tensor, and of what may follow it; only the tensor has a gradient."""

    @classmethod
    def apply(cls, tensor, *more):
        ctx = SimpleNamespace()
        with tensors.no_grad():
            made = cls.forward(ctx, tensor, *more)

        def vjp(grad):
            found = cls.backward(ctx, tensors.Tensor(grad))
            return (found[0] if isinstance(found, tuple) else found).array

        if tensors.recording and tensor.node is not None:
            made.node = backwards.Node(f"{cls.__name__}Backward", (tensor.node, vjp))
        return made
