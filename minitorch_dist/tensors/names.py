"""The names of functions that are made and not written."""

from __future__ import annotations

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
