"""The text of a tensor: `tensor([[1., 2.]], grad_fn=<AddBackward0>)`, column by column as torch's.

All numbers of a tensor are written in one width and one notation; a first look at them decides
which. Whole numbers are written as `3.`, others with `precision` digits. Scientific notation is used
where magnitudes lie too far apart. Tensors of more than `threshold` elements show their edges only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from minitorch_dist.tensors import devices, dtypes
from minitorch_dist.tensors.core import graph
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.shape_arrays.array import has_numbers

_options: Final = SimpleNamespace(precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)


def set_printoptions(**changes: Any) -> None:
    """Change how tensors are printed from now on: `precision`, `threshold`, `edgeitems`, `linewidth`, `sci_mode`."""
    given = {name: value for name, value in changes.items() if value is not None}
    vars(_options).update({"sci_mode": None, **given})


def to_text(self: TensorBase, *, name: str = "tensor") -> str:
    """The repr. `name` is the word in front."""
    x = self.array
    usual = dtypes.get_default_dtype()
    unsaid = [usual, dtypes.to_complex(usual), dtypes.int64, dtypes.bool_]
    notes = []
    if self.storage.device is not devices.CPU:
        notes.append(f"device='{self.storage.device}'")
    if has_numbers(x) and x.size:
        text = numbers(x, len(name) + 1)
    else:
        unsaid = [usual]
        text = "[]" if has_numbers(x) else "..."
        if x.ndim != 1 or not has_numbers(x):
            notes.append(f"size={tuple(x.shape)}")
    if self.dtype not in unsaid:
        notes.append(f"dtype={self.dtype}")
    if self._base is not None:
        graph.refresh(self)
    if self._grad_fn is not None:
        notes.append(f"grad_fn=<{type(self._grad_fn).__name__}>")
    elif self._requires_grad:
        notes.append("requires_grad=True")
    return _annotated(f"{name}({text}", notes, len(name) + 1)


def _annotated(text: str, notes: list[str], indent: int) -> str:
    """The notes after the numbers, on a new line where the present one is full."""
    used = len(text) - text.rfind("\n") + 1
    for note in notes:
        if used + len(note) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + note
            used = indent + len(note)
        else:
            text += ", " + note
            used += len(note) + 2
    return text + ")"


def numbers(x: Array, indent: int) -> str:
    """The elements in nested brackets, `indent` columns from the left."""
    if x.dtype in dtypes.HALVES:
        x = x.astype(np.float32)
    short = x.size > _options.threshold
    write, width = notation(_edges(x) if short else x)
    return _nested(x, indent, short, write, width)


def _nested(x: Array, indent: int, short: bool, write: Callable[[Any], str], width: int) -> str:
    if x.ndim == 0:
        return write(x.item())
    edge = _options.edgeitems
    cut = short and len(x) > 2 * edge
    shown: Any = [*x[:edge], None, *x[-edge:]] if cut else x
    if x.ndim > 1:
        parts = ["..." if p is None else _nested(p, indent + 1, short, write, width) for p in shown]
        return "[" + ("," + "\n" * (x.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    if cut:
        parts = [*map(write, x[:edge].tolist()), " ...", *map(write, x[-edge:].tolist())]
    else:
        parts = [*map(write, x.tolist())]
    per_line = max(1, (_options.linewidth - indent) // (width + 2))
    lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _edges(x: Array) -> Array:
    """Only the elements that are shown of a long tensor."""
    edge = _options.edgeitems
    for axis, side in enumerate(x.shape):
        if side > 2 * edge:
            x = x.take([*range(edge), *range(side - edge, side)], axis)
    return x


def notation(x: Array) -> tuple[Callable[[Any], str], int]:
    """How to write an element of `x`, and how wide that is."""
    if x.dtype.kind == "c":
        return _of_two_parts(x)
    if x.dtype.kind != "f":
        width = max([1, *(len(str(v)) for v in x.ravel().tolist())])
        return lambda v: str(v).rjust(width), width
    ordinary = x[np.isfinite(x) & (x != 0)].astype(np.float64)
    if not ordinary.size:  # nothing to align
        whole, scientific = True, False
    else:
        whole = bool((ordinary == np.ceil(ordinary)).all())
        most, least = float(np.abs(ordinary).max()), float(np.abs(ordinary).min())
        scientific = most / least > 1000 or most > 1e8 or (not whole and least < 1e-4)
        if _options.sci_mode is not None:
            scientific = _options.sci_mode
    form = f".{_options.precision}e" if scientific else f".{0 if whole else _options.precision}f"

    def digits(v: float) -> str:
        dot = "." if whole and not scientific and math.isfinite(v) else ""
        return format(v, form) + dot

    width = max([1, *(len(digits(v)) for v in ordinary.tolist())])
    return lambda v: digits(v).rjust(width), width


def _of_two_parts(x: Array) -> tuple[Callable[[Any], str], int]:
    """A complex number as `1.+2.j`; each part has a notation of its own."""
    (real, width), (imag, more) = notation(x.real), notation(x.imag)

    def write(v: complex) -> str:
        second = imag(v.imag).lstrip() + "j"
        return real(v.real) + ("" if second[0] in "+-" else "+") + second

    return write, width + more + 1


def to_format(self: TensorBase, spec: str) -> str:
    """`f"{x:.3f}"`: a 0-dim tensor is written as its number."""
    if self.array.ndim == 0 and has_numbers(self.array):
        return format(self.array.item(), spec)
    if spec:
        raise TypeError("unsupported format string passed to Tensor.__format__")
    return repr(self)
