"""Where random numbers come from: a counter-based generator, one stream per seed, the same everywhere.

Philox-4x64 (Salmon et al. 2011, doi:10.1145/2063384.2063405) encrypts a counter with the seed as its
key. Block number n of a stream is a function of (seed, n), four 64-bit words at a time. So the whole
state is two integers, and a stream can be continued from any place. numpy computes the words.
`distributions` makes numbers of them, with exact arithmetic only. The numbers are not torch's.
"""

from __future__ import annotations

import os
import struct
from contextvars import ContextVar
from threading import Lock  # noqa: TID251 - guards one counter; nothing waits in here
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import devices
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase

DEFAULT_SEED: Final = 67280421310721  # of a Generator that was not seeded; torch's choice
_STATE: Final = struct.Struct("<QQ")  # seed, blocks drawn
_drawn: set[int] = set()  # seeds that came from the operating system


class Generator:
    """A stream of random words. Drawing from it is thread-safe."""

    def __init__(self, device: devices.device | str | int = "cpu") -> None:
        self.device = devices.resolve(device)
        if self.device is devices.META:
            raise RuntimeError("META device type not an accelerator.")
        self._lock = Lock()
        self._restart(DEFAULT_SEED, 0)

    def _restart(self, seed: int, blocks: int) -> None:
        self._seed, self._blocks = seed, blocks
        self._philox: np.random.Philox | None = None  # made when the first word is drawn

    def words(self, count: int) -> Array:
        """The next `count` words of 64 random bits. A block that is begun is used up."""
        blocks = -(-count // 4)
        with self._lock:
            philox = self._philox
            if philox is None:
                philox = self._philox = np.random.Philox(key=self._seed, counter=self._blocks)
            self._blocks += blocks
            words: Array = philox.random_raw(4 * blocks)
        return words[:count]

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`. Negative seeds count down from 2⁶⁴."""
        if not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: seed {seed} has over 64 bits")
        with self._lock:
            self._restart(int(seed) % 2**64, 0)
        return self

    def seed(self) -> int:
        """Start a stream that nobody knows, and say which."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        _drawn.add(self._seed)
        return self._seed

    @property
    def is_chosen(self) -> bool:
        """Whether the program chose this stream: its seed did not come from the operating system."""
        return self._seed not in _drawn

    def initial_seed(self) -> int:
        return self._seed

    def get_state(self) -> Any:
        """A uint8 tensor from which `set_state` continues the stream."""
        with self._lock:
            state = _STATE.pack(self._seed, self._blocks)
        return base.new(TensorBase.plain, np.frombuffer(state, np.uint8).copy())

    def set_state(self, state: TensorBase) -> Generator:
        if not isinstance(state, TensorBase) or state.array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.array.size != _STATE.size:
            raise RuntimeError(
                f"a state has {_STATE.size} bytes, and this {state.array.size}: torch's states are others"
            )
        with self._lock:
            self._restart(*_STATE.unpack(state.array.tobytes()))
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same place of the same stream."""
        made = Generator(self.device)
        with self._lock:
            made._restart(self._seed, self._blocks)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (str(self.device), self._seed, self._blocks))


def _restored(device: str, seed: int, blocks: int) -> Generator:
    made = Generator(device)
    made._restart(seed, blocks)
    return made


# ------------------------------------------------------------------------------ the default generator

default: Final = Generator()
default.seed()

_current: ContextVar[Generator] = ContextVar("generator", default=default)


def current() -> Generator:
    """The generator used where none is named: the process's, or that of a rank which is a thread."""
    return _current.get()


def install(generator: Generator) -> None:
    """Give this thread (and what it starts with its context) a default generator of its own."""
    _current.set(generator)


def manual_seed(seed: int | float) -> Generator:
    """Seed the default generator.

    Args:
        seed: A number; the same one gives the same random numbers.

    Returns:
        The generator.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> first = torch.rand(3)
        >>> _ = torch.manual_seed(0)
        >>> torch.equal(first, torch.rand(3))
        True
    """
    return current().manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator from the operating system, and return the seed."""
    return current().seed()


def initial_seed() -> int:
    """The seed that the default generator was last given."""
    return current().initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator, as a uint8 tensor."""
    return current().get_state()


def set_rng_state(new_state: TensorBase) -> None:
    """Continue from a state that `get_rng_state` returned."""
    current().set_state(new_state)
