"""A handle that takes a registered hook out again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

Hooks = dict[int, Callable[..., Any]]


class RemovableHandle:
    """Returned by every `register_…hook`; `remove()` it, or use it as a context manager."""

    _ids = itertools.count()

    def __init__(self, hooks: Hooks, hook: Callable[..., Any], first: bool = False) -> None:
        self.id = next(self._ids)
        self._hooks = hooks
        if first:
            others = dict(hooks)
            hooks.clear()
            hooks[self.id] = hook
            hooks.update(others)
        else:
            hooks[self.id] = hook

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()
