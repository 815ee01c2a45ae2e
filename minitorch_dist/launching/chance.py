"""Chance, for simulated ranks: each has generators of its own, as a process has, and they follow the
seed of the run."""

from __future__ import annotations

import random  # noqa: TID251 - to be replaced
import tempfile
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.random import mtrand

from minitorch_dist.distributed import world
from minitorch_dist.tensors import generator
from transports.virtual.clock import VirtualClock

_seed_of_its_class = random.Random.seed


def octets(count: int) -> bytes:
    drawn = _generator("urandom", lambda: random.Random(seed_for("urandom")))
    return drawn.randbytes(count)  # type: ignore[no-any-return]


def getrandom(count: int, flags: int = 0) -> bytes:
    return octets(count)


def draw(module: str, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call the method of this rank's own generator."""
    make = random.Random if module == "random" else np.random.RandomState
    own = _generator(module, lambda: make(seed_for(module) % 2**32))
    return getattr(own, name)(*args, **kwargs)


def reseed(generator: random.Random) -> None:
    """Seed a generator that was given no seed: in a simulation from the rank's chance."""
    _seed_of_its_class(generator, int.from_bytes(octets(32), "big"))


def candidate_names() -> Any:
    """For temporary files: names of this rank's own."""
    return _generator("tempfile", tempfile._RandomNameSequence)  # type: ignore[attr-defined]


def stream(of: generator.Generator) -> generator.Generator:
    """The default generator with which this rank begins: a copy of the caller's, where the program
    has chosen that; else one of the rank's own, that follows the run's seed."""
    if of.is_chosen:
        return of.clone_state()
    return generator.Generator().manual_seed(seed_for("tensors"))


def states() -> tuple[Any, Any]:
    """Of the process's own generators."""
    state: Any = mtrand._rand.get_state()
    return random.getstate(), (state[1].tobytes(), *state[2:])


def seed_for(what: str) -> int:
    """A number that belongs to this run, this rank and this purpose."""
    here = world.place()
    seed = here.clock.chance_seed if isinstance(here.clock, VirtualClock) else 0
    key = f"{seed} {here.given.get('rank')} {what}".encode()
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big")


def _generator(name: str, make: Callable[[], Any]) -> Any:
    given = world.place().given
    found = given.get(f"generator of {name}")
    if found is None:
        found = given[f"generator of {name}"] = make()
    return found
