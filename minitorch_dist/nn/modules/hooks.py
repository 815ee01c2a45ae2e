"""Calling a module: its hooks, and its `forward` between them.

    forward pre-hooks  hook(module, args)            may replace the arguments
    forward            module.forward(*args)
    forward hooks      hook(module, args, result)    may replace the result

A module without hooks costs one test per table before `forward` runs. Gradients are watched at tensors
(`Tensor.register_hook`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from minitorch_dist.nn.modules.tree import ModuleTree
from minitorch_dist.tensors.autograd.hooks import Hooks, RemovableHandle

Hook = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R", covariant=True)
if TYPE_CHECKING:
    from typing_extensions import TypeVar as WithDefault

    Output = WithDefault("Output", default=Any)  # what a wrapped module returns; it need not be written
else:
    Output = TypeVar("Output")

# Hooks of every module.
_pre_everywhere: Hooks = {}
_after_everywhere: Hooks = {}


class HasForward(Protocol[P, R]):
    """A module, to type checkers: calling it takes and returns what `forward` does."""

    @property
    def forward(self) -> Callable[P, R]: ...


@dataclass(frozen=True)
class ModuleHook:
    """A hook, and how it wants to be called."""

    function: Hook
    with_kwargs: bool = False
    always: bool = False  # also where `forward` raised

    def __call__(self, module: Hooked, args: tuple[Any, ...], kwargs: dict[str, Any], *result: Any) -> Any:
        given = (args, kwargs) if self.with_kwargs else (args,)
        return self.function(module, *given, *result)


class Hooked(ModuleTree):
    """A module that can be called and watched."""

    forward: Callable[..., Any]
    _forward_pre_hooks: Hooks
    _forward_hooks: Hooks

    def __init__(self) -> None:
        super().__init__()
        self.__dict__.update(_forward_pre_hooks={}, _forward_hooks={})

    def __call__(self: HasForward[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        module: Any = self
        if module._forward_hooks or module._forward_pre_hooks or _after_everywhere or _pre_everywhere:
            return module._call_with_hooks(args, kwargs)  # type: ignore[no-any-return]
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = None
        after: list[Any] = [*_after_everywhere.values(), *self._forward_hooks.values()]
        try:
            for before in [*_pre_everywhere.values(), *self._forward_pre_hooks.values()]:
                replaced = before(self, args, kwargs)
                if replaced is not None and before.with_kwargs:  # type: ignore[attr-defined]
                    args, kwargs = replaced
                elif replaced is not None:
                    args = replaced if isinstance(replaced, tuple) else (replaced,)
            result = self.forward(*args, **kwargs)
            while after:
                replaced = after.pop(0)(self, args, kwargs, result)
                result = result if replaced is None else replaced
            return result
        except Exception:
            for hook in after:
                if hook.always:
                    result = self._run_after_error(hook, args, kwargs, result)
            raise

    def _run_after_error(self, hook: ModuleHook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        try:
            replaced = hook(self, args, kwargs, result)
        except Exception as error:
            warnings.warn(f"a hook that is always called raised after forward had raised: {error}", stacklevel=4)
            return result
        return result if replaced is None else replaced

    # --------------------------------------------------------------------------------- registering

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` before every forward; its result replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)` and returns `(args, kwargs)`.
        """
        return RemovableHandle(self._forward_pre_hooks, ModuleHook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """`hook(module, args, result)` after every forward; its own result replaces that one.

        With `with_kwargs` it is `hook(module, args, kwargs, result)`; with `always_call` it is also
        called when forward raised.
        """
        return RemovableHandle(self._forward_hooks, ModuleHook(hook, with_kwargs, always_call), prepend)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """As `Module.register_forward_pre_hook`, for every module there is or will be."""
    return RemovableHandle(_pre_everywhere, ModuleHook(hook))


def register_module_forward_hook(hook: Hook, *, always_call: bool = False) -> RemovableHandle:
    return RemovableHandle(_after_everywhere, ModuleHook(hook, always=always_call))
