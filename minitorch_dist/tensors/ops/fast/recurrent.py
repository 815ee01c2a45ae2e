"""The fast form of `layers.recurrent`: all time steps in one recorded operation.

Only what depends on the state is done step by step: one matrix product, and the
functions of the cell (`recurrent_cells`). The part that enters from outside (x @ W_ih) is one product for all steps. Backward walks
the steps the other way (back-propagation through time). A step's gradient is linear in what comes back to it, and its factors
are known after the forward walk. So they are computed for all steps at once, and the walk back only multiplies by them.
A layer with a projection stays with the simple form.
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
def layer(
    mode: str,
    data: T,
    sizes: Sequence[int],
    h0: T,
    c0: T | None,
    weights: Sequence[T | None],
    reverse: bool = False,
) -> tuple[T, ...]:
    if weights[4] is not None:
        return simple.layer.simple(mode, data, sizes, h0, c0, weights, reverse)  # type: ignore[attr-defined, no-any-return]
    w = Weights(*[None if t is None else t.array for t in weights[:4]])  # type: ignore[arg-type]
    walk = Walk(mode, w, data.array, sizes, h0.array, None if c0 is None else c0.array, reverse)
    present = [t for t in weights if t is not None]
    inputs = [data, h0, *([] if c0 is None else [c0]), *present]
    arrays: tuple[Array, ...] = (walk.output, walk.h)
    if walk.c is not None:
        arrays = (*arrays, walk.c)
    name = f"{CELLS[mode].__name__}Backward0"
    return record_several(arrays, name, inputs, walk.back, reads=inputs)


class Walk:
    """The steps of a layer, walked forwards when it is made, and back again for the gradients."""

    def __init__(
        self, mode: str, w: Weights, x: Array, sizes: Sequence[int], h0: Array, c0: Array | None,
        reverse: bool,
    ) -> None:  # fmt: skip
        self.w, self.x = w, x
        ends = np.cumsum(sizes).tolist()
        self.steps = [(slice(end - n, end), n) for n, end in zip(sizes, ends, strict=True)]
        if reverse:
            self.steps.reverse()
        outside = x @ w.input.T
        if w.input_bias is not None:
            outside += w.input_bias
        self.cell = cell = CELLS[mode](outside)
        self.h, self.c = h0.copy(), None if c0 is None else c0.copy()
        self.before = np.empty((len(x), h0.shape[1]), x.dtype, like=x)  # h as each row found it
        new = np.empty((len(x), cell.width), x.dtype, like=x)
        self.output = new
        matrix = np.ascontiguousarray(w.state.T, like=w.state)
        for rows, n in self.steps:
            h = self.before[rows]
            h[...] = self.h[:n]
            inside = h @ matrix
            if w.state_bias is not None:
                inside += w.state_bias
            cell.step(rows, inside, h, None if self.c is None else self.c[:n], new[rows])
            self.h[:n] = new[rows]
        self.operations = 2 * len(x) * (w.input.size + w.state.size)
        if flops.counters.on:
            flops.done("aten.mm", self.operations)

    def back(self, d_output: Array | None, d_h: Array | None, d_c: Array | None = None) -> tuple[Array, ...]:
        """The gradients of data, h0, (c0,) and the weights that are present."""
        w, cell = self.w, self.cell
        if flops.counters.on:
            flops.done("aten.mm", 2 * self.operations)
        dh = np.zeros_like(self.h) if d_h is None else d_h.copy()
        dc = None if self.c is None else np.zeros_like(self.c) if d_c is None else d_c.copy()
        d_new = np.zeros_like(self.output) if d_output is None else d_output.copy()
        d_inside = cell.factors(self.before)
        for rows, n in reversed(self.steps):
            d = d_new[rows]
            d += dh[:n]
            d_in, before = d_inside[rows], dh[:n]
            cell.back(rows, d, None if dc is None else dc[:n], d_in)
            np.matmul(d_in, w.state, out=before)
            cell.beyond(rows, d, before)
        d_outside = cell.outside(d_inside, d_new)
        found: list[Array | None] = [
            d_outside @ w.input, dh, dc, d_outside.T @ self.x, d_inside.T @ self.before,
            None if w.input_bias is None else d_outside.sum(0),
            None if w.state_bias is None else d_inside.sum(0),
        ]  # fmt: skip
        return tuple(g for g in found if g is not None)
