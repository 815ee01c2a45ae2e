"""What lesson 18 asks of the engine: a function to be called when the backward pass is over."""

from . import tensors


class Engine:
    def queue_callback(self, function):
        tensors.callbacks.append(function)


class Variable:
    _execution_engine = Engine()
