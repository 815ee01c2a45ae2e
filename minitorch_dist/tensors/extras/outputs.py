"""`out=`: a function writes its result into a tensor that is there, and gives that back.

    torch.add(a, b, out=c)            c has the sum; an empty c takes the shape of the result
    torch.max(x, 0, out=(v, i))       two results, two tensors

The function computes as always, and the result is copied: operations need not know of it. `offer` puts a function
around those of a face that are named here. Methods and the house's own calls do not pass through it.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from minitorch_dist.tensors.core import grad_mode
from minitorch_dist.tensors.core.base import TensorBase
from minitorch_dist.tensors.core.graph import same_device
from minitorch_dist.tensors.dtypes import can_cast
from minitorch_dist.tensors.ops.elementwise.copying import copy_
from minitorch_dist.tensors.ops.shapes.striding import resize_

NAMES = [
    "abs add addmm all any arange argmax argmin baddbmm bmm cat ceil clamp concat cos cumsum div dot eq exp",
    "floor full gather ge gt index_select le linspace log log_softmax logical_and logical_or logsumexp lt matmul",
    "max maximum mean min minimum mm mul mv ne neg norm ones outer pow prod rand randn randperm reciprocal round",
    "rsqrt sigmoid sign sin softmax sort sqrt square stack sub sum tanh topk tril triu where zeros",
]


def offer(face: dict[str, Any]) -> None:
    """Let these functions of a face take `out=`."""
    for name in " ".join(NAMES).split():
        face[name] = _with_out(face[name], name, face["__name__"])


def _with_out(function: Callable[..., Any], name: str, module: str) -> Any:
    @functools.wraps(function)
    def taken(*args: Any, out: Any = None, **options: Any) -> Any:
        found = function(*args, **options)
        if out is None:
            return found
        if not isinstance(found, tuple):
            return _written(name, out, found)
        parts = [_written(name, *pair) for pair in zip(out, found, strict=True)]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)

    taken.__module__, taken.__name__, taken.__qualname__ = module, name, name
    taken.takes_out = True  # type: ignore[attr-defined]  # the profiler asks
    return taken


def _written(name: str, out: Any, found: Any) -> Any:
    """`out`, with the elements of `found` in it."""
    if not isinstance(out, TensorBase):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if grad_mode.current_mode() == grad_mode.ON and (found.requires_grad or out.requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    same_device(out, found)
    if not can_cast(found.dtype, out.dtype):
        raise RuntimeError(
            f"result type {found.dtype} can't be cast to the desired output type {out.dtype}"
        )
    if out.array.shape != found.array.shape:
        if out.array.size:
            warnings.warn(
                f"An output of shape {list(out.array.shape)} was resized to {list(found.array.shape)}, that of the "
                "result. Give an empty tensor, or one that fits.",
                UserWarning,
                stacklevel=3,
            )
        resize_(out, found.array.shape)
    return copy_(out, found)
