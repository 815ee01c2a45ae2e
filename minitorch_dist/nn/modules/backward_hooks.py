"""How a module's backward hooks see gradients: two nodes that pass everything through.

One node is put before the module and one behind it. In the backward pass the gradients of the
module's outputs arrive at the second, those of its inputs at the first.

    inputs ── BackwardHookFunction ── module ── BackwardHookFunction ── outputs
               grad_input: hooks run            grad_output: noted
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd import joint
from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core.base import TensorBase, bare
from minitorch_dist.tensors.core.graph import Gradient

Hook = Callable[..., Any]

IN_PLACE = (
    "Output {nr} of {name} is a view and is being modified inplace. A module with a backward hook must "
    "not change its inputs and outputs; take for example ReLU(inplace=False)."
)


class BackwardCall:
    """The hooks of one call of a module: `enter` its inputs, `leave` with its outputs."""

    def __init__(self, module: Any, hooks: Sequence[Hook]) -> None:
        self.module, self.hooks = module, hooks
        self.input_places: list[int] | None = None  # where the tensors are; None: no gradients
        self.output_places: list[int] = []
        self.n_inputs = self.n_outputs = 0
        self.grad_outputs: tuple[Any, ...] | None = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.n_inputs = len(args)
        args, self.input_places, node = pass_through(args)
        if node is not None:
            node.register_hook(self._inputs_arrived)
        return args

    def leave(self, result: Any) -> Any:
        several = isinstance(result, tuple)
        outputs, places, node = pass_through(result if several else (result,))
        self.n_outputs = len(outputs)
        if node is not None:
            self.output_places = places or []
            node.register_hook(self._outputs_arrived)
        return outputs if several else outputs[0]

    def _outputs_arrived(self, _: Any, arrived: tuple[Any, ...]) -> None:
        self.grad_outputs = spread(arrived, self.output_places, self.n_outputs)
        if self.input_places is None:
            warnings.warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs since no inputs require gradients.",
                stacklevel=2,
            )
            self._run_hooks((None,) * self.n_inputs)

    def _inputs_arrived(self, arrived: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None or self.input_places is None:
            return None  # gradients came past the module's outputs
        grads = self._run_hooks(spread(arrived, self.input_places, self.n_inputs))
        return tuple(grads[place] for place in self.input_places)

    def _run_hooks(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.hooks:
            replaced = hook(self.module, grads, self.grad_outputs)
            if replaced is not None:
                given = tuple(replaced) if isinstance(replaced, (tuple, list)) else (replaced,)
                if len(given) != len(grads):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(given)}, "
                        f"but expected {len(grads)}"
                    )
                grads = given
        self.grad_outputs = None
        return grads


def pass_through(values: Any) -> tuple[Any, list[int] | None, TorchNode | None]:
    """The same values with one node behind all tensors, and the places of the tensors."""
    places = [i for i, value in enumerate(values) if isinstance(value, TensorBase)]
    tensors: list[TensorBase] = [values[i] for i in places]
    node = joint.node_for("BackwardHookFunctionBackward", tensors)
    if node is None:
        return values, None, None
    arrays = [t.array for t in tensors]

    def backward(*grads: Gradient) -> list[Gradient]:
        return [np.zeros_like(a) if g is None else g for a, g in zip(arrays, grads, strict=True)]

    node.backward = backward
    node.device = tensors[0].storage.device
    node.outputs = len(tensors)
    passed = list(values)
    for number, (place, tensor) in enumerate(zip(places, tensors, strict=True)):
        if tensor._requires_grad:
            passed[place] = _behind(tensor, node, number)
    cls = type(values)
    return (tuple(passed) if cls is tuple else cls(*passed)), places, node


def _behind(tensor: TensorBase, node: TorchNode, number: int) -> TensorBase:
    """`tensor` as output `number` of `node`: the same memory, and not to be written to."""
    out: TensorBase = bare(tensor.plain, tensor.array, tensor.storage)
    out._base = tensor if tensor._base is None else tensor._base
    out._seen_version = tensor.storage.version
    out._view_note = IN_PLACE
    out._grad_fn, out._output_nr, out._requires_grad = node, number, True
    return out


def spread(values: Sequence[Any], places: Sequence[int], size: int) -> tuple[Any, ...]:
    """`values` at their `places` among `size`, None elsewhere."""
    out: list[Any] = [None] * size
    for place, value in zip(places, values, strict=True):
        out[place] = value
    return tuple(out)
