"""What layers do over time, by chance and in place, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.modules import agree, caught, kind_of_error, same_layer

pytestmark = pytest.mark.parity

Make = Callable[[Any], Any]


def draw(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


# --------------------------------------------------------------------------------- batch norm's averages


@pytest.mark.parametrize("momentum", [0.1, None, 1.0])
@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_over_several_batches(momentum: float | None, train: bool) -> None:
    same_layer(lambda nn: nn.BatchNorm2d(3, momentum=momentum), draw(4, 3, 2, 2), calls=3, train=train)


def test_batch_norm_states() -> None:
    def program(t: Any) -> Any:
        m = t.nn.BatchNorm1d(2)
        m(t.ones(3, 2) * 2)
        state = m.state_dict()
        new = t.nn.BatchNorm1d(2)
        result = repr(new.load_state_dict(state))
        versioned = m.state_dict()
        del versioned["num_batches_tracked"]
        missed = caught(lambda: new.load_state_dict(versioned))
        m.reset_running_stats()
        m.weight.data.fill_(3)
        m.reset_parameters()
        half = t.nn.BatchNorm1d(2).half()
        return [
            state,
            result,
            missed,
            m.state_dict(),
            new.state_dict(),
            half.running_mean.dtype,
            half.num_batches_tracked.dtype,
            t.nn.BatchNorm1d(2, track_running_stats=False).state_dict(),
            t.nn.BatchNorm2d(2, affine=False, dtype=t.float64).state_dict(),
        ]

    agree(program)


def test_untracked_averages_after_the_fact() -> None:
    def program(t: Any) -> Any:
        m = t.nn.BatchNorm1d(2)
        m.track_running_stats = False
        found = [m(t.arange(6.0).view(3, 2)), m.running_mean, m.num_batches_tracked]
        m.eval()
        return found, m(t.arange(6.0).view(3, 2))

    agree(program)


# --------------------------------------------------------------------------------------------- dropout


DROPOUTS = ["Dropout", "Dropout2d"]


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_where_nothing_is_left_to_chance(name: str) -> None:
    def program(t: Any) -> Any:
        make = getattr(t.nn, name)
        x = t.ones((2, 3, 4, 2, 2)[: {"Dropout2d": 4}.get(name, 5)])
        return [
            make(),
            make(0.3, True),
            make(0.0)(x),
            make(0.7).eval()(x),
            caught(lambda: make(1.5)),
            caught(lambda: make(-0.1)),
            make(1.0)(x) if "Alpha" not in name else None,
        ]

    agree(program)


@pytest.mark.parametrize("name, shape, own", [("Dropout", (100, 100), None), ("Dropout2d", (100, 50, 3, 2), 2)])
def test_dropout_drops_its_share_and_scales_the_rest(name: str, shape: Any, own: Any) -> None:
    out = getattr(mtd.nn, name)(0.2)(mtd.ones(*shape)).numpy()
    assert set(np.unique(out).tolist()) == {0.0, 1.25}
    assert (out == 0).mean() == pytest.approx(0.2, abs=0.03)
    if own:
        channels = out.reshape(*shape[:own], -1)
        assert (channels == channels[..., :1]).all()


# ------------------------------------------------------------------------------------------ activations


INPLACE: dict[str, Make] = {
    "ReLU": lambda nn: nn.ReLU(inplace=True),
    "LeakyReLU": lambda nn: nn.LeakyReLU(0.3, True),
    "SiLU": lambda nn: nn.SiLU(True),
    "ELU": lambda nn: nn.ELU(inplace=True),
}


@pytest.mark.parametrize("name", INPLACE)
def test_in_place_activations(name: str) -> None:
    def program(t: Any) -> Any:
        m = INPLACE[name](t.nn)
        x = t.from_numpy(2 * draw(3, 4)).requires_grad_()
        y = x * 1
        out = m(y)
        out.sum().backward()
        return m, out is y, y, x.grad, caught(lambda: m(x))[0]

    agree(program)


def test_softmax_without_a_dimension() -> None:
    def program(t: Any) -> Any:
        shapes = ((), (3,), (2, 3), (2, 3, 2), (2, 3, 2, 1))
        return [
            make(t.from_numpy(np.array(draw(*shape))))
            for shape in shapes
            for make in (t.nn.Softmax(), t.nn.LogSoftmax(), t.nn.functional.softmax)
        ]

    agree(program)


# ------------------------------------------------------------------------------------- convolutions' words


CONVOLUTIONS: dict[str, Callable[[Any], Any]] = {
    "groups": lambda nn: nn.Conv2d(4, 6, 3, groups=4),
    "inputs": lambda nn: nn.Conv2d(3, 6, 3, groups=2),
    "no groups": lambda nn: nn.Conv2d(3, 6, 3, groups=0),
    "padding": lambda nn: nn.Conv2d(3, 6, 3, padding="some"),
    "same and stride": lambda nn: nn.Conv2d(3, 6, 3, stride=2, padding="same"),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_impossible_convolutions(case: str) -> None:
    agree(lambda t: kind_of_error(lambda: CONVOLUTIONS[case](t.nn)))


def test_embedding_tables() -> None:
    def program(t: Any) -> Any:
        nn = t.nn
        rows = t.arange(6.0).view(3, 2)
        m, thawed = (nn.Embedding.from_pretrained(rows), nn.Embedding.from_pretrained(rows, freeze=False))
        rows[0, 0] = 9.0
        bag = nn.EmbeddingBag.from_pretrained(rows)
        padded = nn.Embedding(4, 2, padding_idx=-3)
        return [
            m,
            m.weight,
            thawed.weight,
            bag,
            bag.weight,
            padded,
            padded.weight[1],
            m(t.tensor([2, 0])),
            bag(t.tensor([[0, 1, 2]])),
            kind_of_error(lambda: nn.Embedding(3, 2, padding_idx=3)),
            kind_of_error(lambda: nn.Embedding(3, 2, padding_idx=-4)),
            kind_of_error(lambda: m(t.tensor([3]))),
        ]

    agree(program)
