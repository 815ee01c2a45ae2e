"""One layer of a recurrent network, over all its time steps.

x₁ ─► cell ─► h₁
       │
x₂ ─► cell ─► h₂        backwards it is the same loop, from the last step to the first
       │
x₃ ─► cell ─► h₃
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch_dist.tensors.ops.plugs import replaceable
from minitorch_dist.tensors.ops.shapes.joining import stack

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}


@replaceable
def layer(mode: str, data: Any, h: Any, c: Any, weights: Sequence[Any], reverse: bool = False) -> tuple[Any, ...]:
    """Run one direction of one layer: returns (outputs, last h) or (outputs, last h, last c).

    `data` is (steps, batch, features); `weights` are w_ih, w_hh, b_ih and b_hh, where the biases may be None.
    """
    w_ih, w_hh, b_ih, b_hh = weights
    outputs: list[Any] = [None] * len(data)
    steps = range(len(data))
    for number in reversed(steps) if reverse else steps:
        h, c = step(mode, _affine(data[number], w_ih, b_ih), _affine(h, w_hh, b_hh), h, c)
        outputs[number] = h
    return (stack(outputs), h) if c is None else (stack(outputs), h, c)


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
