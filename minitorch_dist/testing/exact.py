"""Exact mode: a training set-up in which every sum of gradients is exact, so that `==` is the test.

Floating sums depend on their order, and ranks add in another order than one process does. A test of
distributed training therefore usually needs a tolerance, in which a sample that was dropped or counted
twice can hide. Here all numbers are small multiples of powers of two:

    inputs, targets    multiples of 2⁻⁴, at most 1 in size
    weights            multiples of 2⁻⁸, at most 2 (after each step they are rounded to such)
    model              one hidden layer, ReLU, squared error summed over the samples, times 2⁻ᵏ

    a product x·w is a multiple of 2⁻¹², an error y - t of 2⁻²⁰, a gradient of 2⁻³², and all are
    below 2²⁰ for some thousand samples: 52 bits, which float64 holds

So no gradient rounds, and the order of addition does not matter. P ranks end with the weights of one rank
bit for bit, however the samples are divided among them. (`bits` measures how many were needed.)

The rounding of the weights would hide a wrong gradient that moves a weight by less than half of 2⁻⁸. So weights
are compared as they are *before* it: `watched` keeps what each `snap` has found.

    samples, model = exact.data(37), exact.Model()
    ddp = DistributedDataParallel(model)
    optimizer = SGD(ddp.parameters(), lr=exact.RATE)
    exact.step(ddp, optimizer, samples.shares(world_size)[rank], ranks=world_size)
    exact.same(exact.weights(model), those of one rank that took all samples)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import numpy as np

from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.tensor import Tensor

INPUT_GRID: Final = 2.0**-4
WEIGHT_GRID: Final = 2.0**-8
BOUND: Final = 2.0  # of the weights
RATE: Final = 2.0**-2

_watching: ContextVar[list[list[Array]] | None] = ContextVar("watching", default=None)


class Data(NamedTuple):
    """Points on two spirals, and +1 or -1."""

    x: Tensor
    y: Tensor

    def part(self, start: int, stop: int) -> Data:
        """Some of the samples; may be none."""
        return Data(self.x[start:stop], self.y[start:stop])

    def shares(self, size: int) -> list[Data]:
        """All samples in `size` consecutive parts, which differ by at most one sample."""
        ends = [self.samples * rank // size for rank in range(size + 1)]
        return [self.part(a, b) for a, b in itertools.pairwise(ends)]

    @property
    def samples(self) -> int:
        return len(self.x.array)


def data(count: int = 37, seed: int = 0) -> Data:
    """`count` samples on the grid."""
    random = np.random.Generator(np.random.PCG64(seed))
    angle = random.integers(0, 256, count) / 256 * 3 * np.pi
    side = random.integers(0, 2, count) * 2 - 1
    radius = side * angle / (3 * np.pi)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return Data(_tensor(_snapped(points, INPUT_GRID)), _tensor(side[:, None].astype(np.float64)))


class Model(Module):
    """2 inputs, one hidden layer of ReLUs, 1 output; weights on the grid from the start."""

    def __init__(self, hidden: int = 16, seed: int = 1) -> None:
        super().__init__()
        random = np.random.Generator(np.random.PCG64(seed))
        shapes = {"w1": (2, hidden), "b1": (hidden,), "w2": (hidden, 1), "b2": (1,)}
        for name, shape in shapes.items():
            values = random.integers(-256, 257, shape) * WEIGHT_GRID
            setattr(self, name, Parameter(_tensor(values.astype(np.float64))))

    def forward(self, x: Tensor) -> Any:
        hidden = (x @ self.w1 + self.b1).relu()
        return hidden @ self.w2 + self.b2


def loss(output: Tensor, target: Tensor, scale: float = 2.0**-5) -> Any:
    """The squared error, summed: each rank's share adds up to the whole.

    `scale` is a power of two. Where gradients are averaged over P ranks, multiply the loss by P:
    dividing by P then gives the sum back exactly, because division is correctly rounded.
    """
    error = output - target
    return (error * error).sum() * scale


def snap(parameters: Iterable[TensorBase]) -> None:
    """Round the weights to their grid, as after every step, and keep them bounded."""
    parameters, watching = list(parameters), _watching.get()
    if watching is not None:
        watching.append([p.array.copy() for p in parameters])
    for p in parameters:
        p.array[...] = rounded(p.array)
        p.storage.version += 1


def rounded(values: Array) -> Array:
    """These weights, on the grid and bounded."""
    return np.clip(_snapped(values, WEIGHT_GRID), -BOUND, BOUND)


@contextmanager
def watched() -> Iterator[list[list[Array]]]:
    """The weights that each `snap` of this thread finds in the block, before it rounds them: a list for each call.

    They have all bits of the step's gradients, which rounded weights have not.
    """
    found: list[list[Array]] = []
    token = _watching.set(found)
    try:
        yield found
    finally:
        _watching.reset(token)


def step(model: Module, optimizer: Any, samples: Data, ranks: int = 1, scale: float = 2.0**-5) -> None:
    """One step of training on these samples; `ranks` are averaged over."""
    optimizer.zero_grad()
    (loss(model(samples.x), samples.y, scale) * float(ranks)).backward()
    optimizer.step()
    snap(model.parameters())


def weights(model: Module) -> list[Array]:
    """A copy of all parameters."""
    return [p.array.copy() for p in model.parameters()]


def same(left: Sequence[Array], right: Sequence[Array]) -> bool:
    """Whether these are equal, bit for bit."""
    return len(left) == len(right) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(left, right, strict=True)
    )


def bits(parameters: Iterable[TensorBase]) -> int:
    """How many bits the widest gradient sum needs, from its largest value down to the grid on which all
    gradients lie. Below 53 all was exact."""
    widest = 0
    for p in parameters:
        grad = np.zeros(1) if p._grad is None else np.asarray(p._grad.array, np.float64)
        largest = float(np.abs(grad).max(initial=0.0))
        if largest:
            widest = max(widest, int(np.floor(np.log2(largest))) + 1 - _lowest_bit(grad))
    return widest


def _lowest_bit(values: Array) -> int:
    """The exponent of the last bit that any of the values has."""
    found = 1024
    for value in values.reshape(-1).tolist():
        if value:
            numerator, denominator = value.as_integer_ratio()
            low = (numerator & -numerator).bit_length() - 1
            found = min(found, low - (denominator.bit_length() - 1))
    return found


def _snapped(values: Array, grid: float) -> Array:
    return np.asarray(np.rint(values / grid) * grid)


def _tensor(array: Array) -> Tensor:
    return base.new(Tensor, array)
