"""Run one expression in torch and here, and compare: value, dtype, shape, gradient, error type.

    same(lambda t, x, y: t.mul(x, y), x, y)

`t` is the namespace: `torch` in one run, `minitorch_dist` in the other. Arrays among the arguments
become tensors (floating ones require grad, unless `grad=False`), everything else is passed as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity tests need torch==2.13.0")

import minitorch_dist as mtd

torch.set_num_threads(1)

Expression = Callable[..., Any]


def tensor(t: ModuleType, array: Any, grad: bool) -> Any:
    """A tensor of namespace `t` with the values and the strides of `array`."""
    if str(array.dtype) == "bfloat16":
        made = t.from_numpy(array.astype(np.float32)).to(t.bfloat16)
    else:
        made = t.from_numpy(array)
    if grad and (made.dtype.is_floating_point or made.dtype.is_complex):
        made = made.detach().requires_grad_()
    return made


def to_numpy(x: Any) -> np.ndarray[Any, Any]:
    x = x.detach().clone()  # torch knows zeros without memory, which have no numpy()
    if str(x.dtype) == "torch.bfloat16":
        x = x.float()
    return np.asarray(x.numpy())


def flatten(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flatten(item)]
    return [value]


def run(t: ModuleType, expression: Expression, args: tuple[Any, ...], grad: bool, kwargs: Any) -> Any:
    """Outputs and gradients of one side, or the error it raised."""
    inputs = [
        tensor(t, a.copy(order="K") if a.flags.owndata else a, grad) if isinstance(a, np.ndarray) else a for a in args
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outputs = flatten(expression(t, *inputs, **kwargs))
            grads = gradients(t, outputs, inputs) if grad else []
        except Exception as error:
            return error
    return outputs, grads


def gradients(t: ModuleType, outputs: list[Any], inputs: list[Any]) -> list[Any]:
    """The inputs' gradients of a weighted sum of all outputs that have one."""
    loss: Any = None
    for number, out in enumerate(outputs):
        if hasattr(out, "requires_grad") and out.requires_grad:
            weight = np.cos(np.arange(out.numel()) + number).reshape(tuple(out.shape))
            if out.dtype.is_complex:  # the gradient of `out` is then this weight, turned by one radian
                turned = t.from_numpy(np.asarray(weight * np.exp(-1j))).to(out.dtype)
                term = (out * turned).sum().real
            else:
                term = (out * t.from_numpy(np.asarray(weight)).to(out.dtype)).sum()
            loss = term if loss is None else loss + term
    if loss is not None:
        loss.backward()
    return [x.grad if hasattr(x, "requires_grad") and x.requires_grad else None for x in inputs]


def check_kept(loss: Any) -> None:
    """Assert that the graph keeps arrays and no tensors: those would keep their history, too, and
    would show another array once somebody sets `.data`."""
    stack, seen = [loss.grad_fn], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        stack.extend(child for child, _ in node.next_functions if child is not None)
        functions = [f for f in (*(node.vjps or ()), node.backward) if f is not None]
        for function in functions:
            for cell in getattr(function, "__closure__", None) or ():
                try:
                    kept = cell.cell_contents
                except ValueError:  # a name that was deleted
                    continue
                for item in kept if isinstance(kept, (list, tuple)) else (kept,):
                    assert not isinstance(item, mtd.Tensor), f"{node.name()} keeps a tensor"
                if callable(kept) and kept not in functions:
                    functions.append(kept)


def same(
    expression: Expression,
    *args: Any,
    grad: bool = True,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    values: bool = True,
    **kwargs: Any,
) -> None:
    """Assert that torch and minitorch_dist agree on `expression(namespace, *args, **kwargs)`."""
    theirs = run(torch, expression, args, grad, kwargs)
    ours = run(mtd, expression, args, grad, kwargs)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert isinstance(theirs, Exception), f"torch accepts this, here: {ours!r}"
        assert isinstance(ours, Exception), f"torch refuses this with {theirs!r}, here it passes"
        assert isinstance(ours, type(theirs)), f"torch raises {theirs!r}, here {ours!r}"
        return
    assert len(theirs[0]) == len(ours[0]), f"{len(theirs[0])} outputs in torch, {len(ours[0])} here"
    for a, b in zip(theirs[0], ours[0], strict=True):
        close(a, b, rtol, atol, "value", values)
        if isinstance(a, torch.Tensor):
            assert a.requires_grad == b.requires_grad, f"requires_grad {a.requires_grad} in torch"
    for number, (a, b) in enumerate(zip(theirs[1], ours[1], strict=True)):
        close(a, b, rtol, atol, f"gradient of argument {number}", values)


def close(a: Any, b: Any, rtol: float, atol: float, what: str, values: bool = True) -> None:
    if not isinstance(a, torch.Tensor):
        if isinstance(a, float):
            assert b == pytest.approx(a, rel=rtol, abs=atol, nan_ok=True), what
        elif isinstance(a, (torch.Size, torch.dtype, torch.device)):
            assert str(a) == str(b), f"{what}: {a} in torch, {b} here"
        else:
            assert a == b, f"{what}: {a!r} in torch, {b!r} here"
        return
    assert isinstance(b, mtd.Tensor), f"{what}: a tensor in torch, here {b!r}"
    assert str(a.dtype) == str(b.dtype), f"{what}: {a.dtype} in torch, {b.dtype} here"
    assert tuple(a.shape) == tuple(b.shape), f"{what}: {tuple(a.shape)} in torch, {tuple(b.shape)} here"
    if values:
        np.testing.assert_allclose(to_numpy(b), to_numpy(a), rtol=rtol, atol=atol, err_msg=what)
