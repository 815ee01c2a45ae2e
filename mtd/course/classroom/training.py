"""Lesson 4's training, step by step, so that it can be stopped after any and go on elsewhere.

    course = Training(State.beginning())
    course.step(rank, size)              a share of the next batch; gradients go through DDP where there is a world
    course.state()                       the step, the weights and the speeds: all that the next step depends on

The script of lesson 4 is used as it is. It is exact: however many take part, and whoever leaves, after step n the
weights are those of one laptop alone, bit for bit; those of each 20th step are recorded in the lesson.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist.distributed.grad_bucket import GradBucket
from minitorch_dist.futures import Future
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import SGD
from minitorch_dist.tensors.autograd.grad_modes import no_grad
from minitorch_dist.tensors.core.base import Array
from mtd.course import lesson, worlds

LR, MOMENTUM = 0.125, 0.875  # the script's
STEPS: Final = 160
EVERY: Final = 20  # steps between two records
NUMBERS: Final = 97  # weights; there are as many speeds
FASTEST: Final = 1 << 16  # a step from any such speed, and any weights, leaves one within this, too
MAX_STATE: Final = 2 * NUMBERS * 16  # letters


class StateError(ValueError):
    """These are no weights of this training."""


class TrainingState(NamedTuple):
    """Weights and speeds after some steps, as they are kept and sent."""

    weights: Array
    speeds: Array

    def text(self) -> str:
        """Hexadecimal float64, little endian."""
        return np.concatenate([self.weights, self.speeds]).astype("<f8").tobytes().hex()

    @classmethod
    def of(cls, text: str) -> TrainingState:
        try:
            found = np.frombuffer(bytes.fromhex(text), "<f8").astype(np.float64)
        except ValueError:
            raise StateError("these weights are no hexadecimal float64") from None
        if len(found) != 2 * NUMBERS or not np.isfinite(found).all():
            raise StateError(f"{len(found)} numbers, or some that are none; {2 * NUMBERS} are wanted")
        state, largest = cls(found[:NUMBERS], found[NUMBERS:]), script().LARGEST
        if (np.abs(state.weights) > largest).any():
            raise StateError(f"a weight that no step leaves: none is above {largest}")
        if (np.abs(state.speeds) > FASTEST).any():
            raise StateError(f"a speed of {np.abs(state.speeds).max():.3g}, at most {FASTEST}")
        return state

    @classmethod
    def beginning(cls) -> TrainingState:
        return cls(_flat(script().network().parameters()), np.zeros(NUMBERS))

    @property
    def digest(self) -> str:
        """Of the weights alone, as the script prints it."""
        return digest(self.weights)


class Training:
    """One laptop's replica."""

    def __init__(self, state: TrainingState, step: int = 0, algorithm: str | None = None) -> None:
        made = script()
        self.made, self.step_number = made, step
        self.x, self.y = made.spirals()
        self.model = made.network()
        parameters = list(self.model.parameters())
        for p, weights in _divided(state.weights, parameters):
            p.array[...] = weights
        self.shared: Any = self.model
        if dist.is_initialized():
            self.shared = DistributedDataParallel(self.model)
            self.shared.register_comm_hook(None, _mean_by(algorithm))
        self.optimizer = SGD(self.shared.parameters(), lr=LR, momentum=MOMENTUM)
        for p, speeds in _divided(state.speeds, parameters) if step else ():
            self.optimizer.state[p]["momentum_buffer"] = p.detach().clone()
            self.optimizer.state[p]["momentum_buffer"].array[...] = speeds

    def step(self, rank: int, size: int) -> float:
        """Make the next step with this rank's share of its batch; the loss over all samples after it."""
        made, number = self.made, self.step_number
        first = number * made.BATCH % made.SAMPLES
        mine = slice(first + made.BATCH * rank // size, first + made.BATCH * (rank + 1) // size)
        self.optimizer.zero_grad()
        (made.loss_of(self.shared, self.x[mine], self.y[mine]) * size).backward()
        self.optimizer.step()
        # No golden weight is so large: this is for those that somebody made up.
        for p in self.model.parameters():
            p.array[...] = np.clip(p.array, -made.LARGEST, made.LARGEST)
        self.step_number += 1
        with no_grad():
            return float(made.loss_of(self.model, self.x, self.y).item())

    def state(self) -> TrainingState:
        parameters = list(self.model.parameters())
        speeds = [self.optimizer.state[p].get("momentum_buffer", p * 0) for p in parameters]
        return TrainingState(_flat(parameters), _flat(speeds))


def _mean_by(algorithm: str | None) -> Callable[[Any, GradBucket], Future[Any]]:
    """DDP's own way to average a bucket, by this algorithm."""

    def hook(state: Any, bucket: GradBucket) -> Future[Any]:
        total = dist.all_reduce(bucket.buffer(), async_op=True, algorithm=algorithm)
        assert total is not None, "it is asynchronous"
        return total.get_future().then(lambda done: done.value()[0].div_(dist.get_world_size()))

    return hook


@functools.cache
def script() -> ModuleType:
    """Lesson 4's train.py."""
    return worlds.module_of(str(lesson.find(4).folder / "train.py"))


@functools.cache
def golden() -> dict[int, str]:
    """The digest of the recorded weights after each 20th step."""
    record = json.loads((lesson.find(4).folder / "golden.json").read_text("utf-8"))
    return {EVERY * (n + 1): digest(weights) for n, weights in enumerate(record["weights"])}


def digest(weights: Array | list[float]) -> str:
    """As lesson 4's script makes it: of all bits of all weights."""
    return hashlib.sha256(np.array(weights, "<f8").tobytes()).hexdigest()[:16]


def _divided(numbers: Array, parameters: list[Any]) -> Iterator[tuple[Any, Array]]:
    """Each parameter with its part of these numbers, in its shape."""
    ends = np.cumsum([p.array.size for p in parameters])
    for p, part in zip(parameters, np.split(numbers, ends[:-1]), strict=True):
        yield p, part.reshape(p.array.shape)


def _flat(tensors: Any) -> Array:
    return np.concatenate([t.detach().numpy().reshape(-1) for t in tensors]).astype(np.float64)
