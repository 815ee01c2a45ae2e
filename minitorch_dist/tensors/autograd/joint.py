"""Operations whose gradients share their work, or that have several results.

Convolution and normalisation compute all gradients together, so one function returns them all.
`record_joint` takes it; `record_several` does the same for operations with more than one result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import base, device_labels, grad_mode, observers
from minitorch_dist.tensors.core.base import Array, T, TensorBase, bare
from minitorch_dist.tensors.core.graph import KINDS, Gradient, common_device, edge_of, read_now, refresh
from minitorch_dist.tensors.core.views import SEVERAL, note_of


def record_joint(
    array: Array,
    name: str,
    inputs: Sequence[T],
    backward: Callable[..., Sequence[Gradient]],
    reads: Sequence[TensorBase] = (),
    reads_result: bool = False,
    owns: bool = False,
) -> T:
    """As `record`, with one function for all gradients: it returns one (or None) per input."""
    return record_several((array,), name, inputs, backward, reads, reads_result, owns)[0]


def record_several(
    arrays: Sequence[Any],
    name: str,
    inputs: Sequence[T],
    backward: Callable[..., Sequence[Gradient]],
    reads: Sequence[TensorBase] = (),
    reads_result: bool = False,
    owns: bool = False,
) -> tuple[T, ...]:
    """As `record_joint`, for several results: `backward` takes the gradient of each of them.

    A result that the loss does not depend on has gradient None.
    """
    device, plain = inputs[0].storage.device, inputs[0].plain
    for tensor in inputs:
        if tensor.storage.device is not device or tensor.plain is not plain:
            device = common_device(inputs)
    outs: list[T] = [base.new(plain, array, device) for array in arrays]
    if observers.operations:
        observers.operated(name, [t.array for t in inputs], [out.array for out in outs])
    node = node_for(name, inputs)
    if node is not None:
        node.backward = backward
        own = [(out.storage, 0, out.array) for out in outs] if reads_result else []
        node.reads = [*map(read_now, reads), *own] or None
        node.owns, node.device, node.outputs = owns, device, len(outs)
        for number, out in enumerate(outs):
            out._grad_fn, out._output_nr, out._requires_grad = node, number, True
        if device is not device_labels.CPU:
            observers.memory.kept(node, outs)
    return tuple(outs)


def node_for(name: str, inputs: Sequence[TensorBase]) -> TorchNode | None:
    """A node with edges to `inputs`, or None if nothing is to be recorded."""
    if grad_mode.current_mode() != grad_mode.ON or not wants_any(inputs):
        return None
    edges = tuple([edge_of(t) if t._requires_grad else None for t in inputs])
    node: TorchNode = KINDS[name](name, edges)
    return node


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
    if grad_mode.current_mode() != grad_mode.ON:
        return [False] * len(inputs)
    return [t is not None and wants_any((t,)) for t in inputs]


def views_of(self: T, arrays: Sequence[Array], name: str, backward: Callable[..., Sequence[Array]]) -> tuple[T, ...]:
    """Several windows on `self` from one operation, with one `backward` for all their gradients."""
    mode = grad_mode.current_mode()
    node = node_for(name, (self,))
    if node is not None:
        node.backward, node.outputs, node.owns = backward, len(arrays), True
        node.device = self.storage.device
    storage, base = self.storage, self if self._base is None else self._base
    outs = []
    for number, array in enumerate(arrays):
        out: T = bare(self.plain, array, storage)
        out._base = base
        out._seen_version = storage.version
        out._output_nr = number
        out._view_note = SEVERAL if mode == grad_mode.ON else note_of(mode)
        if node is not None:
            out._grad_fn, out._requires_grad = node, True
        if self._inference:
            out._inference = True
        outs.append(out)
    return tuple(outs)
