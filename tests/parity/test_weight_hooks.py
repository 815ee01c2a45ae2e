"""Weight norm and spectral norm are torch's: names, values, gradients, states, removal."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, torch
from tests.parity.modules import kind_of_error

pytestmark = pytest.mark.parity
LAYERS = {
    "linear": (lambda t: t.nn.Linear(3, 4), (2, 3)),
    "conv": (lambda t: t.nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
    "transposed": (lambda t: t.nn.ConvTranspose2d(2, 3, 2), (1, 2, 3, 3)),
}


def numbers(t: Any, *shape: int) -> Any:
    return t.from_numpy(np.sin(np.arange(float(np.prod(shape))) + 1).reshape(shape))


def course(t: Any, kind: str, wrap: Any, remove: Any) -> list[Any]:
    """Two steps of training, then a forward in eval mode, then without the hook."""
    make, shape = LAYERS[kind]
    layer = make(t).double()
    with t.no_grad():
        for p in layer.parameters():
            p.copy_(numbers(t, *p.shape))
    with warnings.catch_warnings(action="ignore"):
        wrap(t, layer)
    for buffer in layer.buffers():
        buffer.copy_(numbers(t, *buffer.shape))
    found: list[Any] = [sorted(layer.state_dict())]
    for _ in range(2):
        layer.zero_grad()
        (layer(numbers(t, *shape)) ** 2).sum().backward()
        with t.no_grad():
            for p in layer.parameters():
                found.append(p.grad.numpy().copy())
                p -= 0.01 * p.grad
    found += [layer.eval()(numbers(t, *shape)).detach().numpy()]
    with warnings.catch_warnings(action="ignore"):
        remove(t, layer)
    return [*found, layer(numbers(t, *shape)).detach().numpy(), sorted(layer.state_dict())]


WAYS = {
    "weight": (lambda t, x: t.nn.utils.weight_norm(x), lambda t, x: t.nn.utils.remove_weight_norm(x)),
    "weight, one length": (
        lambda t, x: t.nn.utils.weight_norm(x, dim=None), lambda t, x: t.nn.utils.remove_weight_norm(x)
    ),
    "spectral": (
        lambda t, x: t.nn.utils.spectral_norm(x), lambda t, x: t.nn.utils.remove_spectral_norm(x)
    ),
    "spectral, 3 steps": (
        lambda t, x: t.nn.utils.spectral_norm(x, n_power_iterations=3),
        lambda t, x: t.nn.utils.remove_spectral_norm(x),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", LAYERS)
def test_training(kind: str, way: str) -> None:
    for theirs, ours in zip(
        course(torch, kind, *WAYS[way]), course(mtd, kind, *WAYS[way]), strict=True
    ):
        if isinstance(theirs, list):
            assert theirs == ours
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_refusals() -> None:
    def twice(t: Any, wrap: str) -> Any:
        layer = t.nn.Linear(2, 2)
        for _ in range(2):
            getattr(t.nn.utils, wrap)(layer)

    for wrap in ("weight_norm", "spectral_norm"):
        with warnings.catch_warnings(action="ignore"):
            kinds = [kind_of_error(lambda t=t, w=wrap: twice(t, w)) for t in (torch, mtd)]
        assert kinds == ["RuntimeError"] * 2
    with pytest.raises(ValueError, match="not found"):
        mtd.nn.utils.remove_weight_norm(mtd.nn.Linear(1, 1))
    with pytest.raises(ValueError, match="n_power_iterations"):
        mtd.nn.utils.spectral_norm(mtd.nn.Linear(1, 1), n_power_iterations=0)
