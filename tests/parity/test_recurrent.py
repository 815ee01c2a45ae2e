"""RNN, LSTM and GRU: layers, directions, single steps, bad input; as torch has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.finite_differences import gradcheck
from tests.parity.compare import same
from tests.parity.modules import agree, kind_of_error, same_layer

pytestmark = pytest.mark.parity

KINDS = ["RNN", "LSTM", "GRU"]


def draw(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "two layers": {"num_layers": 2},
    "both directions": {"bidirectional": True},
    "two layers, both directions, batch first": {"num_layers": 2, "bidirectional": True, "batch_first": True},
    "without bias": {"bias": False},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPTIONS)
def test_layers(kind: str, name: str) -> None:
    options = OPTIONS[name]
    for x in (draw(5, 3, 4), draw(5, 4), draw(1, 1, 4)):
        same_layer(lambda nn: getattr(nn, kind)(4, 6, **options), x, call=flat)


def flat(module: Any, *inputs: Any) -> Any:
    """Output and states in one tuple."""
    output, state = module(*inputs)
    return (output, *(state if isinstance(state, tuple) else (state,)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["plain", "two layers, both directions, batch first"])
def test_initial_states(kind: str, name: str) -> None:
    options = OPTIONS[name]
    places = options.get("num_layers", 1) * (2 if "bidirectional" in options else 1)
    x = draw(3, 5, 4) if options.get("batch_first") else draw(5, 3, 4)
    states = [draw(places, 3, 6, seed=1), draw(places, 3, 6, seed=2)]
    if kind == "LSTM":
        same_layer(lambda nn: nn.LSTM(4, 6, **options), x, *states, call=lambda m, x, h, c: flat(m, x, (h, c)))
    else:
        same_layer(lambda nn: getattr(nn, kind)(4, 6, **options), x, states[0], call=flat)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}], ids=str)
def test_relu(options: dict[str, Any]) -> None:
    same_layer(lambda nn: nn.RNN(4, 6, nonlinearity="relu", **options), draw(5, 3, 4), call=flat)


@pytest.mark.parametrize("bias", [True, False])
def test_single_steps(bias: bool) -> None:
    for x, h in ((draw(3, 4), draw(3, 6, seed=1)), (draw(4), draw(6, seed=1))):
        for kind in ("RNNCell", "GRUCell"):
            same_layer(lambda nn, k=kind: getattr(nn, k)(4, 6, bias=bias), x, h)
            same_layer(lambda nn, k=kind: getattr(nn, k)(4, 6, bias=bias), x)
        same_layer(lambda nn: nn.LSTMCell(4, 6, bias=bias), x, h, h * 0.5, call=lambda m, x, h, c: m(x, (h, c)))


def test_a_loop_of_cells_is_a_layer() -> None:
    import minitorch_dist as mtd

    layer, cell = mtd.nn.LSTM(4, 6), mtd.nn.LSTMCell(4, 6)
    cell.load_state_dict({k.replace("_l0", ""): v for k, v in layer.state_dict().items()})
    x = mtd.randn(5, 3, 4)
    state = None
    for step in x:
        state = cell(step, state)
    output, (h, c) = layer(x)
    assert state is not None and mtd.allclose(h[0], state[0]) and mtd.allclose(c[0], state[1])
    assert mtd.allclose(output[-1], state[0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_by_finite_differences(kind: str) -> None:
    import minitorch_dist as mtd

    module = getattr(mtd.nn, kind)(2, 3, num_layers=2, bidirectional=True).double()
    x = mtd.randn(3, 2, 2, dtype=mtd.float64, requires_grad=True)
    assert gradcheck(lambda x: module(x)[0], (x,))


def test_dropout_between_layers_only() -> None:
    import minitorch_dist as mtd

    module = mtd.nn.LSTM(4, 50, num_layers=2, dropout=0.5)
    x = mtd.randn(3, 2, 4)
    a, b = module(x)[0], module(x)[0]
    assert not mtd.equal(a, b)
    module.eval()
    assert mtd.equal(module(x)[0], module(x)[0])


def test_what_is_refused() -> None:
    for options in ({"hidden_size": 0}, {"num_layers": 0}, {"dropout": 1.5}):
        agree(lambda t, o=options: kind_of_error(lambda: t.nn.LSTM(**{"input_size": 3, "hidden_size": 4, **o})))
    agree(lambda t: kind_of_error(lambda: t.nn.RNN(3, 4, nonlinearity="sin")))
    agree(lambda t: repr(t.nn.LSTM(3, 4, dropout=0.5)))  # warns: one layer only
    x = draw(5, 2, 3)
    for kind in KINDS:
        same(lambda t, x, k=kind: getattr(t.nn, k)(4, 6)(x), x, grad=False)
        same(lambda t, x, k=kind: getattr(t.nn, k)(3, 6)(x[None]), x, grad=False)
        same(lambda t, x, k=kind: getattr(t.nn, k)(3, 6)(x[0, 0]), x, grad=False)
    same(lambda t, x: t.nn.RNN(3, 6)(x, t.zeros(1, 5, 6)), x, grad=False)
    same(lambda t, x: t.nn.RNN(3, 6)(x, t.zeros(1, 6)), x, grad=False)
    same(lambda t, x: t.nn.LSTM(3, 6)(x, (t.zeros(1, 2, 6), t.zeros(1, 2, 5))), x, grad=False)
