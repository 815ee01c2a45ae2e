"""The cells of recurrent layers: what a step does with the numbers that enter it, and its gradient.

`values` holds what enters a cell from outside, for all steps: a block of `width` columns for each gate. A step adds
`inside`, which is what the state contributes, and leaves the values of the gates in their place, where the gradient finds
them. All sigmoids and tanhs of an LSTM's step are one call, as σ(x) = (1 + tanh(x / 2)) / 2.
"""

from __future__ import annotations

import numpy as np

from minitorch_dist.tensors.core.base import Array


class RecurrentCell:
    """One kind of step, with all that its steps keep. `rows` are those of a step."""

    gates = 1

    def __init__(self, values: Array) -> None:
        self.values, self.width = values, values.shape[1] // self.gates

    def gate(self, number: int) -> Array:
        """A window on the values of one gate in all rows"""
        return self.values[:, number * self.width : (number + 1) * self.width]

    def blocks(self, array: Array) -> Array:
        """(rows, gates·width) as (rows, gates, width)"""
        return array.reshape(len(array), self.gates, self.width)

    def step(self, rows: slice, inside: Array, h: Array, c: Array | None, new: Array) -> None:
        """Write the next h into `new`, and the next c over `c`. `inside` may be written over, too."""
        raise NotImplementedError

    def factors(self, before: Array) -> Array:
        """The gradient of `inside`, but for the factors that only the walk back knows. `before`: h as each row found it"""
        raise NotImplementedError

    def back(self, rows: slice, dh: Array, dc: Array | None, factors: Array) -> None:
        """Turn the factors of these rows into the gradient of `inside`, and dc into that of the c before."""
        factors *= dh

    def beyond(self, rows: slice, dh: Array, before: Array) -> None:
        """Add to `before`, the gradient of the h before, what does not come through `inside`."""

    def outside(self, d_inside: Array, dh: Array) -> Array:
        """The gradient of what entered from outside: where it is only added, that of `inside`."""
        return d_inside


class TanhStep(RecurrentCell):
    """h' = tanh(outside + inside)"""

    def step(self, rows: slice, inside: Array, h: Array, c: Array | None, new: Array) -> None:
        values = self.values[rows]
        values += inside
        new[...] = np.tanh(values, out=values)

    def factors(self, before: Array) -> Array:
        return _less_square(self.values)


class Relu(RecurrentCell):
    """h' = max(0, outside + inside)"""

    def step(self, rows: slice, inside: Array, h: Array, c: Array | None, new: Array) -> None:
        values = self.values[rows]
        values += inside
        new[...] = np.maximum(values, 0, out=values)

    def factors(self, before: Array) -> Array:
        return (self.values > 0).astype(self.values.dtype)


class Lstm(RecurrentCell):
    """i, f, o = σ(…), g = tanh(…);  c' = f c + i g;  h' = o tanh(c')"""

    gates = 4

    def __init__(self, values: Array) -> None:
        super().__init__(values)
        self.i, self.f, self.g, self.o = (self.gate(number) for number in range(4))
        self.c, self.bent = np.empty_like(self.i), np.empty_like(self.i)  # c before, tanh(c')
        self.scale = np.array([0.5, 0.5, 1, 0.5], values.dtype).repeat(self.width)
        self.shift = 1 - self.scale

    def step(self, rows: slice, inside: Array, h: Array, c: Array | None, new: Array) -> None:
        assert c is not None
        values, bent = self.values[rows], self.bent[rows]
        values += inside
        values *= self.scale
        np.tanh(values, out=values)
        values *= self.scale
        values += self.shift
        self.c[rows] = c
        c *= self.f[rows]
        c += np.multiply(self.i[rows], self.g[rows], out=new)
        np.tanh(c, out=bent)
        np.multiply(self.o[rows], bent, out=new)

    def factors(self, before: Array) -> Array:
        i, f, g, o, bent = self.i, self.f, self.g, self.o, self.bent
        self.through = o * _less_square(bent)  # from h' to c'
        out = np.empty_like(self.values)
        parts = self.blocks(out)
        np.multiply(g, _slope(i), out=parts[:, 0])
        np.multiply(self.c, _slope(f), out=parts[:, 1])
        np.multiply(i, _less_square(g), out=parts[:, 2])
        np.multiply(bent, _slope(o), out=parts[:, 3])
        return out

    def back(self, rows: slice, dh: Array, dc: Array | None, factors: Array) -> None:
        assert dc is not None
        parts = self.blocks(factors)
        parts[:, 3] *= dh
        dc += self.through[rows] * dh
        parts[:, :3] *= dc[:, None]
        dc *= self.f[rows]


class Gru(RecurrentCell):
    """r, z = σ(…), n = tanh(outside + r · inside);  h' = (1 - z) n + z h"""

    gates = 3

    def __init__(self, values: Array) -> None:
        super().__init__(values)
        self.r, self.z, self.n = (self.gate(number) for number in range(3))
        self.both = values[:, : 2 * self.width]  # r and z
        self.n_inside = np.empty_like(self.n)

    def step(self, rows: slice, inside: Array, h: Array, c: Array | None, new: Array) -> None:
        both, n, n_inside = self.both[rows], self.n[rows], self.n_inside[rows]
        both += inside[:, : 2 * self.width]
        both *= 0.5
        np.tanh(both, out=both)
        both += 1
        both *= 0.5
        n_inside[...] = inside[:, 2 * self.width :]
        n += np.multiply(self.r[rows], n_inside, out=new)
        np.tanh(n, out=n)
        np.subtract(h, n, out=new)
        new *= self.z[rows]
        new += n

    def factors(self, before: Array) -> Array:
        r, z, n = self.r, self.z, self.n
        self.to_n = (1 - z) * _less_square(n)  # from h' to the argument of n
        out = np.empty_like(self.values)
        parts = self.blocks(out)
        np.multiply(self.to_n * self.n_inside, _slope(r), out=parts[:, 0])
        np.multiply(before - n, _slope(z), out=parts[:, 1])
        np.multiply(self.to_n, r, out=parts[:, 2])
        return out

    def back(self, rows: slice, dh: Array, dc: Array | None, factors: Array) -> None:
        parts = self.blocks(factors)
        parts *= dh[:, None]

    def beyond(self, rows: slice, dh: Array, before: Array) -> None:
        before += dh * self.z[rows]

    def outside(self, d_inside: Array, dh: Array) -> Array:
        out = d_inside.copy()
        np.multiply(self.to_n, dh, out=self.blocks(out)[:, 2])
        return out


def _slope(sigmoid: Array) -> Array:
    """The derivative of a sigmoid, from its value"""
    out: Array = 1 - sigmoid
    out *= sigmoid
    return out


def _less_square(tanh: Array) -> Array:
    """The derivative of a tanh, from its value"""
    out: Array = tanh * tanh
    return np.subtract(1, out, out=out)


CELLS: dict[str, type[RecurrentCell]] = {"RNN_TANH": TanhStep, "RNN_RELU": Relu, "LSTM": Lstm, "GRU": Gru}
