"""Whole derivatives of functions: `vjp`, `jvp`, `jacobian`, and of second order `hessian`, `hvp`, `vhp`.

All are made of backward passes. The second derivatives are derivatives of a gradient that was recorded itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minitorch_dist.tensors.autograd.grad_modes import enable_grad, set_grad_enabled
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ops.elementwise.copying import detach
from minitorch_dist.tensors.ops.gradients import grad
from minitorch_dist.tensors.ops.shapes.joining import stack
from minitorch_dist.tensors.ops.shapes.reshaping import reshape, squeeze, view_as

_ONE_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a "
    "single element."
)
_ONE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor "
    "with a single element."
)


def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs of `func`, and vᵀJ: the gradient of their sum weighted with `v`, per input."""
    call = _Call("vjp", func, inputs, create_graph, strict)
    weights = call.vector(v, call.outputs, _ONE_OUTPUT)
    return call.like_outputs(call.outputs), call.like_inputs(call.gradients(call.outputs, weights))


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The outputs of `func`, and Jv: how they change when the inputs move along `v`.

    Made from the Jacobian, so it costs one backward pass per element of the outputs.
    """
    if create_graph:
        raise RuntimeError(
            "jvp(create_graph=True) is not offered: take jacobian(create_graph=True)"
        )
    call = _Call("jvp", func, inputs, create_graph, strict)
    directions = call.vector(v, call.inputs, _ONE_INPUT)
    moved = []
    for out in call.outputs:
        total = np.zeros(out.array.shape, out.array.dtype)
        for rows, direction in zip(call.jacobian(out), directions, strict=True):
            total += np.tensordot(rows.array, direction.array, direction.array.ndim)
        moved.append(base.new(out.plain, total))
    return call.like_outputs(call.outputs), call.like_outputs(moved)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All first derivatives: for each output and each input a tensor of shape output + input."""
    if strategy != "reverse-mode":
        raise RuntimeError("only strategy='reverse-mode' is offered")
    call = _Call("jacobian", func, inputs, create_graph, strict)
    return call.like_outputs([call.like_inputs(call.jacobian(out)) for out in call.outputs])


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function of one number: for each pair of inputs, one shape after the other."""

    def slopes(*given: Any) -> Any:
        return jacobian(_single("hessian", func), given, create_graph=True)

    several = isinstance(inputs, tuple)
    found = jacobian(
        slopes, inputs if several else (inputs,), create_graph, strict, vectorize,
        outer_jacobian_strategy,
    )  # fmt: skip
    return found if several else found[0][0]


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of `func`, one number, and vᵀH with its second derivatives H."""
    call = _Call("vhp", _single("vhp", func), inputs, create_graph, strict)
    weights = call.vector(v, call.inputs, _ONE_INPUT)
    ones = [base.new(out.plain, np.ones_like(out.array)) for out in call.outputs]
    slopes = call.gradients(call.outputs, ones, create_graph=True)
    return call.like_outputs(call.outputs), call.like_inputs(call.gradients(slopes, weights))


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of `func`, and Hv: the same as vᵀH, for H is symmetric."""
    return vhp(func, inputs, v, create_graph, strict)


def _single(name: str, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func`, which must return one number."""

    def checked(*inputs: Any) -> Any:
        out = func(*inputs)
        if not isinstance(out, TensorBase):
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if out.array.size != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {name} should contain a single element"
            )
        return squeeze(out)

    return checked


