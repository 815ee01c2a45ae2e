"""Is this gradient right? Compare it with finite differences.

    numerical    J[i, j] = (f(x + eps e_j) - f(x - eps e_j))_i / 2 eps      two forwards per column
    analytical   J[i, :] = the gradient for e_i as grad_output               one backward per row

In float64 with eps = 1e-6 both agree to about 1e-9 where f is smooth. In float32 they do not agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.grad_modes import no_grad
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.ops.gradients import as_tuple, grad


class GradcheckError(RuntimeError):
    """A gradient differs from the slope of its function."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3
) -> bool:
    """Whether the gradients of `func(*inputs)` agree with finite differences of it.

    Every floating input that requires grad is checked against every floating output. A difference
    raises GradcheckError, which names the element. Outputs are differentiated one at a time, so that
    backward always meets undefined gradients of the others.
    """
    given = as_tuple(inputs)
    places = [i for i, x in enumerate(given) if isinstance(x, TensorBase) and x.requires_grad]
    if not places:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them "
            "have requires_grad=True."
        )
    for number, out in enumerate(_outputs(func, given)):
        for i in places:
            slopes = _analytical(out, given[i])
            numerical = _numerical(func, given, i, number, eps)
            wrong = ~np.isclose(slopes, numerical, rtol=rtol, atol=atol, equal_nan=True)
            if wrong.any():
                row, column = (int(k) for k in np.argwhere(wrong)[0])
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {i}.\n"
                    f"The first is at element {_where(row, out.array)} of the output and element "
                    f"{_where(column, given[i].array)} of the input: numerical "
                    f"{numerical[row, column]:.10g}, analytical {slopes[row, column]:.10g} "
                    f"({int(wrong.sum())} of {wrong.size} differ)\n"
                    f"numerical:{numerical}\nanalytical:{slopes}\n"
                )
    return True


def _outputs(func: Callable[..., Any], inputs: Sequence[Any]) -> list[TensorBase]:
    outputs = func(*inputs)
    return [
        out
        for out in (outputs if isinstance(outputs, (tuple, list)) else (outputs,))
        if isinstance(out, TensorBase) and out.array.dtype.kind not in "iub"
    ]


def _where(flat: int, array: Array) -> tuple[int, ...]:
    return tuple(int(k) for k in np.unravel_index(flat, array.shape))


def _analytical(out: TensorBase, x: TensorBase) -> Array:
    """The Jacobian as backward passes give it: one row per element of the output. Zero for an output without gradient."""
    rows = np.zeros((out.array.size, x.array.size))
    for element in range(out.array.size if out._requires_grad else 0):
        weight = np.zeros(out.array.shape, out.array.dtype)
        weight.reshape(-1)[element] = 1
        seed = base.new(out.plain, weight)
        (slope,) = grad(out, [x], seed, retain_graph=True, allow_unused=True)
        rows[element] = 0 if slope is None else slope.array.reshape(-1)
    return rows


def _numerical(func: Callable[..., Any], inputs: tuple[Any, ...], place: int, number: int, eps: float) -> Array:
    """The Jacobian as central differences give it: one column per element of the input."""
    x = inputs[place]
    columns = []
    for element in np.ndindex(x.array.shape):
        value = x.array[element]
        ends = []
        for moved in (value + eps, value - eps):
            x.array[element] = moved
            with no_grad():
                ends.append(_outputs(func, inputs)[number].array.astype(np.float64).reshape(-1))
            x.array[element] = value
        columns.append((ends[0] - ends[1]) / (2 * eps))
    size = columns[0].size if columns else _outputs(func, inputs)[number].array.size
    return np.array(columns).reshape(x.array.size, size).T
