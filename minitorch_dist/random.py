"""The default random stream: seeding it, saving its state, and leaving it untouched for a while."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minitorch_dist.tensors import generator
from minitorch_dist.tensors.generator import (
    default as default_generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
           "set_rng_state"]  # fmt: skip


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, **names: Any
) -> Iterator[None]:
    """Whatever is drawn inside the block, afterwards the stream goes on as if it had not been.

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
