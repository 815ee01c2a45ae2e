"""Operations that write into part of a tensor, in both their forms.

Such an operation is written once, as a rule. The rule checks its arguments and says how to write into an array,
and what the gradients are. `both(rule)` makes of it `index_add`, which writes into a copy,
and `index_add_`, which writes into the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec

import numpy as np

from minitorch_dist.tensors.autograd import joint
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.graph import read_now, record, same_device
from minitorch_dist.tensors.core.views import bump, check_writable, rebase
from minitorch_dist.tensors.ops.elementwise.copying import dense

P = ParamSpec("P")
Vjp = Callable[[Array], Array]


class Change(NamedTuple):
    """The contents of a rule: the node's name, how to write, and how gradients come back."""

    name: str
    write: Callable[[Array], None]
    keep: Vjp  # the gradient of the tensor that is written to
    source: TensorBase | None = None  # the tensor whose values are written
    hand_on: Vjp | None = None  # its gradient
    reads: tuple[TensorBase, ...] = ()  # indices and masks: must not change before the backward


def both(
    rule: Callable[Concatenate[T, P], Change],
) -> tuple[Callable[Concatenate[T, P], T], Callable[Concatenate[T, P], T]]:
    """The two forms of an operation: out of place, and in place."""

    def fresh(input: T, /, *args: P.args, **kwargs: P.kwargs) -> T:
        change = rule(input, *args, **kwargs)
        same_device(input, change.source, *change.reads)
        array = dense(input.array)
        change.write(array)
        mine: Any = (input, change.keep, *change.reads)
        source = change.source
        others: list[Any] = [] if source is None else [(source, change.hand_on, *change.reads)]
        out: T = record(array, change.name, mine, *others)
        return out

    def in_place(input: T, /, *args: P.args, **kwargs: P.kwargs) -> T:
        check_writable(input)
        change = rule(input, *args, **kwargs)
        same_device(input, change.source, *change.reads)
        inputs = (input,) if change.source is None else (input, change.source)
        if joint.wants_any(inputs[1:]):
            check_writable(input, recorded=True)
        node = joint.node_for(change.name, inputs)
        change.write(input.array)
        bump(input)
        if node is not None and input.array.dtype.kind not in "iub":
            vjps = (change.keep, change.hand_on)
            node.vjps = [v if e else None for v, e in zip(vjps, node.edges, strict=False)]
            node.reads = [read_now(r) for r in change.reads] or None
            node.device = input.storage.device
            rebase(input, (node, 0))
        return input

    name = rule.__name__.strip("_")
    for form, title in ((fresh, name), (in_place, name + "_")):
        form.__name__ = form.__qualname__ = title
        form.__module__, form.__doc__ = rule.__module__, rule.__doc__
        form.__wrapped__ = rule  # type: ignore[attr-defined]
    return fresh, in_place


def zero_at(where: Any) -> Vjp:
    """The gradient of what was overwritten at `where`: nothing from there."""

    def keep(grad: Array) -> Array:
        grad = grad.copy()
        grad[where] = 0
        return grad

    return keep


def same_gradient(grad: Array) -> Array:
    return grad


def number_or_tensor(value: Any, what: str) -> tuple[Any, TensorBase | None]:
    """A value to write everywhere: a Python number, or a 0-dim tensor with a gradient."""
    if not isinstance(value, TensorBase):
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise TypeError(
                f"{what}(): argument 'value' must be a number or a Tensor, not "
                f"{type(value).__name__}"
            )
        return value, None
    if value.array.ndim:
        raise RuntimeError(
            f"{what} only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.array.ndim} dimension(s)."
        )
    return value.array, value
