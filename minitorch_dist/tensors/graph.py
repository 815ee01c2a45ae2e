"""The graph of what was computed: one `Node` per operation, written down as it runs.

An operation computes with numpy and then calls `record`, naming beside each input the function
that turns the gradient of its result into the gradient of that input, and the tensors whose
*values* that function reads:

    def mul(self, other):
        x, y = self.array, other.array
        return record(x * y, "MulBackward0",
                      (self, lambda g: g * y, other),
                      (other, lambda g: g * x, self))

        x ──────┐
                MulBackward0 ── result        edges run from the result back to its inputs,
        y ──────┘                             gradients travel along them (see `engine`)

Where the gradients share their work (convolution, normalisation), one function returns them all:
`record_joint`. What was read is remembered with its version, so that writing to it in place before
the backward pass is an error and not a wrong gradient.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from threading import Lock  # noqa: TID251 - guards one assignment; nothing waits in here
from typing import Any

import numpy as np

from minitorch_dist.tensors import devices, grad_mode, ledger, windows
from minitorch_dist.tensors.base import T, TensorBase
from minitorch_dist.tensors.kept import arrays_kept_by
from minitorch_dist.tensors.nodes import AccumulateGrad, Edge, Gradient, Node, Read, Vjp, kind
from minitorch_dist.tensors.storage import Storage
from minitorch_dist.tensors.view_notes import refusal

_first_use = Lock()


def edge_of(tensor: TensorBase) -> Edge | None:
    """Where the gradient of `tensor` goes, or None if it needs none."""
    if tensor._base is not None:
        refresh(tensor)
    if tensor._grad_fn is not None:
        return tensor._grad_fn, tensor._output_nr
    if not tensor._requires_grad:
        return None
    node = tensor._accumulate
    if node is None:
        with _first_use:  # two threads must not make two
            node = tensor._accumulate
            if node is None:
                node = tensor._accumulate = AccumulateGrad(tensor)
    return node, 0


def refresh(view: TensorBase) -> None:
    """Give a view its present history, if its storage was written in place since it was made.

    The write went into the history of the base (see `views`); this view is now a window on that.
    """
    base, version = view._base, view.storage.version
    if view._seen_version == version:
        return
    edge = edge_of(base)
    if edge is not None:
        if view._view_note:
            raise refusal(view, base)
        node = kind("AsStridedBackward0")("AsStridedBackward0", (edge,))
        node.vjps = (windows.Window(base.array, view.array).widen,)
        node.device = view.storage.device
        adopt(view, node, 0)
    view._seen_version = version


def adopt(tensor: TensorBase, node: Node, output: int) -> None:
    """Let `tensor` be what `node` made. `retain_grad` follows it; hooks stay where they were."""
    if tensor._retains_grad:
        old = tensor._grad_fn
        if old is not None and old.hooks is not None:
            old.hooks.retained.pop(tensor._output_nr, None)
        node.hooked().retained[output] = weakref.ref(tensor)
    tensor._grad_fn, tensor._output_nr, tensor._requires_grad = node, output, True


def record(
    array: Any,
    name: str,
    first: tuple[T, *tuple[Any, ...]],
    *more: tuple[Any, ...],
    reads_result: bool = False,
) -> T:
    """The tensor that holds `array`, computed from the inputs `first, *more`.

    Each input is `(tensor, vjp)` or `(tensor, vjp, *read)`: `vjp` maps the gradient of the result
    to that of the tensor, and reads the values of the tensors `read` (with `reads_result`, every
    vjp reads the result as well). A `read` that is None stands for something that only this node
    knows, a number or a mask: nobody can write to it, but it is forgotten after the pass, too.
    """
    plain, device = first[0].plain, first[0].storage.device
    mode = grad_mode.mode.get()
    requires, forgets = False, reads_result
    edges: list[Edge | None] = []
    vjps: list[Vjp | None] = []
    reads: list[Read] = []
    for item in (first, *more):
        tensor = item[0]
        if tensor.storage.device is not device:
            device = common_device([each[0] for each in (first, *more)])
        if mode != grad_mode.ON:
            continue
        if tensor._base is not None:
            refresh(tensor)
        if not tensor._requires_grad:
            edges.append(None)
            vjps.append(None)
            continue
        requires = True
        node = tensor._grad_fn
        edges.append(edge_of(tensor) if node is None else (node, tensor._output_nr))
        vjps.append(item[1])
        for read in item[2:]:
            forgets = True
            if read is not None:
                if read._inference:
                    check_may_be_read(read)
                reads.append((read.storage, read.storage.version, read.array))
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    out: T = object.__new__(plain)
    out.array = array
    storage = out.storage = Storage(array, device)
    if requires:
        if reads_result:
            reads.append((storage, 0, array))
        made = kind(name)(name, tuple(edges), device)
        made.vjps = vjps
        made.reads = reads if forgets else None
        out._grad_fn = made
        out._requires_grad = True
        if device is not devices.CPU:
            account(made, [out])
    elif mode == grad_mode.INFERENCE:
        out._inference = True
    return out


def record_joint(
    array: Any,
    name: str,
    inputs: Sequence[T],
    backward: Callable[..., Sequence[Gradient]],
    reads: Sequence[TensorBase] = (),
    reads_result: bool = False,
    owns: bool = False,
) -> T:
    """As `record`, with one function for all gradients: it returns one (or None) per input."""
    outs = record_several((array,), name, inputs, backward, reads, reads_result, owns)
    return outs[0]


def record_several(
    arrays: Sequence[Any],
    name: str,
    inputs: Sequence[T],
    backward: Callable[..., Sequence[Gradient]],
    reads: Sequence[TensorBase] = (),
    reads_result: bool | tuple[int, ...] = False,
    owns: bool = False,
) -> tuple[T, ...]:
    """As `record_joint`, for several results: `backward` takes the gradient of each of them.

    A result that the loss does not depend on has gradient None; integer results never have one.
    `reads_result` may name those that are read by their numbers.
    """
    device = inputs[0].storage.device
    for tensor in inputs:
        if tensor.storage.device is not device:
            device = common_device(inputs)
    like, outs = inputs[0], []
    for array in arrays:
        if type(array) is not np.ndarray:
            array = np.asarray(array)
        out: T = object.__new__(like.plain)
        out.array = array
        out.storage = Storage(array, device)
        outs.append(out)
    node = node_for(name, inputs)
    if node is not None:
        node.backward = backward
        noted = []
        for read in reads:
            check_may_be_read(read)
            noted.append((read.storage, read.storage.version, read.array))
        if reads_result:
            chosen = outs
            if isinstance(reads_result, tuple):
                chosen = [outs[number] for number in reads_result]
            noted.extend((out.storage, 0, out.array) for out in chosen)
        node.reads = noted or None
        node.owns = owns
        node.device = device
        node.outputs = len(outs)
        for number, out in enumerate(outs):
            if out.array.dtype.kind not in "iub":
                out._grad_fn = node
                out._output_nr = number
                out._requires_grad = True
        if device is not devices.CPU:
            account(node, outs)
    elif grad_mode.mode.get() == grad_mode.INFERENCE:
        for out in outs:
            out._inference = True
    return tuple(outs)


def node_for(name: str, inputs: Sequence[TensorBase]) -> Node | None:
    """A node with edges to `inputs`, or None if nothing is to be recorded."""
    if grad_mode.mode.get() != grad_mode.ON or not wants_any(inputs):
        return None
    return kind(name)(name, tuple([edge_of(t) if t._requires_grad else None for t in inputs]))


def wants_any(inputs: Sequence[TensorBase]) -> bool:
    """Whether one of the inputs needs a gradient, asked while recording."""
    requires = False
    for tensor in inputs:
        if tensor._base is not None:
            refresh(tensor)
        requires = requires or tensor._requires_grad
    return requires


def wants(*inputs: TensorBase | None) -> list[bool]:
    """Which of the inputs need a gradient; none while nothing is recorded."""
    if grad_mode.mode.get() != grad_mode.ON:
        return [False] * len(inputs)
    return [t is not None and wants_any((t,)) for t in inputs]


def result(like: T, array: Any) -> T:
    """A result without a gradient (comparisons, indices), on the device of `like`."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    out: T = object.__new__(like.plain)
    out.array = array
    out.storage = Storage(array, like.storage.device)
    if grad_mode.mode.get() == grad_mode.INFERENCE:
        out._inference = True
    return out


