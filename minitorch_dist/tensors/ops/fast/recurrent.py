"""The fast form of `layers.recurrent`: all time steps in one recorded operation.

Only what depends on the state is done step by step: one matrix product, and the
functions of the cell (`recurrent_cells`). The part that enters from outside (x @ W_ih) is one product for all steps. Backward walks
the steps the other way (back-propagation through time). A step's gradient is linear in what comes back to it, and its factors
are known after the forward walk. So they are computed for all steps at once, and the walk back only multiplies by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minitorch_dist.tensors import flops
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.ops.fast.recurrent_cells import CELLS
from minitorch_dist.tensors.ops.layers import recurrent as simple
from minitorch_dist.tensors.ops.plugs import instead_of


class Weights(NamedTuple):
    """The parameters of one direction of one layer; the biases may be missing."""

    input: Array
    state: Array
    input_bias: Array | None
    state_bias: Array | None


@instead_of(simple.layer)
@silent
def layer(mode: str, data: T, h0: T, c0: T | None, weights: Sequence[T | None], reverse: bool = False) -> tuple[T, ...]:
    w = Weights(*[None if t is None else t.array for t in weights])  # type: ignore[arg-type]
    walk = Walk(mode, w, data.array, h0.array, None if c0 is None else c0.array, reverse)
    inputs = [t for t in (data, h0, c0, *weights) if t is not None]
    arrays: tuple[Array, ...] = (walk.outputs, walk.h)
    if walk.c is not None:
        arrays = (*arrays, walk.c)
    name = f"{CELLS[mode].__name__}Backward0"
    return record_several(arrays, name, inputs, walk.back, reads=inputs)


class Walk:
    """The steps of a layer, walked forwards when it is made, and back again for the gradients.

    All arrays have a row for each step and sequence; those of one step lie together.
    """

    def __init__(self, mode: str, w: Weights, data: Array, h0: Array, c0: Array | None, reverse: bool) -> None:
        self.w, self.shape = w, data.shape
        steps, batch, features = self.shape
        self.x = x = data.reshape(steps * batch, features)
        self.steps = [slice(n * batch, (n + 1) * batch) for n in range(steps)][:: -1 if reverse else 1]
        outside = x @ w.input.T
        if w.input_bias is not None:
            outside += w.input_bias
        self.cell = cell = CELLS[mode](outside)
        self.h, self.c = h0.copy(), None if c0 is None else c0.copy()
        self.before = np.empty((len(x), h0.shape[1]), x.dtype, like=x)  # h as each row found it
        new = np.empty((len(x), cell.width), x.dtype, like=x)
        matrix = np.ascontiguousarray(w.state.T, like=w.state)
        for rows in self.steps:
            h = self.before[rows]
            h[...] = self.h
            inside = h @ matrix
            if w.state_bias is not None:
                inside += w.state_bias
            cell.step(rows, inside, h, self.c, new[rows])
            self.h[...] = new[rows]
        self.outputs = new.reshape(steps, batch, cell.width)
        self.operations = 2 * len(x) * (w.input.size + w.state.size)
        if flops.counters.on:
            flops.done("aten.mm", self.operations)

    def back(self, d_outputs: Array | None, d_h: Array | None, d_c: Array | None = None) -> tuple[Array, ...]:
        """The gradients of data, h0, (c0,) and the weights that are present."""
        w, cell = self.w, self.cell
        if flops.counters.on:
            flops.done("aten.mm", 2 * self.operations)
        dh = np.zeros_like(self.h) if d_h is None else d_h.copy()
        dc = None if self.c is None else np.zeros_like(self.c) if d_c is None else d_c.copy()
        given = np.zeros_like(self.outputs) if d_outputs is None else d_outputs.copy()
        d_new, d_inside = given.reshape(len(self.x), cell.width), cell.factors(self.before)
        for rows in reversed(self.steps):
            d, d_in = d_new[rows], d_inside[rows]
            d += dh
            cell.back(rows, d, dc, d_in)
            np.matmul(d_in, w.state, out=dh)
            cell.beyond(rows, d, dh)
        d_outside = cell.outside(d_inside, d_new)
        found: list[Array | None] = [
            (d_outside @ w.input).reshape(self.shape),
            dh,
            dc,
            d_outside.T @ self.x,
            d_inside.T @ self.before,
            None if w.input_bias is None else d_outside.sum(0),
            None if w.state_bias is None else d_inside.sum(0),
        ]
        return tuple(g for g in found if g is not None)
