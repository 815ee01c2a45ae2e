"""Calling a module: its hooks, and its `forward` between them.

    forward pre-hooks  hook(module, args)            may replace the arguments
    forward            module.forward(*args)
    forward hooks      hook(module, args, result)    may replace the result
    backward           see `backward_hooks`

A module without hooks costs one test per table before `forward` runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from minitorch_dist.nn.modules.backward_hooks import BackwardCall
from minitorch_dist.nn.modules.tree import ModuleTree
from minitorch_dist.tensors.autograd.hooks import Hooks, RemovableHandle
from minitorch_dist.tensors.core.base import TensorBase

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
_always_everywhere: set[int] = set()


class HasForward(Protocol[P, R]):
    """A module, to type checkers: calling it takes and returns what `forward` does."""

    @property
    def forward(self) -> Callable[P, R]: ...


class Hooked(ModuleTree):
    """A module that can be called and watched."""

    forward: Callable[..., Any]
    _forward_pre_hooks: Hooks
    _forward_hooks: Hooks
    _backward_hooks: Hooks
    _forward_pre_hooks_with_kwargs: set[int]
    _forward_hooks_with_kwargs: set[int]
    _forward_hooks_always_called: set[int]

    def __init__(self) -> None:
        super().__init__()
        self.__dict__.update(
            _forward_pre_hooks={},
            _forward_hooks={},
            _backward_hooks={},
            _forward_pre_hooks_with_kwargs=set(),
            _forward_hooks_with_kwargs=set(),
            _forward_hooks_always_called=set(),
        )

    def __call__(self: HasForward[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        module: Any = self
        if (
            module._forward_hooks
            or module._forward_pre_hooks
            or module._backward_hooks
            or _after_everywhere
            or _pre_everywhere
        ):
            return module._call_with_hooks(args, kwargs)  # type: ignore[no-any-return]
        return self.forward(*args, **kwargs)

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = None
        called: set[int] = set()
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            hooks = list(self._backward_hooks.values())
            call = BackwardCall(self, hooks) if hooks else None
            if call:
                args = call.enter(args)
            result = self.forward(*args, **kwargs)
            for number, hook in [*_after_everywhere.items(), *self._forward_hooks.items()]:
                called.add(number)
                replaced = self._run_hook(number, hook, args, kwargs, result)
                if replaced is not None:
                    result = replaced
            if call:
                if not isinstance(result, (TensorBase, tuple)):
                    warnings.warn(
                        "For backward hooks to be called, module output should be a Tensor or a "
                        f"tuple of Tensors but received {type(result)}",
                        stacklevel=3,
                    )
                result = call.leave(result)
            return result
        except Exception:
            self._run_always_called(called, args, kwargs, result)
            raise

    def _run_pre_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for number, hook in [*_pre_everywhere.items(), *self._forward_pre_hooks.items()]:
            if number in self._forward_pre_hooks_with_kwargs:
                replaced = hook(self, args, kwargs)
                if replaced is not None:
                    args, kwargs = replaced
            else:
                replaced = hook(self, args)
                if replaced is not None:
                    args = replaced if isinstance(replaced, tuple) else (replaced,)
        return args, kwargs

    def _run_hook(
        self, number: int, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        if number in self._forward_hooks_with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_always_called(
        self, called: set[int], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        """After an exception: the hooks that asked to be called in any case."""
        for number, hook in [*_after_everywhere.items(), *self._forward_hooks.items()]:
            always = number in self._forward_hooks_always_called or number in _always_everywhere
            if always and number not in called:
                try:
                    replaced = self._run_hook(number, hook, args, kwargs, result)
                    result = result if replaced is None else replaced
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}",
                        stacklevel=4,
                    )

    # --------------------------------------------------------------------------------- registering

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)` before every forward; its result replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)` and returns `(args, kwargs)`.
        """
        handle = RemovableHandle(self._forward_pre_hooks, hook, prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs.add(handle.id)
        return handle

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """`hook(module, args, result)` after every forward; its own result replaces that one.

        With `with_kwargs` it is `hook(module, args, kwargs, result)`; with `always_call` it is also
        called when forward raised.
        """
        handle = RemovableHandle(self._forward_hooks, hook, prepend)
        if with_kwargs:
            self._forward_hooks_with_kwargs.add(handle.id)
        if always_call:
            self._forward_hooks_always_called.add(handle.id)
        return handle

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """`hook(module, grad_input, grad_output)` when both are known; may replace grad_input.

        Both are tuples with an entry per positional argument and per output, None where there is
        no gradient. Inputs and outputs of the module must not be written to in place.
        """
        return RemovableHandle(self._backward_hooks, hook, prepend)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """As `Module.register_forward_pre_hook`, for every module there is or will be."""
    return RemovableHandle(_pre_everywhere, hook)


def register_module_forward_hook(hook: Hook, *, always_call: bool = False) -> RemovableHandle:
    handle = RemovableHandle(_after_everywhere, hook)
    if always_call:
        _always_everywhere.add(handle.id)
    return handle
