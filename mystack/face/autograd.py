"""The part of the engine that lesson 18 uses: it calls a function when the backward pass is over."""

from . import tensors


class Engine:
    def queue_callback(self, function):
        tensors.callbacks.append(function)


class Variable:
    _execution_engine = Engine()
