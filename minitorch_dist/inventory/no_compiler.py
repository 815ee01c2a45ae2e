"""`torch.compile` where there is no compiler.

A compiled function gives the results of the function itself, so the function itself is what `compile` returns. A warning says
so once. `disable` has nothing to direct.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return the function or module itself, or without one a decorator that does.

    The options are accepted and change nothing. A backend that is a function would wait for a graph,
    which nobody makes here; it is refused.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if callable(backend):
        raise NotImplementedError(
            "compile() has no graph to give to a backend: minitorch_dist runs the Python you read. Leave backend out."
        )
    if not disable:
        _tell_once()
    return _itself if model is None else model


@cache
def _tell_once() -> None:
    warnings.warn(
        "minitorch_dist has no compiler: compile() returns the function itself, which gives the same results.",
        stacklevel=3,
    )


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or a decorator: nothing is compiled."""
    return _itself if fn is None else fn


def _itself(model: Any) -> Any:
    return model


def is_compiling() -> bool:
    return False


def reset() -> None:
    """Forget what was compiled, which is nothing."""
