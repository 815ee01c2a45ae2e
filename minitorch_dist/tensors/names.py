"""Arguments that torch knows by several names: in a function and in a method, in a room and at the top."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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
