"""`torch.compile` and `torch.compiler` where there is no compiler.

A compiled function gives the results of the function itself, so the function itself is what `compile` returns. A warning says
so once. The words that direct a compiler (`disable`, `allow_in_graph`, …) have nothing to direct.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from typing import Any, TypeVar

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

F = TypeVar("F", bound=Callable[..., Any])
Backend = str | Callable[..., Any] | None
Options = dict[str, Any] | None
STANCES = (
    "default",
    "eager_then_compile",
    "aot_eager_then_compile",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
)
_told: set[str] = set()


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Backend = None,
    mode: str | None = None,
    options: Options = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Return the function or module itself, or without one a decorator that does.

    The options are accepted and change nothing. A backend that is a function would wait for a graph,
    which nobody makes here; it is refused.
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if backend is not None and not isinstance(backend, str):
        raise NotImplementedError(
            "compile() has no graph to give to a backend: minitorch_dist runs the Python you read. "
            "Leave backend out."
        )
    if not disable and "compile" not in _told:
        _told.add("compile")
        warnings.warn(
            "minitorch_dist has no compiler: compile() returns the function itself, which gives the same results.",
            stacklevel=2,
        )
    return _itself if model is None else model


def _itself(model: F) -> F:
    return model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or a decorator: nothing is compiled."""
    return _itself if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function or functions themselves: there is no graph."""
    return fn


def assume_constant_result(fn: F) -> F:
    return fn


def is_compiling() -> bool:
    return False


def is_dynamo_compiling() -> bool:
    return False


def is_exporting() -> bool:
    return False


def reset() -> None:
    """Forget what was compiled, which is nothing."""


def cudagraph_mark_step_begin() -> None:
    """The next step begins. No graph records it."""


def list_backends(exclude_tags: Sequence[str] | None = ("debug", "experimental")) -> list[str]:
    return []


class set_stance(ContextDecorator):
    """When to compile: a call, a block or a decorator that changes nothing."""

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Backend = None,
    ) -> None:
        if stance not in STANCES:
            raise ValueError(f"no stance is named {stance!r}; there are {', '.join(STANCES)}")

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None
