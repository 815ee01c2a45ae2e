"""Names that a function does not write itself: of functions that are made, and of arguments that torch knows by several."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def named(function: Callable[P, R], name: str, words: str) -> Callable[P, R]:
    """`function` under the name by which tracebacks and profiles know it, with its docstring."""
    made = cast(FunctionType, function)
    made.__name__ = made.__qualname__ = name
    made.__code__ = made.__code__.replace(co_name=name, co_qualname=name)
    made.__doc__ = words
    return function


def also_called(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a keyword stand for another: `@also_called(sections="indices_or_sections")`."""

    def with_names(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def renamed(*args: P.args, **kwargs: P.kwargs) -> R:
            if kwargs:
                for other in names.keys() & kwargs.keys():
                    kwargs[names[other]] = kwargs.pop(other)
            return function(*args, **kwargs)

        renamed.also_called = names  # type: ignore[attr-defined]
        return renamed

    return with_names
