"""One layer of a recurrent network, over all its time steps, in one recorded operation.

    x₁ ─► cell ─► h₁      The sequences of a batch may have different lengths. They are packed: sorted
           │              by length, and the rows of one time step next to each other,
    x₂ ─► cell ─► h₂          step 1: rows of sequences 0 1 2 3      sizes = [4, 3, 1]
           │                  step 2: rows of sequences 0 1 2
    x₃ ─► cell ─► h₃          step 3: row  of sequence  0

A step with n rows updates the first n rows of the state and leaves the others alone. Forwards, those
others have ended and hold their last state; backwards they have not begun and hold their first. So
one loop serves both directions, and a batch of equal lengths is the case where all sizes are equal.

The part that enters from outside (x @ W_ih) is one matrix product for all steps. Only the part that
depends on the state is done step by step. Backward walks the steps the other way (back-propagation through time).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minitorch_dist.tensors import flops
from minitorch_dist.tensors.autograd.joint import record_several
from minitorch_dist.tensors.core.base import Array, T
from minitorch_dist.tensors.core.without_warnings import silent


def sigmoid(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(0.5 * x))


class Weights(NamedTuple):
    """The parameters of one direction of one layer; biases and the projection may be missing."""

    input: Array
    state: Array
    input_bias: Array | None
    state_bias: Array | None
    projection: Array | None


class RecurrentStep:
    """One step of a recurrent layer and its gradient, on the first n rows of the state.

    `outside` is what enters from outside at this step (gates·hidden wide), `inside` what the state
    contributes. A step keeps in `kept` what its gradient will read.
    """

    gates = 1

    def step(self, outside: Array, inside: Array, h: Array, c: Array | None) -> tuple[Any, ...]:
        """Returns (new h, new c or None, kept)."""
        raise NotImplementedError

    def back(self, dh: Array, dc: Array | None, kept: Any) -> tuple[Any, ...]:
        """Returns (d outside, d inside, d h beyond what goes through inside, d c)."""
        raise NotImplementedError


class TanhStep(RecurrentStep):
    """h' = tanh(outside + inside)"""

    def step(self, outside: Array, inside: Array, h: Array, c: Array | None) -> tuple[Any, ...]:
        new = np.tanh(outside + inside)
        return new, None, new

    def back(self, dh: Array, dc: Array | None, kept: Any) -> tuple[Any, ...]:
        d = dh * (1 - kept * kept)
        return d, d, 0, None


class Relu(RecurrentStep):
    """h' = max(0, outside + inside)"""

    def step(self, outside: Array, inside: Array, h: Array, c: Array | None) -> tuple[Any, ...]:
        new = np.maximum(outside + inside, 0)
        return new, None, new

    def back(self, dh: Array, dc: Array | None, kept: Any) -> tuple[Any, ...]:
        d = dh * (kept > 0)
        return d, d, 0, None


class Lstm(RecurrentStep):
    """i, f, o = σ(…), g = tanh(…);  c' = f c + i g;  h' = o tanh(c')"""

    gates = 4

    def step(self, outside: Array, inside: Array, h: Array, c: Array | None) -> tuple[Any, ...]:
        assert c is not None
        i, f, g, o = np.split(outside + inside, 4, axis=1)
        i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
        new = f * c + i * g
        bent = np.tanh(new)
        return o * bent, new, (i, f, g, o, c, bent)

    def back(self, dh: Array, dc: Array | None, kept: Any) -> tuple[Any, ...]:
        i, f, g, o, c, bent = kept
        dc = dc + dh * o * (1 - bent * bent)
        d = np.concatenate(
            [dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g),
             dh * bent * o * (1 - o)], axis=1,
        )  # fmt: skip
        return d, d, 0, dc * f


class Gru(RecurrentStep):
    """r, z = σ(…), n = tanh(outside + r · inside);  h' = (1 - z) n + z h"""

    gates = 3

    def step(self, outside: Array, inside: Array, h: Array, c: Array | None) -> tuple[Any, ...]:
        r_out, z_out, n_out = np.split(outside, 3, axis=1)
        r_in, z_in, n_in = np.split(inside, 3, axis=1)
        r, z = sigmoid(r_out + r_in), sigmoid(z_out + z_in)
        n = np.tanh(n_out + r * n_in)
        return (1 - z) * n + z * h, None, (r, z, n, n_in, h)

    def back(self, dh: Array, dc: Array | None, kept: Any) -> tuple[Any, ...]:
        r, z, n, n_in, h = kept
        dn = dh * (1 - z) * (1 - n * n)
        dr = dn * n_in * r * (1 - r)
        dz = dh * (h - n) * z * (1 - z)
        return (
            np.concatenate([dr, dz, dn], axis=1),
            np.concatenate([dr, dz, dn * r], axis=1),
            dh * z,
            None,
        )


