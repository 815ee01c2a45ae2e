"""Modules: layers that know their parameters, as in torch.nn."""

from .tensors import Tensor


class Parameter(Tensor):
    """A tensor that a module learns."""

    def __init__(self, data):
        super().__init__(data.array if isinstance(data, Tensor) else data, requires_grad=True)


class Module:
    def __init__(self):
        self.__dict__.update(_parameters={}, _buffers={}, _modules={})

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._modules[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name):
        for kept in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kept, {}):
                return self.__dict__[kept][name]
        raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def register_buffer(self, name, tensor):
        self._buffers[name] = tensor

    def modules(self):
        """This one, and all within it."""
        yield self
        for module in self._modules.values():
            yield from module.modules()

    def parameters(self):
        return [
            p for module in self.modules() for p in module._parameters.values() if p is not None
        ]

    def buffers(self):
        return [b for module in self.modules() for b in module._buffers.values()]

    def __call__(self, *inputs, **kwargs):
        return self.forward(*inputs, **kwargs)


class Linear(Module):
    """x Wᵀ + b, with weights that the caller gives: all here are drawn in one place."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight, self.bias = Parameter(weight), Parameter(bias)

    def forward(self, x):
        return x @ self.weight.T + self.bias


class ReLU(Module):
    def forward(self, x):
        return x.relu()


class ModuleList(Module):
    """Several modules, in a list."""

    def __init__(self, modules):
        super().__init__()
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, index):
        return list(self)[index]


class Sequential(Module):
    def __init__(self, *modules):
        super().__init__()
        for number, module in enumerate(modules):
            setattr(self, str(number), module)

    def forward(self, x):
        for module in self._modules.values():
            x = module(x)
        return x
