"""Keeping gradients within bounds, all of them together or each value alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from minitorch_dist.tensors import dtypes
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.core.base import Array, TensorBase
from minitorch_dist.tensors.core.views import wrote
from minitorch_dist.tensors.core.without_warnings import silent
from minitorch_dist.tensors.tensor import Tensor

Tensors = Iterable[Tensor] | Tensor


def get_total_norm(
    tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of all tensors, as if they were one vector. `foreach` changes nothing here."""
    found = _listed(tensors)
    order = float(norm_type)
    if not found:
        return base.new(Tensor, np.zeros((), np.float32))
    norms = [_norm_of(t, order) for t in found]
    total = _norm(np.stack(norms).astype(np.result_type(*norms), copy=False), order)
    if error_if_nonfinite and not np.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite "
            "norm anyway, set `error_if_nonfinite=False`"
        )
    return base.new(Tensor, total, found[0].storage.device)


@silent
def clip_grads_with_norm_(
    parameters: Tensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale all gradients by one factor, so that a norm of `total_norm` becomes `max_norm`.

    Gradients are never made larger.
    """
    factor = np.minimum(float(max_norm) / (total_norm.array + 1e-6), 1.0)
    for grad in _gradients(parameters):
        x = grad.array
        np.multiply(x, factor.astype(x.dtype), out=x)
        wrote(grad, x)


def clip_grad_norm_(
    parameters: Tensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their joint norm is at most `max_norm`.

    Args:
        parameters: Tensors with gradients.
        max_norm: The norm that they have at most afterwards.
        norm_type: The order of the norm.
        error_if_nonfinite: Raise if the norm is inf or nan.
        foreach: Accepted as in torch; it changes nothing.

    Returns:
        The norm that they had.

    Raises:
        RuntimeError: With `error_if_nonfinite`.

    Example:
        >>> x = torch.ones(4, requires_grad=True)
        >>> x.sum().backward()
        >>> nn.utils.clip_grad_norm_([x], 1.0).item(), x.grad.norm().item() <= 1
        (2.0, True)
    """
    found = _listed(parameters)
    total = get_total_norm(_gradients(found), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(found, max_norm, total)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float, foreach: bool | None = None) -> None:
    """Keep every gradient's values within [-clip_value, clip_value]."""
    for grad in _gradients(parameters):
        x = grad.array
        bound = np.asarray(float(clip_value)).astype(x.dtype)
        np.maximum(x, -bound, out=x)
        np.minimum(x, bound, out=x)
        wrote(grad, x)


def _listed(tensors: Tensors) -> list[Tensor]:
    return [tensors] if isinstance(tensors, TensorBase) else list(tensors)


def _gradients(parameters: Tensors) -> list[Tensor]:
    found = (p.grad for p in _listed(parameters) if p._grad is not None)
    return [grad for grad in found if grad is not None]


def _norm_of(tensor: Tensor, order: float) -> Array:
    """The norm of a tensor; one that lies on several ranks knows that of the whole."""
    own = _norm(tensor.array, order)
    across = getattr(tensor, "norm_across", None)
    return own if across is None else across(own, order)


@silent
def _norm(x: Array, order: float) -> Array:
    """The vector norm; halves are added up in float32."""
    flat = x.reshape(-1)
    wide = flat.astype(np.float32) if x.dtype in dtypes.HALVES else flat
    return np.asanyarray(np.linalg.norm(wide, order)).astype(x.real.dtype)
