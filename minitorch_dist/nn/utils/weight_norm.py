"""Weights as a length and a direction: w = g · v / |v| (Salimans & Kingma 2016, arXiv:1602.07868).

The module keeps `weight_g` and `weight_v` as parameters. A hook computes `weight` before each forward.
"""

from __future__ import annotations

from typing import Any

from minitorch_dist.nn.parameter import Parameter


def _lengths(v: Any, dim: int) -> Any:
    """The norms over all dimensions but `dim`; over all, if that is -1."""
    if dim == -1:
        return v.norm()
    return v.norm(2, dim=[n for n in range(v.ndim) if n != dim % v.ndim], keepdim=True)


class WeightNorm:
    """The hook."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, module: Any) -> Any:
        g, v = (getattr(module, self.name + end) for end in ("_g", "_v"))
        return v * (g / _lengths(v, self.dim))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Let a length for each slice along `dim` (None: one for all) and a direction stand for a parameter."""
    if any(
        isinstance(h, WeightNorm) and h.name == name for h in module._forward_pre_hooks.values()
    ):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight: Any = getattr(module, name)
    del module._parameters[name]
    length = _lengths(weight.detach(), hook.dim)
    module.register_parameter(name + "_g", Parameter(length))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make it an ordinary parameter again, with its present values."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module).detach()
            delattr(module, name)
            del module._parameters[name + "_g"], module._parameters[name + "_v"]
            setattr(module, name, Parameter(weight))
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
