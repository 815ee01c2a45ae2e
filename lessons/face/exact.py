"""The digits, and a model for them that is trained without rounding, so that `==` is the test.

Sums of floats depend on their order, and ranks add in another order than one process does. Here all numbers are
small multiples of powers of two: inputs of 1/16, and weights of 1/256, to which a layer rounds a copy of its own. There is
one hidden layer, and the loss is a squared error: every sum of gradients fits into the 53 bits of a float64. So any
number of ranks ends with the weights of one rank, bit for bit. The weights themselves are never rounded, so nothing
hides there: they keep all digits of all steps.
"""

import hashlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from . import nn, tensors
from .tensors import Tensor

RATE, MOMENTUM = 0.125, 0.75
SCALE = 2.0**-6  # of the loss
BATCH, HIDDEN, BOUND = 48, 24, 2.0


class Data(NamedTuple):
    """Pictures of 8 × 8 numbers from 0 to 15/16, and for each a row with a 1 at its digit."""

    x: Tensor
    y: Tensor

    def share(self, rank, size):
        """The part of rank `rank`; parts differ by at most one sample."""
        begin, end = (len(self.x) * part // size for part in (rank, rank + 1))
        return Data(self.x[begin:end], self.y[begin:end])


def digits():
    """240 pictures, each a line of a file: which digit it is, and 64 hexadecimal digits of ink."""
    lines = (Path(__file__).parent / "digits.txt").read_text("utf-8").split("\n")[:-1]
    ink = np.array([[int(letter, 16) for letter in line[2:]] for line in lines]) / 16
    return Data(Tensor(ink), Tensor(np.eye(10)[[int(line[0]) for line in lines]]))


def batch(data, step):
    """The samples of a step, the same on all ranks."""
    begin = step * BATCH % len(data.x)
    return Data(data.x[begin : begin + BATCH], data.y[begin : begin + BATCH])


class Linear(nn.Linear):
    """Computes with its weights rounded to multiples of 1/256. The weights stay as they are."""

    def forward(self, x):
        return x @ rounded(self.weight).T + rounded(self.bias)


def rounded(weights):
    """To multiples of 1/256, and small. Its gradient is handed on as if nothing had been rounded."""
    near = np.clip(np.rint(weights.array * 256) / 256, -BOUND, BOUND)
    return weights + Tensor(near - weights.array)


def layers(hidden=HIDDEN, seed=1):
    """The layers of the model."""
    random = np.random.default_rng(seed)

    def linear(inputs, outputs):
        weight, bias = (
            random.integers(-48, 49, shape) / 256 for shape in ((outputs, inputs), (outputs,))
        )
        return Linear(Tensor(weight), Tensor(bias))

    return [linear(64, hidden), nn.ReLU(), linear(hidden, 10)]


def Model(hidden=HIDDEN, seed=1):
    return nn.Sequential(*layers(hidden, seed))


def loss(output, target):
    """The squared error, added up: the shares of all ranks add up to the whole."""
    error = output - target
    return (error * error).sum() * SCALE


def weights(model):
    """A copy of all parameters."""
    return [p.array.copy() for p in model.parameters()]


def digest(arrays):
    return hashlib.sha256(b"".join(array.astype("<f8").tobytes() for array in arrays)).hexdigest()[
        :16
    ]


def correct(model, data):
    """How many of the pictures it reads rightly."""
    with tensors.no_grad():
        return int((model(data.x).array.argmax(1) == data.y.array.argmax(1)).sum())


def finished(model, data):
    with tensors.no_grad():
        last = loss(model(data.x), data.y).item()
    right = correct(model, data)
    return {"loss": last, "right": right, "digest": digest(weights(model))}


def golden(step, name="golden.txt"):
    """The digest of the weights of one rank after so many steps, as we have found it; None where we have not."""
    known = (Path(__file__).parent / name).read_text("utf-8").split()
    return known[step - 1] if step <= len(known) else None
