"""Functions of functions: gradients, derivatives, and a function for each sample.

    grad(f)(x)            the gradient of f, as a function; grad(grad(f)) is one, too
    vmap(f)(xs)           f of each x, stacked: in torch at once, here one after the other

Arguments may be containers of tensors. A gradient is recorded if one of the tensors needs a gradient itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch_dist.autograd import functional
from minitorch_dist.tensors.autograd.grad_modes import enable_grad
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.ops import gradients
from minitorch_dist.tensors.ops.shapes.joining import stack
from minitorch_dist.utils import _pytree as trees

Function = Callable[..., Any]
Places = int | tuple[int, ...]


def grad(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The gradient of `func`, which returns one number (and with `has_aux` more), by these arguments."""
    both = grad_and_value(func, argnums, has_aux)

    def slope(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return slope


def grad_and_value(func: Function, argnums: Places = 0, has_aux: bool = False) -> Function:
    """The gradient, and the result of `func`"""

    def both(*args: Any, **kwargs: Any) -> Any:
        leaves, spec, call = _opened(func, args, argnums)
        with enable_grad():
            out = call(leaves.fresh, kwargs)
            value, aux = out if has_aux else (out, None)
            if not isinstance(value, TensorBase) or value.array.ndim:
                raise RuntimeError(
                    "Expected the function given to grad to return a tensor of one element, and none of its "
                    f"dimensions; got {type(value).__name__} {getattr(value, 'shape', '')}"
                )
            found = leaves.gradients([value], None)
        value, aux = (leaves.shown(each) for each in (value, aux))
        slopes = trees.tree_unflatten(found, spec)
        return (slopes[0] if isinstance(argnums, int) else slopes), (
            value,
            aux,
        ) if has_aux else value

    return both


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """The results of `func`, and a function that takes a gradient of these to those of the arguments"""
    leaves, spec, call = _opened(func, primals, tuple(range(len(primals))))
    with enable_grad():
        out = call(leaves.fresh, {})
    out, aux = out if has_aux else (out, None)
    flat, _ = trees.tree_flatten(out)

    def back(cotangents: Any) -> Any:
        weights, _ = trees.tree_flatten(cotangents)
        return tuple(trees.tree_unflatten(leaves.gradients(flat, weights), spec))

    shown = leaves.shown(out)
    return (shown, back, leaves.shown(aux)) if has_aux else (shown, back)


def jvp(func: Function, primals: Any, tangents: Any) -> Any:
    """The results of `func`, and how they change when the arguments move along `tangents`"""
    return functional.jvp(func, tuple(primals), tuple(tangents))


def jacrev(func: Function, argnums: int = 0) -> Function:
    """All first derivatives by one argument, a tensor"""

    def jacobian(*args: Any) -> Any:
        recorded = args[argnums].requires_grad
        return functional.jacobian(_of_one(func, args, argnums), args[argnums], recorded)

    return jacobian


jacfwd = jacrev


def hessian(func: Function, argnums: int = 0) -> Function:
    """All second derivatives by one argument, a tensor, of a function that returns one number"""

    def curvature(*args: Any) -> Any:
        recorded = args[argnums].requires_grad
        return functional.hessian(_of_one(func, args, argnums), args[argnums], recorded)

    return curvature


def vmap(
    func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Function:  # fmt: skip
    """`func` of each slice of the arguments along `in_dims` (None: all of it), stacked along `out_dims`"""

    def mapped(*args: Any, **kwargs: Any) -> Any:
        flat, spec = trees.tree_flatten(args)
        dims = _spread(tuple(in_dims) if isinstance(in_dims, list) else in_dims, args)
        sizes = {t.shape[d] for t, d in zip(flat, dims, strict=True) if d is not None}
        if len(sizes) != 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sorted(sizes)} for the mapped dimension"
            )
        results = []
        for number in range(sizes.pop()):
            each = [
                t if d is None else t.select(d, number) for t, d in zip(flat, dims, strict=True)
            ]
            results.append(func(*trees.tree_unflatten(each, spec), **kwargs))
        outs = [trees.tree_flatten(result)[0] for result in results]
        _, shape = trees.tree_flatten(results[0])
        places = _spread(out_dims, results[0])
        stacked = [
            stack(list(col), d) for col, d in zip(zip(*outs, strict=True), places, strict=True)
        ]
        return trees.tree_unflatten(stacked, shape)

    return mapped


def _spread(dims: Any, tree: Any) -> list[Any]:
    """A dimension for each leaf of `tree`: `dims` has its structure, or a part of it from the root."""
    if dims is None or isinstance(dims, int):
        return [
            dims if isinstance(leaf, TensorBase) else None for leaf in trees.tree_flatten(tree)[0]
        ]
    pairs = zip(dims, tree, strict=True) if not isinstance(dims, dict) else ((dims[k], tree[k]) for k in tree)  # fmt: skip
    return [leaf for part, subtree in pairs for leaf in _spread(part, subtree)]


def _of_one(func: Function, args: tuple[Any, ...], argnum: int) -> Function:
    return lambda x: func(*args[:argnum], x, *args[argnum + 1 :])


def _without_history(leaf: Any) -> Any:
    return leaf.detach() if hasattr(leaf, "detach") else leaf


class _Leaves:
    """The tensors by which is differentiated, each under an edge of its own."""

    def __init__(self, given: list[Any]) -> None:
        self.are_recorded = any(t.requires_grad for t in given)
        self.fresh = [t.clone() if t.requires_grad else t.detach().requires_grad_() for t in given]

    def shown(self, tree: Any) -> Any:
        """Results as the caller gets them: without a history, unless one is wanted."""
        if self.are_recorded:
            return tree
        return trees.tree_map(_without_history, tree)

    def gradients(self, outs: list[Any], weights: list[Any] | None) -> list[Any]:
        if not any(out.requires_grad for out in outs):
            return [t.new_zeros(t.shape) for t in self.fresh]
        return list(
            gradients.grad(
                outs, self.fresh, weights, retain_graph=True, create_graph=self.are_recorded,
                allow_unused=True, materialize_grads=True,
            )
        )  # fmt: skip


def _opened(
    func: Function, args: tuple[Any, ...], argnums: Places
) -> tuple[_Leaves, Any, Function]:
    """The leaves of the chosen arguments, their structure, and `func` of such leaves."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    flat, spec = trees.tree_flatten([args[number] for number in numbers])
    leaves = _Leaves(flat)

    def call(fresh: list[Any], kwargs: dict[str, Any]) -> Any:
        given = list(args)
        for number, part in zip(numbers, trees.tree_unflatten(fresh, spec), strict=True):
            given[number] = part
        return func(*given, **kwargs)

    return leaves, spec, call
