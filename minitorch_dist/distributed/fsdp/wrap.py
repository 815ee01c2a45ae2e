"""Which modules become units of their own: policies, and wrapping by them.

A policy is asked twice about each module. `policy(module, recurse=True, nonwrapped_numel=n)` says whether
to look at its children. With `recurse=False` it says whether the rest of the module becomes a unit: the
n elements in parameters that no child has wrapped. Children come first, so the outermost unit has the
parameters that the others left over.

Why it matters: a unit is gathered as a whole. One unit for all gathers the whole model at once, and
saves no memory in forward; one for each layer sends many small messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minitorch_dist.inventory import not_offered
from minitorch_dist.nn.modules.attention import MultiheadAttention
from minitorch_dist.nn.modules.container import ModuleDict, ModuleList
from minitorch_dist.nn.modules.module import Module

Policy = Callable[..., bool]


class ModuleWrapPolicy:
    """Every module of these classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._classes = tuple(set(module_classes))

    def __call__(self, module: Module, recurse: bool, nonwrapped_numel: int = -1, **_: Any) -> bool:
        return recurse or isinstance(module, self._classes)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """The layers of a transformer, given by class."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Modules that have at least `min_num_params` elements which are in no unit yet."""
    leaves = {MultiheadAttention} if force_leaf_modules is None else force_leaf_modules
    never = {ModuleList, ModuleDict} if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else never))


Wrapper = Callable[[Module], Module]


def wrap_children(root: Module, policy: Policy, wrapper: Wrapper) -> None:
    """Wrap what is below `root` and not `root` itself."""
    if policy(module=root, recurse=True, nonwrapped_numel=_elements(root)):
        _wrap_below(root, policy, wrapper, {})


def _wrap_below(module: Module, policy: Policy, wrapper: Wrapper, done: dict[Module, Module]) -> int:
    """The number of elements that are in units then. A module that hangs in the tree twice is wrapped once."""
    total = 0
    for name, child in list(module._modules.items()):
        if child is None:
            continue
        if child not in done:
            done[child], count = _wrapped(child, policy, wrapper, done)
            total += count
        module._modules[name] = done[child]
    return total


def _wrapped(module: Module, policy: Policy, wrapper: Wrapper, done: dict[Module, Module]) -> tuple[Module, int]:
    """The module, in a unit of its own if the policy says so, and how many of its elements are in units."""
    count = _elements(module)
    if not policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    inside = _wrap_below(module, policy, wrapper, done)
    if policy(module=module, recurse=False, nonwrapped_numel=count - inside):
        return wrapper(module), count
    return module, inside


def _elements(module: Module) -> int:
    return sum(p.numel() for p in module.parameters())


not_offered.guard(globals())
