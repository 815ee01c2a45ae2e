"""Operations of your own: `autograd.Function`, with a forward and a backward written by hand.

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    y = Square.apply(x)

`apply` runs `forward` without recording and puts one node into the graph, whose gradient is
`backward`. That node is the `ctx` of both. Where a `setup_context(ctx, inputs, output)` is given,
`forward` gets no ctx.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from minitorch_dist.autograd.outputs import wrap_outputs
from minitorch_dist.autograd.saved import SavedTensor, save
from minitorch_dist.tensors.autograd import grad_modes, joint
from minitorch_dist.tensors.autograd.nodes import TorchNode
from minitorch_dist.tensors.core import base, grad_mode, graph
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.graph import Gradient, Node
from minitorch_dist.tensors.core.operations import sum_to
from minitorch_dist.tensors.dtypes import FROM_NUMPY
from minitorch_dist.tensors.ops.elementwise.conversion import to


class FunctionCtx(TorchNode):
    """The node of one `apply`. It is the ctx, and has room for whatever you set on it."""

    _forward_cls: ClassVar[type[Function]]

    def __init__(self, name: str, args: Sequence[Any]) -> None:
        inputs = [a for a in args if isinstance(a, TensorBase)]
        recording = grad_mode.mode.get() == grad_mode.ON and joint.wants_any(inputs)
        edges = [graph.edge_of(t) if t._requires_grad else None for t in inputs if recording]
        TorchNode.__init__(self, name, tuple(edges))
        self.recording = recording
        self._to_save: tuple[TensorBase | None, ...] = ()
        self._non_differentiable: tuple[TensorBase, ...] = ()
        self._materialize = True
        self.tensor_args = [isinstance(a, TensorBase) for a in args]
        self.inputs_like = [(t.array.shape, t.array.dtype) for t in inputs]
        self.outputs_like: list[tuple[tuple[int, ...], np.dtype[Any]] | None] = []
        self.needs_input_grad = tuple([isinstance(a, TensorBase) and a.requires_grad for a in args])
        self.saved: list[SavedTensor | None] | None = []
        if inputs:
            self.device = inputs[0].storage.device

    # `forward` and `setup_context` may say these things about the operation.

    def save_for_backward(self, *tensors: TensorBase | None) -> None:
        """Keep tensors for `backward`; writing to them in place before it is then an error."""
        for number, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {number} is of type "
                    f"{type(tensor).__name__}"
                )
        self._to_save = tensors

    def mark_non_differentiable(self, *outputs: TensorBase) -> None:
        """Say that these outputs have no gradient."""
        self._non_differentiable = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether outputs that the loss does not depend on have gradient zero (default) or None."""
        self._materialize = value

    # The engine asks for these.

    @property
    def saved_tensors(self) -> tuple[TensorBase | None, ...]:
        """The tensors that `save_for_backward` kept. Raises if it was freed, or written to since."""
        if self.saved is None:
            self.recall()
        return tuple([None if item is None else item.unpack(self) for item in self.saved or ()])

    def keep(self, outputs: Sequence[Any]) -> None:
        """Store what was saved, now that it is known which of them are outputs."""
        self.saved = [None if t is None else save(t, outputs) for t in self._to_save]
        self._to_save = self._non_differentiable = ()

    def release(self) -> None:
        self.drop()

    def kept(self) -> list[Array]:
        return [item.array for item in self.saved or () if item is not None]

    def drop(self) -> bool:
        dropped = bool(self.saved)
        if dropped:
            self.saved = None
        return dropped

    def take_over(self, other: Node) -> None:
        super().take_over(other)
        assert isinstance(other, FunctionCtx)
        self.saved = other.saved

    def run(self, grads: Sequence[Gradient]) -> Sequence[Gradient]:
        given = [None if grad is None else self._tensor(grad) for grad in grads]
        for number, like in enumerate(self.outputs_like):
            if given[number] is None and like is not None and self._materialize:
                given[number] = self._tensor(np.zeros(*like))
        returned = self._forward_cls.backward(self, *given)
        results = returned if isinstance(returned, tuple) else (returned,)
        return [None if t is None else t.array for t in self._checked(results)]

    def _tensor(self, array: Array) -> TensorBase:
        made: TensorBase = base.new(TensorBase.plain, array, self.device)
        return made

    def _checked(self, results: tuple[Any, ...]) -> list[TensorBase | None]:
        """One gradient per tensor that went in, of its shape and dtype."""
        expected = len(self.tensor_args)
        if len(results) > expected and all(r is None for r in results[expected:]):
            results = results[:expected]
        if len(results) != expected:
            raise RuntimeError(
                f"function {self.name_} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(results)})"
            )
        found: list[TensorBase | None] = []
        for place, (result, is_tensor) in enumerate(zip(results, self.tensor_args, strict=True)):
            if is_tensor and (result is None or self.edges[len(found)] is None):
                found.append(None)
            elif is_tensor and isinstance(result, TensorBase):
                found.append(self._fitted(len(found), result))
            elif is_tensor or result is not None:
                raise RuntimeError(
                    f"function {self.name_} returned {type(result).__name__} as gradient {place + 1}: expected a tensor or None "
                    "for an argument of forward that is a tensor, and None for any other"
                )
        return found

    def _fitted(self, index: int, grad: TensorBase) -> TensorBase:
        shape, dtype = self.inputs_like[index]
        has = grad.array.shape
        if has != shape:
            padded = (1,) * (len(has) - len(shape)) + shape
            if len(padded) != len(has) or any(n not in (1, m) for n, m in zip(padded, has, strict=True)):
                raise RuntimeError(
                    f"Function {self.name_} returned an invalid gradient at index {index} - got "
                    f"{list(has)} but expected shape compatible with {list(shape)}"
                )
            grad = graph.result(grad, sum_to(grad.array, shape))
        return grad if grad.array.dtype == dtype else to(grad, FROM_NUMPY[dtype])


def _overrides(function: type[Function], name: str) -> bool:
    return getattr(function, name) is not getattr(Function, name)


class Function:
    """Base of operations with a gradient of their own: static `forward` and `backward`."""

    _node: ClassVar[type[FunctionCtx]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node = type(cls.__name__ + "Backward", (FunctionCtx,), {"_forward_cls": cls})

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """`forward(ctx, *args)`, or `forward(*args)` beside a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Fill `ctx`, in place of a `forward` that does not take it."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """One gradient (or None) for each argument of `forward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function "
            "to use it with backward mode AD. (Here it is backward.)"
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record it as one operation."""
        separate = _overrides(cls, "setup_context")
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, {}
        node = cls._node(cls.__name__ + "Backward", args)
        with grad_modes.no_grad():
            if separate:
                output = cls.forward(*args)
                cls.setup_context(node, args, output)
            else:
                output = cls.forward(node, *args, **kwargs)
        several = isinstance(output, tuple)
        outputs = wrap_outputs(node, args, output if several else (output,))
        if node.recording:
            node.keep(outputs)
        return outputs if several else outputs[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method: call MyFunction.apply(...)."
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a `backward` that cannot be differentiated itself. Here none can, so it is only run without recording."""

    @functools.wraps(backward)
    def wrapped(ctx: FunctionCtx, *grads: Any) -> Any:
        with grad_modes.no_grad():
            return backward(ctx, *grads)

    return wrapped
