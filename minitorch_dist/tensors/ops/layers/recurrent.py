"""One layer of a recurrent network, over all its time steps.

    x₁ ─► cell ─► h₁      The sequences of a batch may have different lengths. They are packed: sorted
           │              by length, and the rows of one time step next to each other,
    x₂ ─► cell ─► h₂          step 1: rows of sequences 0 1 2 3      sizes = [4, 3, 1]
           │                  step 2: rows of sequences 0 1 2
    x₃ ─► cell ─► h₃          step 3: row  of sequence  0

A step with n rows updates the first n rows of the state and leaves the others alone. Forwards, those
others have ended and hold their last state; backwards they have not begun and hold their first. So
one loop serves both directions, and a batch of equal lengths is the case where all sizes are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from minitorch_dist.tensors.ops.plugs import replaceable
from minitorch_dist.tensors.ops.shapes.joining import cat

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


@replaceable
def layer(
    mode: str, data: Any, sizes: Sequence[int], h: Any, c: Any, weights: Sequence[Any], reverse: bool = False
) -> tuple[Any, ...]:
    """Run one direction of one layer: returns (output rows, last h) or (…, last h, last c).

    `data` holds the rows (sum(sizes), features); `weights` are w_ih, w_hh, b_ih, b_hh, w_hr, where
    the biases and the projection (of an LSTM) may be None.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    rows: list[Any] = [None] * len(sizes)
    steps = list(zip(accumulate(sizes, initial=0), sizes, range(len(sizes)), strict=False))
    for start, n, number in reversed(steps) if reverse else steps:
        outside = _affine(data[start : start + n], w_ih, b_ih)
        inside = _affine(h[:n], w_hh, b_hh)
        new, new_c = step(mode, outside, inside, h[:n], None if c is None else c[:n])
        rows[number] = new = new if w_hr is None else new @ w_hr.t()
        h = cat([new, h[n:]])
        c = None if c is None else cat([new_c, c[n:]])
    return (cat(rows), h) if c is None else (cat(rows), h, c)


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    return x @ weight.t() if bias is None else x @ weight.t() + bias


def step(mode: str, outside: Any, inside: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """The next h and c, from what enters the cell from outside and what its state contributes."""
    if mode == "LSTM":
        i, f, g, o = (outside + inside).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c
    if mode == "GRU":
        r_out, z_out, n_out = outside.chunk(3, 1)
        r_in, z_in, n_in = inside.chunk(3, 1)
        z = (z_out + z_in).sigmoid()
        n = (n_out + (r_out + r_in).sigmoid() * n_in).tanh()
        return (1 - z) * n + z * h, None
    return (outside + inside).relu() if mode == "RNN_RELU" else (outside + inside).tanh(), None
