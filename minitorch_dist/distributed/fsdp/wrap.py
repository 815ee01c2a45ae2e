"""Which modules become units of their own: policies, and wrapping by them.

A policy is asked twice about each module. `policy(module, recurse=True, nonwrapped_numel=n)` says whether
to look at its children. With `recurse=False` it says whether the rest of the module becomes a unit: the
n elements in parameters that no child has wrapped. Children come first, so the outermost unit has the
parameters that the others left over.

Why it matters: a unit is gathered as a whole. One unit for all gathers the whole model at once, and
saves no memory in forward; one for each layer sends many small messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.nn.modules.attention import MultiheadAttention
from minitorch_dist.nn.modules.container import ModuleDict, ModuleList
from minitorch_dist.nn.modules.module import Module

Policy = Callable[..., bool]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    return True


class _Policy:
    """A policy that decides about the whole tree at once: for each module False, True, or options."""

    def chosen(self, root: Module, ignored: set[Module]) -> dict[Module, dict[str, Any]]:
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Every module of these classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._classes = tuple(set(module_classes))

    def chosen(self, root: Module, ignored: set[Module]) -> dict[Module, dict[str, Any]]:
        return {m: {} for m in root.modules() if isinstance(m, self._classes) and m not in ignored}

    def __call__(self, module: Module, recurse: bool, nonwrapped_numel: int = -1, **_: Any) -> bool:
        return recurse or isinstance(module, self._classes)

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({', '.join(sorted(c.__name__ for c in self._classes))})"


class CustomPolicy(_Policy):
    """`decide(module)` says False, True, or a dict of options for this module's unit."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._decide = lambda_fn

    def chosen(self, root: Module, ignored: set[Module]) -> dict[Module, dict[str, Any]]:
        found: dict[Module, dict[str, Any]] = {}
        for module in root.modules():
            if module in ignored:
                continue
            answer = self._decide(module)
            if not isinstance(answer, (bool, dict)):
                raise ValueError(
                    "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                    f"but it returned {answer!r} for {type(module).__name__}"
                )
            if answer is not False:
                found[module] = answer if isinstance(answer, dict) else {}
        return found


def _module_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type[Module]]
) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def transformer_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    transformer_layer_cls: set[type[Module]],
) -> bool:
    """The layers of a transformer, given by class."""
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    return recurse or lambda_fn(module)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = 100_000_000,
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Modules that have at least `min_num_params` elements which are in no unit yet."""
    leaves = FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules
    never = EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    large = nonwrapped_numel >= min_num_params
    return large and not isinstance(module, tuple(leaves if recurse else never))


FORCE_LEAF_MODULES: set[type[Module]] = {MultiheadAttention}
EXCLUDE_WRAP_MODULES: set[type[Module]] = {ModuleList, ModuleDict}
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = FORCE_LEAF_MODULES  # type: ignore[attr-defined]
size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = EXCLUDE_WRAP_MODULES  # type: ignore[attr-defined]


def _or_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, policies: Iterable[Policy]
) -> bool:
    return any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel)
        for policy in policies
    )


# ------------------------------------------------------------------------------------ by hand: wrap

_wrapping: ContextVar[tuple[Callable[..., Module], dict[str, Any]] | None] = ContextVar(
    "enable_wrap", default=None
)


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside, `wrap(module)` wraps; outside it returns the module as it is."""
    token = _wrapping.set((wrapper_cls, wrapper_kwargs))
    try:
        yield
    finally:
        _wrapping.reset(token)


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap `module` as the surrounding `enable_wrap` says."""
    active = _wrapping.get()
    if active is None:
        return module
    wrapper, options = active
    return wrapper(module, **{**options, **wrap_overrides})


# ------------------------------------------------------------------------------- by policy: the tree


def wrap_children(
    root: Module,
    policy: Policy | _Policy,
    wrapper: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Any],
) -> None:
    """Wrap what is below `root` and not `root` itself: `wrapper(module, **options)`."""
    if isinstance(policy, _Policy):
        chosen = policy.chosen(root, ignored_modules)
        chosen.pop(root, None)
        _wrap_chosen(root, chosen, wrapper, {})
    else:
        _recursive_wrap(root, policy, wrapper, ignored_modules, ignored_params, True)


def _wrap_chosen(
    module: Module,
    chosen: dict[Module, dict[str, Any]],
    wrapper: Callable[..., Module],
    done: dict[Module, Module],
) -> None:
    for name, child in list(module._modules.items()):
        if child is None:
            continue
        if child not in done:  # a module that hangs in the tree twice is wrapped once
            _wrap_chosen(child, chosen, wrapper, done)
            done[child] = wrapper(child, **chosen[child]) if child in chosen else child
        module._modules[name] = done[child]


def _recursive_wrap(
    module: Module,
    auto_wrap_policy: Policy,
    wrapper_cls: Callable[..., Module],
    ignored_modules: set[Module],
    ignored_params: set[Any],
    only_wrap_children: bool = False,
    **kwargs: Any,
) -> tuple[Module, int]:
    """The module, wrapped if the policy says so, and how many elements are in units now."""
    count = sum(p.numel() for p in module.parameters() if p not in ignored_params)
    if not auto_wrap_policy(module=module, recurse=True, nonwrapped_numel=count):
        return module, 0
    wrapped = 0
    for name, child in list(module._modules.items()):
        if child is None or child in ignored_modules:
            continue
        new, number = _recursive_wrap(
            child, auto_wrap_policy, wrapper_cls, ignored_modules, ignored_params, **kwargs
        )
        module._modules[name] = new
        wrapped += number
    if not only_wrap_children and auto_wrap_policy(
        module=module, recurse=False, nonwrapped_numel=count - wrapped
    ):
        return wrapper_cls(module, **kwargs), count
    return module, wrapped


not_offered.guard(globals())
