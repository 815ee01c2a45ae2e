"""Run one little program about modules in torch and here, and compare everything it returns.

    agree(lambda t: repr(t.nn.Sequential(t.nn.ReLU())))

The program gets the namespace (`t.nn`, `t.zeros`, …) and returns values, which may be nested: tensors
compare by dtype, shape and value, modules by their repr, exceptions (see `caught`) by type and text.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity tests need torch==2.13.0")

import minitorch_dist as mtd
from tests.parity.compare import to_numpy

Program = Callable[..., Any]


def caught(action: Callable[[], Any]) -> Any:
    """What `action` returns, or the type of what it raises, in a tuple: the words are our own."""
    try:
        return action()
    except Exception as error:
        return (type(error).__name__,)


def kind_of_error(action: Callable[[], Any]) -> Any:
    """What `action` returns, or the type of what it raises, where the words are our own."""
    try:
        return action()
    except Exception as error:
        return type(error).__name__


def plain(value: Any) -> Any:
    """A value as something that compares with `==`, except that tensors become arrays."""
    if isinstance(value, (torch.Tensor, mtd.Tensor)):
        return value
    if isinstance(value, (torch.nn.Module, mtd.nn.Module)):
        return words(repr(value))
    if isinstance(value, str):
        return words(value)
    if isinstance(value, Mapping):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, (torch.dtype, torch.device, mtd.dtype, mtd.device)):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, type):
        return value.__name__
    return value


def words(text: str) -> str:
    return text.replace("minitorch_dist", "torch")


def equal(theirs: Any, ours: Any, where: str = "result", rtol: float = 1e-5) -> None:
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, mtd.Tensor), f"{where}: a tensor in torch, here {ours!r}"
        assert str(theirs.dtype) == str(ours.dtype), where
        assert tuple(theirs.shape) == tuple(ours.shape), where
        assert theirs.requires_grad == ours.requires_grad, f"{where}: requires_grad"
        np.testing.assert_allclose(to_numpy(ours), to_numpy(theirs), rtol=rtol, atol=rtol / 10, err_msg=where)
    elif isinstance(theirs, dict) and isinstance(ours, dict):
        assert list(theirs) == list(ours), f"{where}: keys"
        for key in theirs:
            equal(theirs[key], ours[key], f"{where}[{key!r}]", rtol)
    elif isinstance(theirs, list) and isinstance(ours, list):
        assert len(theirs) == len(ours), f"{where}: {theirs} in torch, {ours} here"
        for number, pair in enumerate(zip(theirs, ours, strict=True)):
            equal(*pair, f"{where}[{number}]", rtol)
    else:
        assert theirs == ours, f"{where}: {theirs!r} in torch, {ours!r} here"


def agree(program: Program, *args: Any, rtol: float = 1e-5) -> None:
    """Assert that `program(namespace, *args)` returns the same in torch and here."""
    results = []
    for t in (torch, mtd):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            results.append((plain(program(t, *args)), [w.category.__name__ for w in warned]))
    equal(results[0][0], results[1][0], rtol=rtol)
    assert results[0][1] == results[1][1], f"warnings: {results[0][1]} in torch, {results[1][1]} here"


# ------------------------------------------------------------------------------------------ layers


def weights_of(module: Any) -> dict[str, Any]:
    """A torch module's state as arrays."""
    return {name: to_numpy(tensor).copy() for name, tensor in module.state_dict().items()}


def twins(make: Callable[[ModuleType], Any]) -> tuple[Any, Any]:
    """The module `make(nn)` builds, in torch and here, with the weights of torch's."""
    torch.manual_seed(0)
    theirs, ours = make(torch.nn), make(mtd.nn)
    assert words(repr(ours)) == repr(theirs)
    state = theirs.state_dict()
    assert list(state) == list(ours.state_dict())
    assert {k: v["version"] for k, v in state._metadata.items()} == {
        k: v["version"] for k, v in ours.state_dict()._metadata.items()
    }
    matched = ours.load_state_dict({k: mtd.tensor(v) for k, v in weights_of(theirs).items()})
    assert repr(matched) == "<All keys matched successfully>"
    return theirs, ours


def same_layer(
    make: Callable[[ModuleType], Any],
    *inputs: Any,
    train: bool = True,
    calls: int = 1,
    rtol: float = 1e-4,
    call: Callable[..., Any] = lambda module, *inputs: module(*inputs),
) -> None:
    """Assert equal repr, state, outputs, gradients and buffers, from equal weights."""
    results = []
    for t, module in zip((torch, mtd), twins(make), strict=True):
        module.train(train)
        found: dict[str, Any] = {}
        for number in range(calls):
            tensors = [t.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in inputs]
            for x in tensors:
                if hasattr(x, "is_floating_point") and x.is_floating_point():
                    x.requires_grad_(True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                out = caught(lambda m=module, xs=tensors: call(m, *xs))
            found[f"output {number}"] = out
            loss: Any = 0
            for piece in out if isinstance(out, tuple) else (out,):
                if hasattr(piece, "requires_grad") and piece.requires_grad:
                    weight = np.cos(np.arange(piece.numel())).reshape(tuple(piece.shape))
                    loss = loss + (piece * t.from_numpy(weight).to(piece.dtype)).sum()
            if hasattr(loss, "backward"):
                loss.backward()
            found[f"inputs {number}"] = [x.grad if hasattr(x, "grad") else None for x in tensors]
        found["parameters"] = {name: p.grad for name, p in module.named_parameters()}
        found["buffers"] = dict(module.named_buffers())
        results.append(plain(found))
    equal(*results, rtol=rtol)


# ----------------------------------------------------------------------------------- modules to try


def scale(t: Any, factor: float = 2.0) -> Any:
    """A module with a parameter and two buffers."""

    class Scale(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = t.nn.Parameter(t.full((2,), factor))
            self.register_buffer("seen", t.zeros(1))
            self.register_buffer("hidden", t.ones(1), persistent=False)
            self.register_parameter("bias", None)

        def forward(self, x: Any) -> Any:
            return x * self.weight

        def extra_repr(self) -> str:
            return f"factor={factor}"

    return Scale()


def net(t: Any) -> Any:
    """A tree: net.first, net.rest.inner, and net.again, which is net.first once more."""

    class Net(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first = scale(t)
            self.rest = t.nn.Sequential(OrderedDict(inner=scale(t, 3.0), act=t.nn.Module()))
            self.again = self.first
            self.free = t.nn.Parameter(t.zeros(3))

        def forward(self, x: Any) -> Any:
            return self.rest.inner(self.first(x))

    return Net()
