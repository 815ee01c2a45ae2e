"""The base of most optimizers: a rule that treats every element by itself.

A subclass of `Elementwise` says what it remembers about a parameter (`start`) and how one step changes
the arrays of a group (`update`). The rest stands here: which parameters have a gradient, whose memory
begins now, and that values were written.

An update rule such as `m += 0.1 * (g - m)` reads best as it stands. But on 25 million parameters each
operation streams whole arrays, temporaries included, through memory. `blocks` cuts the arrays into pieces
that stay in the processor's cache. The same lines then find everything but the first read in the cache,
and the step runs at the speed of the memory. The rules are element-wise, so cutting changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from minitorch_dist.optim.optimizer import Closure, Group, Loss, Optimizer
from minitorch_dist.tensors import devices, dtypes, ledger
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.shape_arrays.array import has_numbers
from minitorch_dist.tensors.tensor import Tensor

PIECE = 32768  # elements: 128 KiB of float32; the operands of a rule fit in a 1 MiB cache


class Elementwise(Optimizer):
    """An optimizer whose rule treats every element by itself.

    Its subclasses say what the memory of a parameter is before its first step (`start`), and how
    one step changes the arrays of a group (`update`).
    """

    def start(self, p: Tensor, group: Group) -> dict[str, Any]:
        return {}

    def _begin(self, p: Tensor, group: Group) -> dict[str, Any]:
        """`start`, entered in the ledger of a simulated device as the optimizer's."""
        if p.storage.device is devices.CPU:
            return self.start(p, group)
        with ledger.category("optimizer"):
            return self.start(p, group)

    def update(self, group: Group, params: list[Array], grads: list[Array], memory: list[dict[str, Any]]) -> None:
        raise NotImplementedError

    @overload
    def step(self, closure: None = None) -> None: ...
    @overload
    def step(self, closure: Callable[[], Loss]) -> Loss: ...
    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters from their gradients; returns what `closure` returns."""
        loss = None if closure is None else evaluate(closure)
        for group in self.param_groups:
            params, grads, memory = [], [], []
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                state = self.state.get(p)
                if not state:
                    state = self._begin(p, group)
                    if state:
                        self.state[p] = state
                p.storage.version += 1
                params.append(p.array)
                grads.append(grad.array)
                memory.append(state)
            self.update(group, params, grads, memory)
        return loss


def evaluate(closure: Closure | None) -> Any:
    """The loss, computed anew with recording on; None without a closure."""
    if closure is None:
        return None
    with grad_modes.enable_grad():
        return closure()


def require(holds: bool, what: str, value: Any) -> None:
    if not holds:
        raise ValueError(f"Invalid {what}: {value}")


def filled(like: Tensor, value: float = 0.0) -> Tensor:
    """State for a parameter: its shape, type, memory order and device, all of it `value`.

    In a complex state both parts have the value.
    """
    if value and like.array.dtype.kind == "c":
        value = complex(value, value)  # type: ignore[assignment]
    if like.storage.device is devices.CPU:
        made: Tensor = like.companion(np.full_like(like.array, value))
        return made
    with ledger.category("optimizer"):
        made = like.companion(np.full_like(like.array, value))
        return made


def scalar(value: float = 0.0) -> Tensor:
    """A count or a running product of a parameter: a 0-dim float32 tensor, as torch stores it."""
    return base.new(Tensor, np.full((), value, np.float32), devices.CPU)


def decayed(p: Array, g: Array, weight_decay: float, maximize: bool, decoupled_lr: float | None = None) -> Array:
    """The gradient by which a rule goes: turned round for `maximize`, and with the weight decay.

    A decoupled decay leaves the gradient alone and shrinks the parameter.
    """
    if maximize:
        g = -g
    if weight_decay and decoupled_lr is not None:
        p *= 1 - decoupled_lr * weight_decay
    elif weight_decay:
        g = g + weight_decay * p
    return g


def column(memory: list[dict[str, Any]], name: str) -> list[Array]:
    """One entry of every parameter's memory, as arrays."""
    return [m[name].array for m in memory]


def count(memory: list[dict[str, Any]]) -> list[float]:
    """Count this step for every parameter; which one it is."""
    numbers = []
    for m in memory:
        step = m["step"].array
        step += 1
        numbers.append(float(step))
    return numbers


# ---------------------------------------------------------------------------- pieces for the cache


def blocks(params: Sequence[Array], *columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """For every parameter and the columns that belong to it: matching pieces, to be written in place.

    A value that is not an array (a number, None) goes along with every piece. Half precision is computed
    in float32 and rounded once, when the piece is done. A complex parameter is two real ones.
    """
    for whole in zip(params, *columns, strict=True):
        for row in (whole,) if whole[0].dtype.kind != "c" else _real_and_imaginary(whole):
            p = row[0]
            pieces = (row,) if p.size <= PIECE or not has_numbers(p) else _pieces(row)
            if p.dtype in dtypes.HALVES:
                for piece in pieces:
                    yield from _widened(piece)
            else:
                yield from pieces


def _real_and_imaginary(row: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The real parts of a row, then the imaginary ones, as torch's view_as_real has them."""
    yield tuple([a.real if isinstance(a, np.ndarray) else a for a in row])
    yield tuple([a.imag if isinstance(a, np.ndarray) else a for a in row])


def _pieces(row: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Consecutive runs of memory where all arrays lie in memory in the same order, else rows."""
    p: Array = row[0]
    arrays = [isinstance(a, np.ndarray) for a in row]
    dense = p.flags.c_contiguous or p.T.flags.c_contiguous
    step = PIECE
    if dense and all(a.strides == p.strides for a, is_ in zip(row, arrays, strict=True) if is_):
        row = tuple([a.ravel("K") if is_ else a for a, is_ in zip(row, arrays, strict=True)])
    else:
        step = max(1, PIECE * len(p) // p.size)
    for start in range(0, len(row[0]), step):
        part = slice(start, start + step)
        yield tuple([a[part] if is_ else a for a, is_ in zip(row, arrays, strict=True)])


def _widened(row: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    wide = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in row]
    yield tuple(wide)
    for target, value in zip(row, wide, strict=True):
        if isinstance(target, np.ndarray):
            target[...] = value
