"""The default random stream: seeding it, and saving its state."""

from __future__ import annotations

from typing import Any

from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import generator
from minitorch_dist.tensors.generator import (
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
)

__path__: list[str] = []  # so that `from` asks `__getattr__`, too


def __getattr__(name: str) -> Any:
    """`default_generator` is that of whoever asks: each rank that is a thread has its own."""
    if name == "default_generator":
        return generator.current()
    raise not_offered.no_name(__name__, name)


__all__ = ["get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]