class _Call:
    """One call of `func` on inputs of its own, with recording on."""

    def __init__(
        self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        self.name, self.strict, self.create_graph = name, strict, create_graph
        self.several_inputs = isinstance(inputs, tuple)
        given = self._tensors("inputs", inputs)
        with enable_grad():
            self.inputs = [self._own(x) for x in given]
            returned = func(*self.inputs)
        self.several_outputs = isinstance(returned, tuple)
        self.outputs = self._tensors("outputs of the user-provided function", returned)
        for index, out in enumerate(self.outputs):
            if strict and not out.requires_grad:
                raise RuntimeError(
                    f"Output {index} of the user-provided function does not require gradients. The "
                    "outputs must be computed in a differentiable manner from the input when "
                    "running in strict mode."
                )

    def _own(self, given: TensorBase) -> TensorBase:
        """A tensor of this call's own, so that other uses of the input do not count."""
        if self.create_graph and given.requires_grad:
            return view_as(given, given)
        own = detach(given)
        own.requires_grad = True
        return own

    def _tensors(self, what: str, values: Any) -> tuple[TensorBase, ...]:
        found = values if isinstance(values, tuple) else (values,)
        for value in found:
            if not isinstance(value, TensorBase):
                raise TypeError(
                    f"The {what} given to {self.name} must be either a Tensor or a tuple of Tensors "
                    f"but got {type(value)}."
                )
        return found

    def vector(self, v: Any, like: Sequence[TensorBase], missing: str) -> Sequence[TensorBase]:
        """`v`, which has one part for each of `like`; None stands for 1 if they are one number."""
        if v is None:
            if len(like) != 1 or like[0].array.size != 1:
                raise RuntimeError(missing)
            return [base.new(like[0].plain, np.ones_like(like[0].array))]
        found = self._tensors("v", v)
        if len(found) != len(like):
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(like)} but got {len(found)}."
            )
        for index, (part, one) in enumerate(zip(found, like, strict=True)):
            if part.array.shape != one.array.shape:
                raise RuntimeError(
                    f"v has invalid size: should be torch.Size({list(one.array.shape)}) but got "
                    f"torch.Size({list(part.array.shape)}) (entry {index})."
                )
        return found

    def gradients(
        self,
        outputs: Sequence[TensorBase],
        weights: Sequence[TensorBase],
        create_graph: bool = False,
    ) -> list[TensorBase]:
        """The gradient for each input; zeros where the outputs do not depend on it."""
        pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o._requires_grad]
        found: Sequence[TensorBase | None] = [None] * len(self.inputs)
        if pairs:
            found = grad(
                [o for o, _ in pairs],
                self.inputs,
                [w for _, w in pairs],
                retain_graph=True,
                create_graph=create_graph or self.create_graph,
                allow_unused=True,
            )
        grads = []
        for index, (x, g) in enumerate(zip(self.inputs, found, strict=True)):
            if g is None:
                if self.strict:
                    raise RuntimeError(
                        "The output of the user-provided function is independent of input "
                        f"{index}. This is not allowed in strict mode."
                    )
                g = base.new(x.plain, np.zeros_like(x.array))
            grads.append(g)
        return grads

    def jacobian(self, out: TensorBase) -> list[TensorBase]:
        """For each input a tensor of shape out + input, made row by row."""
        rows: list[list[TensorBase]] = []
        shape = out.array.shape
        for element in np.ndindex(shape):
            weight = np.zeros_like(out.array)
            weight[element] = 1
            rows.append(self.gradients([out], [base.new(out.plain, weight)]))
        if not rows:
            empty = [np.zeros(shape + x.array.shape, out.array.dtype) for x in self.inputs]
            return [base.new(out.plain, array) for array in empty]
        with set_grad_enabled(self.create_graph):
            whole = [stack([row[i] for row in rows]) for i in range(len(self.inputs))]
            return [
                reshape(each, shape + x.array.shape)
                for each, x in zip(whole, self.inputs, strict=True)
            ]

    def like_inputs(self, values: Sequence[Any]) -> Any:
        return tuple(values) if self.several_inputs else values[0]

    def like_outputs(self, values: Sequence[Any]) -> Any:
        if not self.create_graph:
            values = [detach(v) if isinstance(v, TensorBase) else v for v in values]
        return tuple(values) if self.several_outputs else values[0]
