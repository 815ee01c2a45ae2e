"""Writes into a tensor, or into part of it, that enter its history.

Such a write is a `Change`: how to write into an array, and how gradients come back. `overwrite` carries it out and records it.
A rule checks its arguments and says what changes. `both(rule)` makes two operations of it: `index_add` writes into
a copy, and `index_add_` into the tensor itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec

from minitorch_dist.tensors.autograd import joint
from minitorch_dist.tensors.core import observers
from minitorch_dist.tensors.core.base import Array, T, TensorBase
from minitorch_dist.tensors.core.device_labels import CPU
from minitorch_dist.tensors.core.graph import read_now, record, same_device
from minitorch_dist.tensors.core.view_geometry import dense
from minitorch_dist.tensors.core.views import bump, check_writable, rebase

P = ParamSpec("P")
Vjp = Callable[[Array], Array]


class Change(NamedTuple):
    """The node's name, how to write, and how gradients come back."""

    name: str
    write: Callable[[Array], None]
    keep: Vjp  # the gradient of the tensor that is written to
    source: TensorBase | None = None  # the tensor whose values are written
    hand_on: Vjp | None = None  # its gradient
    reads: tuple[TensorBase, ...] = ()  # indices and masks: must not change before the backward
    told: tuple[Array, ...] | None = None  # what observers are told that it reads; None: nothing


def overwrite(input: T, change: Change) -> T:
    """Write into `input`, and record it where it or the source needs a gradient."""
    source = change.source
    inputs = (input,) if source is None else (input, source)
    floating = input.array.dtype.kind not in "iub"
    check_writable(input, recorded=floating and joint.wants_any(inputs[1:]))
    node = joint.node_for(change.name, inputs) if floating else None
    change.write(input.array)
    bump(input)
    if change.told is not None and observers.operations:
        observers.operated("InPlace", change.told, (input.array,))
    if node is not None:
        vjps = (change.keep, change.hand_on)
        node.vjps = [v if e else None for v, e in zip(vjps, node.edges, strict=False)]
        node.reads = [read_now(each) for each in change.reads] or None
        here = input.storage.device
        node.device = inputs[-1].storage.device if here is CPU else here
        rebase(input, (node, 0))
    return input


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
        return overwrite(input, change)

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
