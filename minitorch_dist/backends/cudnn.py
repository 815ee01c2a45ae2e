"""cuDNN's switches. They may be set and change nothing: there is one algorithm per operation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__path__: list[str] = []  # its modules in torch are not here (see not_offered)

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True
benchmark_limit: int | None = None


def is_available() -> bool:
    return False


def version() -> int | None:
    return None


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
) -> Iterator[None]:
    """The switches, set for the length of a block."""
    here = globals()
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    chosen = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    before = {name: here[name] for name in names}
    here.update(zip(names, chosen, strict=True))
    try:
        yield
    finally:
        here.update(before)
