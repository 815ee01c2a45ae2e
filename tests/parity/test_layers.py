"""Every layer against torch's, from equal weights: repr, state, outputs, gradients, buffers, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.modules import agree, caught, kind_of_error, same_layer

pytestmark = pytest.mark.parity

Make = Callable[[Any], Any]


def draw(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


SHAPES: dict[str, tuple[Make, Any]] = {
    "Identity": (lambda nn: nn.Identity(3, x=4), draw(2, 3)),
    "Flatten": (lambda nn: nn.Flatten(), draw(2, 3, 4)),
    "Flatten dims": (lambda nn: nn.Flatten(0, 1), draw(2, 3, 4)),
    "Unflatten": (lambda nn: nn.Unflatten(1, (2, -1)), draw(2, 6)),
}

LINEAR: dict[str, tuple[Make, Any]] = {
    "Linear": (lambda nn: nn.Linear(3, 5), draw(4, 3)),
    "Linear without bias": (lambda nn: nn.Linear(3, 5, bias=False), draw(2, 4, 3)),
    "Linear of a vector": (lambda nn: nn.Linear(3, 5), draw(3)),
    "Linear of nothing": (lambda nn: nn.Linear(3, 5), draw(0, 3)),
    "Linear chain": (
        lambda nn: nn.Sequential(nn.Linear(3, 4), nn.Identity(), nn.Linear(4, 2)),
        draw(5, 3),
    ),
}

POOL: dict[str, tuple[Make, Any]] = {
    "MaxPool1d": (lambda nn: nn.MaxPool1d(3, 2, 1), draw(2, 3, 9)),
    "MaxPool1d indices": (lambda nn: nn.MaxPool1d(2, return_indices=True), draw(2, 3, 9)),
    "MaxPool2d": (lambda nn: nn.MaxPool2d(2), draw(2, 3, 6, 7)),
    "MaxPool2d all": (
        lambda nn: nn.MaxPool2d((3, 2), (2, 1), (1, 0), (1, 2), True, True),
        draw(2, 3, 6, 7),
    ),
    "AvgPool1d": (lambda nn: nn.AvgPool1d(3, 2, 1, True, False), draw(2, 3, 9)),
    "AvgPool2d": (lambda nn: nn.AvgPool2d((3, 2), stride=2, padding=1), draw(2, 3, 6, 7)),
    "AvgPool2d divisor": (lambda nn: nn.AvgPool2d(2, divisor_override=3), draw(2, 3, 6, 7)),
    "AdaptiveAvgPool1d": (lambda nn: nn.AdaptiveAvgPool1d(4), draw(2, 3, 9)),
    "AdaptiveAvgPool2d": (lambda nn: nn.AdaptiveAvgPool2d((2, None)), draw(2, 3, 5, 7)),
    "AdaptiveAvgPool2d one": (lambda nn: nn.AdaptiveAvgPool2d(1), draw(2, 3, 5, 7)),
    "AdaptiveMaxPool1d": (lambda nn: nn.AdaptiveMaxPool1d(4), draw(2, 3, 9)),
    "AdaptiveMaxPool2d": (lambda nn: nn.AdaptiveMaxPool2d((2, 3), True), draw(2, 3, 5, 7)),
}

NORM: dict[str, tuple[Make, Any]] = {
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(3), draw(5, 3)),
    "BatchNorm1d series": (lambda nn: nn.BatchNorm1d(3, eps=0.1, momentum=0.3), draw(5, 3, 4)),
    "BatchNorm1d cumulative": (lambda nn: nn.BatchNorm1d(3, momentum=None), draw(5, 3)),
    "BatchNorm1d plain": (lambda nn: nn.BatchNorm1d(3, affine=False), draw(5, 3)),
    "BatchNorm1d no bias": (lambda nn: nn.BatchNorm1d(3, bias=False), draw(5, 3)),
    "BatchNorm1d untracked": (
        lambda nn: nn.BatchNorm1d(3, track_running_stats=False),
        draw(5, 3),
    ),
    "BatchNorm1d one value": (lambda nn: nn.BatchNorm1d(3), draw(1, 3)),
    "BatchNorm1d wrong": (lambda nn: nn.BatchNorm1d(3), draw(3)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(3), draw(2, 3, 4, 5)),
    "BatchNorm2d wrong": (lambda nn: nn.BatchNorm2d(3), draw(5, 3)),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(3), draw(2, 3, 4, 2, 3)),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(3), draw(2, 3, 4)),
    "InstanceNorm1d single": (lambda nn: nn.InstanceNorm1d(3), draw(3, 4)),
    "InstanceNorm2d": (
        lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        draw(2, 3, 4, 5),
    ),
    "InstanceNorm2d wrong": (lambda nn: nn.InstanceNorm2d(4, affine=True), draw(2, 3, 4, 5)),
    "LayerNorm": (lambda nn: nn.LayerNorm(4), draw(2, 3, 4)),
    "LayerNorm two": (lambda nn: nn.LayerNorm([3, 4], eps=0.1, bias=False), draw(2, 3, 4)),
    "LayerNorm plain": (lambda nn: nn.LayerNorm((4,), elementwise_affine=False), draw(2, 4)),
    "RMSNorm": (lambda nn: nn.RMSNorm(4), draw(2, 3, 4)),
    "RMSNorm eps": (lambda nn: nn.RMSNorm([3, 4], 0.1, elementwise_affine=False), draw(2, 3, 4)),
    "GroupNorm": (lambda nn: nn.GroupNorm(2, 4), draw(3, 4, 5)),
    "GroupNorm plain": (lambda nn: nn.GroupNorm(4, 4, 0.1, affine=False), draw(3, 4, 2, 2)),
}

ACTIVATION: dict[str, tuple[Make, Any]] = {
    "ReLU": (lambda nn: nn.ReLU(), draw(3, 4)),
    "ReLU6": (lambda nn: nn.ReLU6(), 4 * draw(3, 4)),
    "LeakyReLU": (lambda nn: nn.LeakyReLU(0.2), draw(3, 4)),
    "PReLU": (lambda nn: nn.PReLU(), draw(3, 4)),
    "PReLU channels": (lambda nn: nn.PReLU(4, init=0.1), draw(3, 4, 2)),
    "Threshold": (lambda nn: nn.Threshold(0.1, 20.0), draw(3, 4)),
    "Hardtanh": (lambda nn: nn.Hardtanh(-0.5, 0.7), draw(3, 4)),
    "Sigmoid": (lambda nn: nn.Sigmoid(), draw(3, 4)),
    "Tanh": (lambda nn: nn.Tanh(), draw(3, 4)),
    "LogSigmoid": (lambda nn: nn.LogSigmoid(), draw(3, 4)),
    "Softsign": (lambda nn: nn.Softsign(), draw(3, 4)),
    "Hardsigmoid": (lambda nn: nn.Hardsigmoid(), 4 * draw(3, 4)),
    "SiLU": (lambda nn: nn.SiLU(), draw(3, 4)),
    "Mish": (lambda nn: nn.Mish(), draw(3, 4)),
    "SELU": (lambda nn: nn.SELU(), draw(3, 4)),
    "Hardswish": (lambda nn: nn.Hardswish(), 4 * draw(3, 4)),
    "ELU": (lambda nn: nn.ELU(0.5), draw(3, 4)),
    "CELU": (lambda nn: nn.CELU(0.5), draw(3, 4)),
    "GELU": (lambda nn: nn.GELU(), draw(3, 4)),
    "GELU tanh": (lambda nn: nn.GELU("tanh"), draw(3, 4)),
    "Softplus": (lambda nn: nn.Softplus(2.0, 1.0), draw(3, 4)),
    "GLU": (lambda nn: nn.GLU(0), draw(4, 3)),
    "Hardshrink": (lambda nn: nn.Hardshrink(0.3), draw(3, 4)),
    "Softshrink": (lambda nn: nn.Softshrink(0.3), draw(3, 4)),
    "Tanhshrink": (lambda nn: nn.Tanhshrink(), draw(3, 4)),
    "Softmax": (lambda nn: nn.Softmax(1), draw(3, 4)),
    "LogSoftmax": (lambda nn: nn.LogSoftmax(dim=-1), draw(3, 4)),
    "Softmin": (lambda nn: nn.Softmin(0), draw(3, 4)),
    "Softmax2d": (lambda nn: nn.Softmax2d(), draw(2, 3, 4, 2)),
    "Softmax2d wrong": (lambda nn: nn.Softmax2d(), draw(2, 3)),
}


@pytest.mark.parametrize(
    "table, name", [(t, n) for t in (SHAPES, LINEAR, POOL, NORM, ACTIVATION) for n in t]
)
@pytest.mark.parametrize("train", [True, False])
def test_layer(table: dict[str, tuple[Make, Any]], name: str, train: bool) -> None:
    make, x = table[name]
    same_layer(make, *(x if isinstance(x, tuple) else (x,)), train=train)


@pytest.mark.parametrize("bias", [True, False])
def test_bilinear(bias: bool) -> None:
    same_layer(lambda nn: nn.Bilinear(3, 4, 2, bias=bias), draw(5, 3), draw(5, 4))


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "Unflatten size": lambda t, nn: nn.Unflatten(1, 3),
    "Unflatten element": lambda t, nn: nn.Unflatten(1, (1, "a")),
    "Bilinear": lambda t, nn: nn.Bilinear(0, 1, 1),
    "GroupNorm": lambda t, nn: nn.GroupNorm(2, 3),
    "Hardtanh": lambda t, nn: nn.Hardtanh(1.0, 0.0),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_settings(case: str) -> None:
    agree(lambda t: kind_of_error(lambda: WRONG[case](t, t.nn)))


STARTS: dict[str, tuple[Make, float]] = {
    "Linear": (lambda nn: nn.Linear(50, 400), 1 / 50**0.5),
    "Bilinear": (lambda nn: nn.Bilinear(30, 20, 20), 1 / 30**0.5),
}


@pytest.mark.parametrize("name", STARTS)
def test_default_values_are_uniform_within_torchs_bound(name: str) -> None:
    import minitorch_dist as mtd

    make, bound = STARTS[name]
    for p in make(mtd.nn).parameters():
        values = p.detach().numpy()
        assert abs(values).max() <= bound
        if values.size > 300:
            assert abs(values).max() > 0.97 * bound
            assert abs(values.mean()) < 0.1 * bound
            assert values.std() == pytest.approx(bound / 3**0.5, rel=0.08)


def test_dtypes_of_new_layers() -> None:
    def program(t: Any) -> Any:
        return [
            t.nn.Linear(2, 3, dtype=t.float64).weight.dtype,
            t.nn.Linear(2, 3, device="cpu").weight.device,
            t.nn.Linear(2, 0).weight.shape[0],
            caught(lambda: t.nn.Linear(2, 3)(t.zeros(2, 3))),
        ]

    agree(program)


# --------------------------------------------------------------------------------- batch norm's averages


@pytest.mark.parametrize("momentum", [0.1, None, 1.0])
@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_over_several_batches(momentum: float | None, train: bool) -> None:
    same_layer(
        lambda nn: nn.BatchNorm2d(3, momentum=momentum), draw(4, 3, 2, 2), calls=3, train=train
    )


def test_batch_norm_states() -> None:
    def program(t: Any) -> Any:
        m = t.nn.BatchNorm1d(2)
        m(t.ones(3, 2) * 2)
        state = m.state_dict()
        old = {k: v for k, v in state.items() if k != "num_batches_tracked"}
        new = t.nn.BatchNorm1d(2)
        result = repr(new.load_state_dict(old))  # saved before that buffer existed
        refused = caught(lambda: new.load_state_dict({k: v for k, v in old.items() if k != "bias"}))
        versioned = m.state_dict()
        del versioned["num_batches_tracked"]
        missed = caught(lambda: new.load_state_dict(versioned))
        m.reset_running_stats()
        m.weight.data.fill_(3)
        m.reset_parameters()
        half = t.nn.BatchNorm1d(2).half()
        return [
            state, result, refused, missed, m.state_dict(), new.state_dict(),
            half.running_mean.dtype, half.num_batches_tracked.dtype,
            t.nn.BatchNorm1d(2, track_running_stats=False).state_dict(),
            t.nn.BatchNorm2d(2, affine=False, dtype=t.float64).state_dict(),
        ]  # fmt: skip

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


DROPOUTS = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_where_nothing_is_left_to_chance(name: str) -> None:
    def program(t: Any) -> Any:
        make = getattr(t.nn, name)
        x = t.ones((2, 3, 4, 2, 2)[: {"Dropout1d": 3, "Dropout2d": 4}.get(name, 5)])
        return [
            make(), make(0.3, True), make(0.0)(x), make(0.7).eval()(x),
            caught(lambda: make(1.5)), caught(lambda: make(-0.1)),
            make(1.0)(x) if "Alpha" not in name else None,
        ]  # fmt: skip

    agree(program)


@pytest.mark.parametrize("name, shape, own", [
    ("Dropout", (100, 100), None), ("Dropout1d", (100, 50, 7), 2), ("Dropout2d", (100, 50, 3, 2), 2),
    ("Dropout3d", (100, 50, 3, 2, 2), 2),
])  # fmt: skip
def test_dropout_drops_its_share_and_scales_the_rest(name: str, shape: Any, own: Any) -> None:
    import minitorch_dist as mtd

    out = getattr(mtd.nn, name)(0.2)(mtd.ones(*shape)).numpy()
    assert set(np.unique(out).tolist()) == {0.0, 1.25}
    assert (out == 0).mean() == pytest.approx(0.2, abs=0.03)
    if own:
        channels = out.reshape(*shape[:own], -1)
        assert (channels == channels[..., :1]).all()


# ------------------------------------------------------------------------------------------ activations


INPLACE: dict[str, Make] = {
    "ReLU": lambda nn: nn.ReLU(inplace=True),
    "ReLU6": lambda nn: nn.ReLU6(True),
    "LeakyReLU": lambda nn: nn.LeakyReLU(0.3, True),
    "Threshold": lambda nn: nn.Threshold(0.5, -1.0, True),
    "Hardtanh": lambda nn: nn.Hardtanh(inplace=True),
    "SiLU": lambda nn: nn.SiLU(True),
    "Mish": lambda nn: nn.Mish(True),
    "SELU": lambda nn: nn.SELU(True),
    "ELU": lambda nn: nn.ELU(inplace=True),
    "CELU": lambda nn: nn.CELU(0.5, True),
    "Hardswish": lambda nn: nn.Hardswish(True),
    "Hardsigmoid": lambda nn: nn.Hardsigmoid(True),
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
            for make in (t.nn.Softmax(), t.nn.LogSoftmax(), t.nn.Softmin(), t.nn.functional.softmax)
        ]

    agree(program)