def account(node: Node, outs: Sequence[TensorBase]) -> None:
    """Enter in the ledger what a recorded operation made, and what it keeps for its gradients."""
    for out in outs:
        ledger.retag(out.array, node.device, "activation", only="other")
    kept = [array for _, _, array in node.reads or ()]
    for array in (*kept, *arrays_kept_by(node.backward, *(node.vjps or ()))):
        ledger.track(array, node.device, "activation")
        ledger.retag(array, node.device, "activation", only="other")


def check_may_be_read(tensor: TensorBase) -> None:
    if tensor._inference:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone "
            "to get a normal tensor and use it in autograd."
        )


def same_device(first: TensorBase, *others: TensorBase | None) -> None:
    """Raise if tensors that are used together, though no gradient links them, are apart."""
    for other in others:
        if other is not None and other.storage.device is not first.storage.device:
            common_device([first, *[t for t in others if t is not None]])


def common_device(inputs: Sequence[TensorBase]) -> devices.device:
    """The device all inputs share. A 0-dim CPU tensor goes along with any; others do not mix."""
    found = [
        t.storage.device
        for t in inputs
        if not (t.array.ndim == 0 and t.storage.device is devices.CPU)
    ]
    for device in found:
        if device is not found[0]:
            raise RuntimeError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{found[0]} and {device}!"
            )
    return found[0] if found else devices.CPU
