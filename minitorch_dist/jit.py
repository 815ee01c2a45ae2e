"""torch.jit without a compiler: a function or module stays what it is, and that is told once.

Saved programs (`jit.save`, `jit.load`) are not offered; their names say so when they are called.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final as Final, TypeVar

from minitorch_dist.absent import absent

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

Own = TypeVar("Own")

__getattr__ = absent(
    "jit",
    "Attribute CompilationUnit Future ScriptFunction ScriptModule fork isinstance load save wait",
    "Here a model runs as it is written. Save its weights with `save(model.state_dict(), …)`.",
)


@cache
def _tell_once() -> None:
    warnings.warn(
        "nothing is compiled here: torch.jit gives back the function or module itself",
        stacklevel=3,
    )


def script(
    obj: Own,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Own:
    _tell_once()
    return obj


def trace(func: Own, example_inputs: Any = None, *args: Any, **options: Any) -> Own:
    """The function itself; it is not run with the example."""
    _tell_once()
    return func


def trace_module(mod: Own, inputs: dict[str, Any], *args: Any, **options: Any) -> Own:
    _tell_once()
    return mod


def freeze(
    mod: Own, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> Own:
    _tell_once()
    return mod


def optimize_for_inference(mod: Own, other_methods: list[str] | None = None) -> Own:
    _tell_once()
    return mod


# --------------------------------------------------- notes to a compiler, which need no warning


def ignore(drop: Any = False, **options: Any) -> Any:
    """`@ignore` and `@ignore(drop=True)`: the method stays as it is."""
    return drop if callable(drop) else lambda fn: fn


def export(fn: Own) -> Own:
    return fn


def unused(fn: Own) -> Own:
    return fn


def interface(obj: Own) -> Own:
    return obj


def script_method(fn: Own) -> Own:
    return fn


def script_if_tracing(fn: Own) -> Own:
    return fn


def annotate(the_type: Any, the_value: Own) -> Own:
    return the_value


def is_scripting() -> bool:
    return False


def is_tracing() -> bool:
    return False


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    yield


@contextmanager
def fuser(name: str) -> Iterator[None]:
    yield
