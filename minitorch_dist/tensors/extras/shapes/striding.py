"""Windows by hand: `as_strided`, and the in-place changes of a tensor's shape: those that are rarely used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch_dist.tensors.core.base import Storage, T, TensorBase
from minitorch_dist.tensors.core.graph import KINDS
from minitorch_dist.tensors.core.views import bump, check_writable
from minitorch_dist.tensors.ops.shapes import axes, reshaping
from minitorch_dist.tensors.ops.shapes.striding import as_strided, resize_


def _reshaped(operation: Callable[..., Any], name: str, forms: int = 1) -> Callable[..., Any]:
    """The in-place form of an operation that makes a view: `input` itself becomes that view.

    torch numbers an operation's nodes through its `forms`, the in-place ones after the others.
    """

    def change(input: T, *args: Any, **kwargs: Any) -> T:
        check_writable(input)
        out = operation(input, *args, **kwargs)
        input.array = out.array
        bump(input)
        if input._base is not None:
            input._seen_version = input.storage.version
        if out._grad_fn is not None:
            stem, number = out._grad_fn.name_[:-1], int(out._grad_fn.name_[-1])
            node_name = f"{stem}{number + forms}"
            made = out._grad_fn
            node = KINDS[node_name](node_name, made.edges, made.device, made.vjps)
            input._grad_fn, input._output_nr = node, 0
        return input

    change.__name__ = change.__qualname__ = name
    change.__doc__ = f"In-place version of :func:`{name[:-1]}`: the shape changes, not the memory."
    return change


squeeze_ = _reshaped(reshaping.squeeze, "squeeze_", forms=3)
unsqueeze_ = _reshaped(reshaping.unsqueeze, "unsqueeze_")
transpose_ = _reshaped(axes.transpose, "transpose_")
swapaxes_ = _reshaped(axes.swapaxes, "swapaxes_")
swapdims_ = _reshaped(axes.swapdims, "swapdims_")
t_ = _reshaped(axes.t, "t_")
as_strided_ = _reshaped(as_strided, "as_strided_")


def resize_as_(input: T, the_template: TensorBase, *, memory_format: Any = None) -> T:
    """`resize_(the_template.shape)`"""
    return resize_(input, tuple(the_template.shape))  # type: ignore[attr-defined]


def set_(input: T, source: TensorBase | None = None) -> T:
    """Look at the memory of `source` from now on; without a source, at nothing."""
    check_writable(input)
    if source is None:
        empty = np.empty(0, input.array.dtype, like=input.array)
        input.array, input.storage = empty, Storage(empty, input.storage.device)
        return input
    if source.array.dtype != input.array.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {source.dtype.name} to a tensor of type "
            f"{input.dtype.name}"
        )
    input.array, input.storage = source.array, source.storage
    return input