CELLS: dict[str, type[RecurrentStep]] = {
    "RNN_TANH": TanhStep,
    "RNN_RELU": Relu,
    "LSTM": Lstm,
    "GRU": Gru,
}


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
    """Run one direction of one layer: returns (output rows, last h) or (…, last h, last c).

    `data` holds the rows (sum(sizes), features); `weights` are w_ih, w_hh, b_ih, b_hh, w_hr, where
    the biases and the projection (of an LSTM) may be None.
    """
    w = Weights(*[None if t is None else t.array for t in weights])  # type: ignore[arg-type]
    cell = CELLS[mode]()
    walk = Walk(cell, w, data.array, sizes, h0.array, None if c0 is None else c0.array, reverse)
    present = [t for t in weights if t is not None]
    inputs = [data, h0, *([] if c0 is None else [c0]), *present]
    arrays: tuple[Array, ...] = (walk.output, walk.h)
    if walk.c is not None:
        arrays = (*arrays, walk.c)

    return record_several(
        arrays, f"{cell.__class__.__name__}Backward0", inputs, walk.back, reads=inputs
    )


class Walk:
    """The steps of a layer, walked forwards when it is made, and back again for the gradients."""

    def __init__(
        self, cell: RecurrentStep, w: Weights, x: Array, sizes: Sequence[int], h0: Array, c0: Array | None,
        reverse: bool,
    ) -> None:  # fmt: skip
        self.cell, self.w, self.x = cell, w, x
        ends = np.cumsum(sizes)
        self.steps = [(int(end - n), int(end), int(n)) for n, end in zip(sizes, ends, strict=True)]
        if reverse:
            self.steps.reverse()
        outside = x @ w.input.T
        if w.input_bias is not None:
            outside += w.input_bias
        self.h, self.c = h0.copy(), None if c0 is None else c0.copy()
        self.before = np.empty((len(x), h0.shape[1]), x.dtype, like=x)  # h as each row found it
        self.raw = (
            None
            if w.projection is None
            else np.empty((len(x), w.state.shape[0] // 4), x.dtype, like=x)
        )
        self.output = np.empty_like(self.before)
        self.kept: list[Any] = []
        for start, end, n in self.steps:
            h = self.before[start:end] = self.h[:n]
            inside = h @ w.state.T
            if w.state_bias is not None:
                inside += w.state_bias
            c = None if self.c is None else self.c[:n].copy()
            new, new_c, kept = cell.step(outside[start:end], inside, self.before[start:end], c)
            self.kept.append(kept)
            if w.projection is not None:
                assert self.raw is not None
                self.raw[start:end] = new
                new = new @ w.projection.T
            self.output[start:end] = self.h[:n] = new
            if self.c is not None:
                self.c[:n] = new_c
        used = (w.input, w.state, w.projection)
        self.operations = 2 * len(x) * sum(each.size for each in used if each is not None)
        if flops.on:
            flops.done("aten.mm", self.operations)

    def back(
        self, d_output: Array | None, d_h: Array | None, d_c: Array | None = None
    ) -> tuple[Array, ...]:
        """The gradients of data, h0, (c0,) and the weights that are present."""
        w, dtype = self.w, self.x.dtype
        if flops.on:
            flops.done("aten.mm", 2 * self.operations)
        dh = np.zeros_like(self.h) if d_h is None else d_h.copy()
        dc = None if self.c is None else np.zeros_like(self.c) if d_c is None else d_c.copy()
        width = w.state.shape[0]
        d_outside = np.empty((len(self.x), width), dtype)
        d_inside = np.empty((len(self.x), width), dtype)
        d_projection = None if w.projection is None else np.zeros_like(w.projection)
        for (start, end, n), kept in zip(reversed(self.steps), reversed(self.kept), strict=True):
            d = dh[:n].copy()
            if d_output is not None:
                d += d_output[start:end]
            if w.projection is not None:
                assert d_projection is not None and self.raw is not None
                d_projection += d.T @ self.raw[start:end]
                d = d @ w.projection
            d_out, d_in, beyond, d_cell = self.cell.back(d, None if dc is None else dc[:n], kept)
            d_outside[start:end], d_inside[start:end] = d_out, d_in
            dh[:n] = d_in @ w.state + beyond
            if dc is not None:
                dc[:n] = d_cell
        found: list[Array | None] = [
            d_outside @ w.input, dh, dc, d_outside.T @ self.x, d_inside.T @ self.before,
            None if w.input_bias is None else d_outside.sum(0),
            None if w.state_bias is None else d_inside.sum(0),
            d_projection,
        ]  # fmt: skip
        return tuple(g for g in found if g is not None)
