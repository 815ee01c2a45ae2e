"""Whole derivatives of functions: `vjp`, `jvp`, `jacobian`.

All are first derivatives, made of backward passes. `hessian`, `hvp` and `vhp` need the gradient of
a gradient, which is not offered; they say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.grad_mode import enable_grad
from minitorch_dist.tensors.ops.elementwise.copying import detach
from minitorch_dist.tensors.ops.gradients import NO_DOUBLE_BACKWARD, grad

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
    call = _Call("jvp", func, inputs, create_graph, strict)
    directions = call.vector(v, call.inputs, _ONE_INPUT)
    moved = []
    for out in call.outputs:
        total = np.zeros(out.array.shape, out.array.dtype)
        for rows, direction in zip(call.jacobian(out), directions, strict=True):
            total += np.tensordot(rows, direction.array, direction.array.ndim)
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
    return call.like_outputs(
        [
            call.like_inputs([base.new(out.plain, rows) for rows in call.jacobian(out)])
            for out in call.outputs
        ]
    )


def hessian(*args: Any, **kwargs: Any) -> NoReturn:
    """Not offered: it differentiates a gradient."""
    raise RuntimeError("hessian needs create_graph=True. " + NO_DOUBLE_BACKWARD)


def hvp(*args: Any, **kwargs: Any) -> NoReturn:
    """Not offered: it differentiates a gradient."""
    raise RuntimeError("hvp needs create_graph=True. " + NO_DOUBLE_BACKWARD)


def vhp(*args: Any, **kwargs: Any) -> NoReturn:
    """Not offered: it differentiates a gradient."""
    raise RuntimeError("vhp needs create_graph=True. " + NO_DOUBLE_BACKWARD)


class _Call:
    """One call of `func` on inputs of its own, with recording on."""

    def __init__(
        self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        if create_graph:
            raise RuntimeError(NO_DOUBLE_BACKWARD)
        self.name, self.strict = name, strict
        self.several_inputs = isinstance(inputs, tuple)
        given = self._tensors("inputs", inputs)
        self.inputs = [detach(x) for x in given]
        for x in self.inputs:
            x.requires_grad = True
        with enable_grad():
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
        self, outputs: Sequence[TensorBase], weights: Sequence[TensorBase]
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

    def jacobian(self, out: TensorBase) -> list[Array]:
        """For each input an array of shape out + input, row by row."""
        rows: list[list[Array]] = []
        for element in np.ndindex(out.array.shape):
            weight = np.zeros_like(out.array)
            weight[element] = 1
            grads = self.gradients([out], [base.new(out.plain, weight)])
            rows.append([g.array for g in grads])
        shape = out.array.shape
        return [
            np.array([row[i] for row in rows], out.array.dtype).reshape(shape + x.array.shape)
            for i, x in enumerate(self.inputs)
        ]

    def like_inputs(self, values: Sequence[Any]) -> Any:
        return tuple(values) if self.several_inputs else values[0]

    def like_outputs(self, values: Sequence[Any]) -> Any:
        values = [detach(v) if isinstance(v, TensorBase) else v for v in values]
        return tuple(values) if self.several_outputs else values[0]
