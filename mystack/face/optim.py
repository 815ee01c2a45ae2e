"""The base of every optimizer: groups of parameters with their options, and a memory for each parameter."""

from collections import defaultdict


class Optimizer:
    def __init__(self, params, defaults):
        params = list(params)
        groups = params if params and isinstance(params[0], dict) else [{"params": params}]
        self.param_groups = [defaults | group for group in groups]
        self.state = defaultdict(dict)

    def zero_grad(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None


def __getattr__(name):
    """SGD is lesson 04's, which stands on this module."""
    if name == "SGD":
        from ..golden import SGD

        return SGD
    raise AttributeError(name)
