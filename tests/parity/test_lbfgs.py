"""L-BFGS beside torch's: the same moves, the same number of evaluations, states that go on in the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist
from minitorch_dist import optim
from tests.parity.optimizers import ours, theirs, torch

pytestmark = pytest.mark.parity

SHAPES = [(2, 3), (), (4,)]
OPTIONS: list[dict[str, Any]] = [
    {}, {"lr": 0.3}, {"line_search_fn": "strong_wolfe"}, {"lr": 0.1, "history_size": 2},
    {"lr": 5.0, "line_search_fn": "strong_wolfe", "max_iter": 7},
    {"max_iter": 4, "max_eval": 3, "lr": 0.5}, {"line_search_fn": "strong_wolfe", "history_size": 1, "max_eval": 9},
]  # fmt: skip


def quartic(lib: Any, params: list[Any], data: list[Any]) -> Any:
    """Some curvature, some that changes."""
    terms = [((p - x) ** 2).sum() + 0.1 * (p**4).sum() for p, x in zip(params, data, strict=True)]
    return sum(terms[1:], terms[0])


def valley(lib: Any, params: list[Any], data: list[Any]) -> Any:
    """Rosenbrock's valley, from element to element."""
    x = lib.cat([p.reshape(-1) for p in params])
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum() / 50


@pytest.mark.parametrize("options", [{}, {"line_search_fn": "strong_wolfe"}], ids=str)
def test_complex_parameters_are_pairs_of_real_ones(options: dict[str, Any]) -> None:
    courses = []
    for lib in (torch, minitorch_dist):
        z = lib.tensor([[1 + 2j, 0.5 - 1j, 3j]], dtype=lib.complex128, requires_grad=True)
        x = lib.tensor([0.3, -0.7], dtype=lib.float64, requires_grad=True)
        optimizer = lib.optim.LBFGS([z, x], max_iter=4, **options)

        def closure(z: Any = z, x: Any = x, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = (
                (z * z.conj()).real.sum() + (z**2).imag.sum() + 0.1 * (x**4).sum() + z.abs().sum()
            )
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(3)]
        courses.append([*losses, *z.detach().reshape(-1).tolist(), *x.tolist()])
    np.testing.assert_allclose(courses[1], courses[0], rtol=1e-8)


def make(seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in SHAPES]


class Side:
    def __init__(self, lib: Any, new: Any, optimizer: Any, function: Any, options: Any) -> None:
        self.params = [new(x, True) for x in make(1)]
        self.data = [new(x) for x in make(2)]
        self.optimizer, self.calls = optimizer(self.params, **options), 0
        self.lib, self.function = lib, function

    def closure(self) -> Any:
        self.calls += 1
        self.optimizer.zero_grad()
        loss = self.function(self.lib, self.params, self.data)
        loss.backward()
        return loss

    def step(self) -> float:
        return float(self.optimizer.step(self.closure).detach())

    def values(self) -> np.ndarray[Any, Any]:
        return np.concatenate([np.asarray(p.detach().numpy()).ravel() for p in self.params])


@pytest.mark.parametrize("function", [quartic, valley])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_same_moves(function: Any, options: dict[str, Any]) -> None:
    a = Side(torch, theirs, torch.optim.LBFGS, function, options)
    b = Side(minitorch_dist, ours, optim.LBFGS, function, options)
    for _ in range(4):
        np.testing.assert_allclose(b.step(), a.step(), rtol=1e-6, atol=1e-12)
        assert b.calls == a.calls
        np.testing.assert_allclose(b.values(), a.values(), rtol=1e-7, atol=1e-9)
    (saved,) = b.optimizer.state_dict()["state"].values()
    (other,) = a.optimizer.state_dict()["state"].values()
    assert set(other) - {"al"} == set(saved)
    assert saved["n_iter"] == other["n_iter"] and saved["func_evals"] == other["func_evals"]
    assert len(saved["ro"]) == len(other["ro"])


def converted(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ours(value.detach().numpy())
    if isinstance(value, dict):
        return {k: converted(v) for k, v in value.items()}
    return [converted(v) for v in value] if isinstance(value, list) else value


def test_a_state_of_torch_goes_on_here() -> None:
    a = Side(torch, theirs, torch.optim.LBFGS, valley, {"max_iter": 3, "lr": 0.1})
    b = Side(minitorch_dist, ours, optim.LBFGS, valley, {})
    a.step()
    b.optimizer.load_state_dict(converted(a.optimizer.state_dict()))
    for p, q in zip(b.params, a.params, strict=True):
        p.array[...] = q.detach().numpy()
    a.step(), b.step()
    np.testing.assert_allclose(b.values(), a.values(), rtol=1e-7)


def test_what_it_refuses() -> None:
    p, q = ours(np.ones(2), True), ours(np.ones(2), True)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.LBFGS([p], lr=-1)
    with pytest.raises(ValueError, match="doesn't support per-parameter options"):
        optim.LBFGS([{"params": [p]}, {"params": [q]}])
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([p]).step()
    side = Side(minitorch_dist, ours, optim.LBFGS, quartic, {"line_search_fn": "armijo"})
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        side.step()
