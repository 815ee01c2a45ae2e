"""The default random stream: seeding it, saving its state, and leaving it untouched for a while."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.tensors import generator
from minitorch_dist.tensors.generator import (
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)


def __getattr__(name: str) -> Any:
    """`default_generator` is that of whoever asks: each rank that is a thread has its own."""
    if name == "default_generator":
        return generator.current()
    raise not_offered.no_name(__name__, name)


__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, **names: Any
) -> Iterator[None]:
    """Numbers drawn inside the block do not count: afterwards the stream goes on where it was before.

    Simulated devices draw from the same stream, so `devices` changes nothing.
    """
    if not enabled:
        yield
        return
    here = generator.current()
    state = here.get_state()
    try:
        yield
    finally:
        here.set_state(state)
