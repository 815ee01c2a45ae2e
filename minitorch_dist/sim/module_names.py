"""The modules that an operation belongs to: those being called, and backwards those in which it was recorded.

Each thread has its own modules. A module is named as PyTorch names it: the class of the outermost module that was
called, and the attributes from there, such as `Sequential.0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from minitorch_dist.nn.modules import hooks
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.graph import Node

Names = tuple[str, ...]  # the outermost first


class ModuleNames:
    """`thread` tells the calling thread, or None for one that is of no concern."""

    def __init__(self, thread: Callable[[], Any]) -> None:
        self._thread = thread
        self._called: dict[Any, list[str]] = {}
        self._names: WeakKeyDictionary[Module, str] = WeakKeyDictionary()
        self._recorded: WeakKeyDictionary[Node, Names] = WeakKeyDictionary()

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Modules and nodes are followed inside."""
        remember = self._remember
        with ExitStack() as stack:
            stack.callback(hooks.register_module_forward_pre_hook(self._enter).remove)
            after = hooks.register_module_forward_hook(self._leave, always_call=True)
            stack.callback(after.remove)
            observers.nodes.listen_everywhere(remember, True)
            stack.callback(observers.nodes.listen_everywhere, remember, False)
            yield

    def now(self) -> Names:
        """The modules that the calling thread is in."""
        return tuple(self._called.get(self._thread(), ()))

    def known(self, module: Module) -> str:
        """The name of a module, if it was called or is in one that was."""
        return self._names.get(module, "")

    def of(self, node: Node) -> Names:
        """The modules in which a node was recorded."""
        return self._recorded.get(node, ())

    def _remember(self, node: Node) -> None:
        called = self._called.get(self._thread())
        if called:
            self._recorded[node] = tuple(called)

    def _enter(self, module: Module, _: Any) -> None:
        thread = self._thread()
        if thread is not None:
            called = self._called.setdefault(thread, [])
            called.append(self._name(module))

    def _leave(self, module: Module, *_: Any) -> None:
        called = self._called.get(self._thread())
        if called:
            called.pop()

    def _name(self, module: Module) -> str:
        if module not in self._names:
            root = type(module).__name__
            for path, inner in module.named_modules():
                self._names.setdefault(inner, f"{root}.{path}" if path else root)
        return self._names[module]

    def __repr__(self) -> str:
        return f"<ModuleNames: {len(self._names)} modules>"
