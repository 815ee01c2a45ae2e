"""The same parameters and gradients under an optimizer of torch and ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity tests need torch==2.13.0")

from minitorch_dist import optim
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor

SHAPES = [(3, 4), (), (5,), (0, 2), (2, 3, 2)]


def drawn(rng: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers, complex ones if the type is."""
    values = np.asarray(rng.normal(size=shape))
    if np.dtype(dtype).kind == "c":
        values = np.asarray(values + 1j * rng.normal(size=shape))
    return values.astype(dtype)


def ours(array: np.ndarray[Any, Any], grad: bool = False) -> Tensor:
    made = base.new(Tensor, array.copy(order="K"))
    made.requires_grad = grad
    return made


def theirs(array: np.ndarray[Any, Any], grad: bool = False) -> Any:
    return torch.from_numpy(array.copy(order="K")).requires_grad_(grad)


class Pair:
    """Twin parameters under twin optimizers, fed with equal gradients."""

    def __init__(self, name: str, dtype: Any = np.float64, groups: int = 1, **options: Any) -> None:
        self.rng = np.random.default_rng(0)
        start = [drawn(self.rng, s, dtype) for s in SHAPES]
        start[0] = np.asfortranarray(start[0])
        self.a = [theirs(x, True) for x in start]
        self.b = [ours(x, True) for x in start]
        self.name = name
        self.theirs = getattr(torch.optim, name)(split(self.a, groups), **options)
        self.ours = getattr(optim, name)(split(self.b, groups), **options)

    def feed(self, skip: int | None = None) -> None:
        """New gradients on both sides; parameter `skip` gets none."""
        for number, (a, b) in enumerate(zip(self.a, self.b, strict=True)):
            grad = drawn(self.rng, tuple(a.shape), b.array.dtype)
            a.grad, b.grad = (None, None) if number == skip else (theirs(grad), ours(grad))

    def step(self, skip: int | None = None) -> None:
        self.feed(skip)
        self.theirs.step()
        self.ours.step()

    def check(self, rtol: float = 1e-12, atol: float = 1e-14) -> None:
        for a, b in zip(self.a, self.b, strict=True):
            np.testing.assert_allclose(b.array, a.detach().numpy(), rtol=rtol, atol=atol)
        mine, other = self.ours.state_dict(), self.theirs.state_dict()
        assert list(mine["state"]) == list(other["state"])
        for key, state in other["state"].items():
            assert list(mine["state"][key]) == list(state), "the names of the state"
            for what, value in state.items():
                here = mine["state"][key][what]
                assert str(here.dtype) == str(value.dtype), what
                np.testing.assert_allclose(here.array, value.numpy(), rtol=rtol, atol=atol)
        for mine_group, group in zip(mine["param_groups"], other["param_groups"], strict=True):
            assert mine_group == group


def split(params: list[Any], groups: int) -> list[Any]:
    if groups == 1:
        return params
    return [{"params": params[:2]}, {"params": params[2:], "lr": 0.3}]
