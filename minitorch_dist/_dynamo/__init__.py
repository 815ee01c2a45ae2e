"""torch._dynamo, as far as programs name it: what directs a compiler has nothing to direct, and functions stay what they are.

`_dynamo.config` takes any setting. Names that ask for a graph say that there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist._dynamo import config as config
from minitorch_dist.absent import absent
from minitorch_dist.compiler import (
    allow_in_graph as allow_in_graph,
    assume_constant_result as assume_constant_result,
    disable as disable,
    is_dynamo_compiling as is_compiling,
    list_backends as list_backends,
    reset as reset,
)

__all__ = ["is_compiling"]

__getattr__ = absent(
    "_dynamo",
    "OptimizedModule explain export forbid_in_graph register_backend run substitute_in_graph",
    "Nothing is compiled here, so there is no graph: call the function or the module as it is.",
)


def optimize(backend: Any = "inductor", *, nopython: bool = False, **options: Any) -> Callable[[Any], Any]:  # fmt: skip
    """A decorator that gives back what it got."""
    return disable()  # type: ignore[no-any-return]


def graph_break(msg: str = "") -> None:
    """There is no graph that could break."""


def mark_dynamic(t: Any, index: Any, *, hint_override: Any = None, min: Any = None, max: Any = None, specialize_on: Any = None) -> None:  # fmt: skip
    """Sizes may differ from call to call, here always."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """As `mark_dynamic`."""


def mark_static(t: Any, index: Any = None) -> None:
    """Sizes stay the same, as far as anybody asks."""


def mark_static_address(t: Any, guard: bool = False) -> None:
    """The memory stays where it is."""
