"""Random numbers on simulated devices: they come from the default stream, like all others.

So seeding a device seeds the default stream; where there are no devices it does nothing, as in
torch, and asking for a state raises.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minitorch_dist.cuda.current import index_of
from minitorch_dist.tensors import devices, generator
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.devices import device as Device


def manual_seed(seed: int) -> None:
    if devices.count():
        generator.manual_seed(seed)


manual_seed_all = manual_seed


def get_rng_state(device: Device | str | int = "cuda") -> Any:
    index_of(device)
    return generator.get_rng_state()


def set_rng_state(new_state: TensorBase, device: Device | str | int = "cuda") -> None:
    index_of(device)
    generator.set_rng_state(new_state)


def get_rng_state_all() -> list[Any]:
    return [get_rng_state(index) for index in range(devices.count())]


def set_rng_state_all(new_states: Iterable[TensorBase]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
