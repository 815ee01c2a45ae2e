"""Whether operations are being recorded: `no_grad`, `enable_grad`, `inference_mode`.

The mode belongs to the thread that sets it (see `core.grad_mode`). Each of the classes is a context
manager and a decorator. Of a generator it is entered and left around every item, so that a `yield` never
leaks the mode to the caller.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from typing import Any, ParamSpec, Self, TypeVar, overload

from minitorch_dist.tensors.core.grad_mode import INFERENCE, OFF, ON, current_mode, mode

set_mode = mode.set  # a name that is bound here is quicker than a method of an imported one

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    return current_mode() == ON


def is_inference_mode_enabled() -> bool:
    return current_mode() == INFERENCE


class _Mode(ContextDecorator):
    """Sets the mode on entry and restores it on exit; re-entrant.

    Within `inference_mode` nothing else changes it: `enable_grad` does not record there.
    """

    def __init__(self, value: int, leaves_inference: bool = False) -> None:
        self.value, self.leaves_inference = value, leaves_inference
        self._previous: list[int] = []

    def _set(self) -> None:
        if self.leaves_inference or current_mode() != INFERENCE:
            set_mode(self.value)

    def __enter__(self) -> None:
        self._previous.append(current_mode())
        self._set()

    def __exit__(self, *exc: object) -> None:
        set_mode(self._previous.pop())

    def __call__(self, func: F) -> F:
        if inspect.isgeneratorfunction(func):
            return _around_each_item(self._recreate_cm, func)  # type: ignore[no-any-return]
        return super().__call__(func)

    def _recreate_cm(self) -> Any:
        """A fresh one for each call, so that a decorated function may run in many threads."""
        return _Mode(self.value, self.leaves_inference)


def _around_each_item(fresh: Callable[[], _Mode], function: Callable[..., Any]) -> Any:
    """The generator computes each item in the mode, and its consumer is outside of it."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Iterator[Any]:
        items, end = function(*args, **kwargs), object()
        while True:
            with fresh():
                item = next(items, end)
            if item is end:
                return
            yield item

    return wrapped


class _Fixed(_Mode):
    """A mode of its own. It is a decorator with its call (`@no_grad()`) and without (`@no_grad`)."""

    fixed: int

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: Callable[P, R]) -> Callable[P, R]: ...  # type: ignore[misc]
    def __new__(cls, function: Callable[..., Any] | None = None) -> Any:
        if function is not None:
            return cls()(function)
        return super().__new__(cls)

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        super().__init__(self.fixed)


class no_grad(_Fixed):
    """Operations inside are not recorded. Results do not require grad.

    Args:
        function: As a decorator: the function whose operations are not recorded.

    Example:
        >>> x = torch.ones(1, requires_grad=True)
        >>> with torch.no_grad():
        ...     (x * 2).requires_grad
        False
    """

    fixed = OFF


class enable_grad(_Fixed):
    """Operations inside are recorded again, within a `no_grad` block."""

    fixed = ON


class set_grad_enabled(_Mode):
    """Takes effect at once, as a plain call; as a context manager it restores on exit."""

    def __init__(self, enabled: bool) -> None:
        super().__init__(ON if enabled else OFF)
        self._at_call = current_mode()
        self._set()

    def __enter__(self) -> None:
        self._previous.append(self._at_call)
        self._set()

    def __call__(self, func: F) -> F:
        set_mode(self._at_call)  # used as a decorator: the call itself changes nothing
        return super().__call__(func)


class inference_mode(_Mode):
    """`no_grad`, and the tensors made inside can never enter a graph later."""

    def __new__(cls, enabled: bool | Callable[..., Any] = True) -> Any:
        if callable(enabled):
            return cls()(enabled)
        return super().__new__(cls)

    def __init__(self, enabled: bool | Callable[..., Any] = True) -> None:
        super().__init__(INFERENCE if enabled else ON, leaves_inference=True)
