"""Every loss, in every reduction, with weights, odd shapes and bad input: as torch has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same

pytestmark = pytest.mark.parity

REDUCTIONS = ["mean", "sum", "none"]
SHAPES = [(), (1,), (5,), (3, 4), (2, 3, 2), (0, 3)]


def floats(shape: tuple[int, ...], seed: int = 0, dtype: Any = np.float64) -> Any:
    return np.asarray(np.random.default_rng(seed).normal(size=shape)).astype(dtype)


def chances(shape: tuple[int, ...], seed: int = 0, dtype: Any = np.float64) -> Any:
    return np.asarray(np.random.default_rng(seed).uniform(0.02, 0.98, shape)).astype(dtype)


def F(t: Any, name: str) -> Any:
    return getattr(t.nn.functional, name)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mse_loss", {}),
        ("l1_loss", {}),
        ("smooth_l1_loss", {}),
        ("smooth_l1_loss", {"beta": 0.3}),
        ("smooth_l1_loss", {"beta": 0.0}),
        ("huber_loss", {"delta": 0.4}),
    ],
)
def test_distances(name: str, options: dict[str, Any], reduction: str, shape: Any) -> None:
    fixed = name == "soft_margin_loss"  # its target has no gradient
    for dtype in (np.float64, np.float32):
        same(
            lambda t, x, y: F(t, name)(x, y.detach() if fixed else y, reduction=reduction, **options),
            floats(shape, 1, dtype),
            floats(shape, 2, dtype),
        )


def test_a_target_of_another_shape_warns_and_broadcasts() -> None:
    import minitorch_dist as mtd

    x, y = mtd.zeros(3, 1), mtd.ones(3)
    with pytest.warns(UserWarning, match=r"a target of shape \[3\] beside"):
        assert mtd.nn.functional.mse_loss(x, y).item() == 1.0
    same(lambda t, x, y: F(t, "mse_loss")(x, y, reduction="none"), floats((3, 1)), floats((4,)))
    same(lambda t, x, y: F(t, "l1_loss")(x, y), floats((3, 2)), floats((4,)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_binary_cross_entropy(reduction: str, shape: Any) -> None:
    for dtype in (np.float64, np.float32):
        y = chances(shape, 2, dtype)
        same(
            lambda t, p, y, w: F(t, "binary_cross_entropy")(p, y, w.detach(), reduction=reduction),
            chances(shape, 1, dtype),
            y,
            np.asarray(chances(shape, 3, dtype)),
            grad=True,
        )
        same(
            lambda t, x, y: F(t, "binary_cross_entropy_with_logits")(x, y, reduction=reduction),
            np.asarray(floats(shape, 1, dtype) * 5),
            y,
        )


def test_binary_cross_entropy_at_the_edges() -> None:
    edges = np.array([0.0, 1.0, 0.0, 1.0, 0.5])
    same(lambda t, p, y: F(t, "binary_cross_entropy")(p, y), edges, np.array([0.0, 1, 1, 0, 0.3]))
    big = np.array([1000.0, -1000.0, 90, -90])
    same(
        lambda t, x, y: F(t, "binary_cross_entropy_with_logits")(x, y),
        big.astype(np.float32),
        np.array([1, 0, 0, 1], np.float32),
    )
    same(lambda t, p, y: F(t, "binary_cross_entropy")(p, y), np.array([1.5]), np.array([0.5]))
    same(lambda t, p, y: F(t, "binary_cross_entropy")(p, y), chances((3,)), chances((3, 1)))
    same(lambda t, p, y: F(t, "binary_cross_entropy_with_logits")(p, y), chances((3,)), chances((2,)))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_positive_weights(reduction: str) -> None:
    same(
        lambda t, x, y, q, w: F(t, "binary_cross_entropy_with_logits")(
            x, y, weight=w.detach(), pos_weight=q.detach(), reduction=reduction
        ),
        floats((5, 3)),
        chances((5, 3)),
        chances((3,)) * 3,
        chances((5, 1)),
    )


@pytest.mark.parametrize("reduction", [*REDUCTIONS, "batchmean"])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_divergence(reduction: str, log_target: bool) -> None:
    x, p = floats((4, 3), 1), chances((4, 3))
    p /= p.sum(1, keepdims=True)
    if not log_target:
        never = np.array([[0, 0.5, 0.5]])
        same(lambda t, x: F(t, "kl_div")(x, t.from_numpy(never), reduction="sum"), x[:1])
    same(
        lambda t, x, y: F(t, "kl_div")(t.log_softmax(x, 1), y, reduction=reduction, log_target=log_target),
        x,
        np.log(p + 0.1) if log_target else p,
    )


CLASSES = [((4,), ()), ((5, 4), (5,)), ((5, 4, 3), (5, 3)), ((2, 4, 3, 2), (2, 3, 2)), ((1, 1), (1,))]


@pytest.mark.parametrize(("shape", "where"), CLASSES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_classes(name: str, shape: Any, where: Any, reduction: str, weighted: bool) -> None:
    classes = shape[0] if len(shape) == 1 else shape[1]
    target = np.random.default_rng(1).integers(0, classes, where)
    for ignore in (-100, 0):
        for dtype in (np.float64, np.float32):
            weight = chances((classes,), 3, dtype)
            same(
                lambda t, x, y, w, ignore=ignore: F(t, name)(
                    x, y, w.detach() if weighted else None, ignore_index=ignore, reduction=reduction
                ),
                floats(shape, 2, dtype),
                np.asarray(target),
                weight,
            )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_label_smoothing_and_probabilities(reduction: str, weighted: bool, smoothing: float) -> None:
    for shape in ((4,), (5, 4), (3, 4, 2)):
        classes = shape[0] if len(shape) == 1 else shape[1]
        where = shape[:1][:0] if len(shape) == 1 else shape[:1] + shape[2:]
        index = np.asarray(np.random.default_rng(1).integers(0, classes, where))
        for target in (index, chances(shape, 5)):
            for ignore in (-100, 1):
                if target.dtype == np.float64 and ignore == 1:
                    continue
                same(
                    lambda t, x, y, w, ignore=ignore: F(t, "cross_entropy")(
                        x,
                        y.detach(),
                        w.detach() if weighted else None,
                        ignore_index=ignore,
                        reduction=reduction,
                        label_smoothing=smoothing,
                    ),
                    floats(shape, 2),
                    target,
                    chances((classes,), 3),
                )


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((3, 4), np.array([1.0, 2, 3])),
        ((3, 4), np.array([1, 2, 7])),
        ((3, 4), np.array([1, -1, 0])),
        ((3, 4), np.array([1, 2])),
        ((3, 4), np.array([1, 2, 3], np.int32)),
        ((3, 4, 5), np.zeros((3, 4), np.int64)),
        ((0, 4), np.zeros(0, np.int64)),
        ((3, 4), np.full(3, -100)),
        ((3, 4), np.zeros((3, 1), np.int64)),
    ],
)
@pytest.mark.parametrize("name", ["cross_entropy", "nll_loss"])
def test_odd_and_bad_targets(name: str, x: Any, y: Any) -> None:
    same(lambda t, x, y: F(t, name)(x, y), floats(x), y, grad=y.dtype.kind == "i")


def test_one_row_may_come_with_a_list_of_one_class() -> None:
    for name in ("cross_entropy", "nll_loss"):  # torch computes it and fails in its backward
        same(lambda t, x, y, n=name: F(t, n)(x, y), floats((4,)), np.array([1]), grad=False)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "cross_entropy"])
def test_half_precision(name: str, half: str) -> None:
    index = np.array([0, 3, 1])

    def loss(t: Any, x: Any, y: Any, i: Any) -> Any:
        kind = getattr(t, half)
        return F(t, name)(x.to(kind), i if name == "cross_entropy" else y.to(kind))

    same(loss, floats((3, 4), 1, np.float32), floats((3, 4), 2, np.float32), index, rtol=2e-2, atol=1e-2)


MARGINS: dict[str, tuple[Any, tuple[Any, ...]]] = {}


@pytest.mark.parametrize("name", ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "BCEWithLogitsLoss", "KLDivLoss"])
def test_modules_of_two_tensors(name: str) -> None:
    x, y = floats((4, 3), 1), np.sign(floats((4, 3), 2))

    def loss(t: Any, x: Any, y: Any) -> Any:
        module = getattr(t.nn, name)(reduction="sum")
        assert repr(module) == f"{name}()"
        return module(x, y.detach())

    same(loss, x, y)


def test_modules_with_weights_keep_them_as_buffers() -> None:
    x, w = floats((4, 3), 1, np.float32), chances((3,), 2, np.float32)
    index = np.array([0, 2, 1, 1])

    def losses(t: Any, x: Any, w: Any, index: Any) -> Any:
        w = w.detach()
        cross = t.nn.CrossEntropyLoss(weight=w, label_smoothing=0.1, ignore_index=1)
        nll = t.nn.NLLLoss(weight=w)
        bce = t.nn.BCEWithLogitsLoss(pos_weight=w)
        keys = [list(m.state_dict()) for m in (cross, nll, bce)]
        hot = t.nn.functional.one_hot(index, 3).to(x.dtype)
        found = [cross(x, index), nll(t.log_softmax(x, 1), index), bce(x, hot)]
        return [*found, str(keys)]

    same(losses, x, w, index)
    same(lambda t, x: t.nn.BCELoss()(t.sigmoid(x), t.zeros(4, 3)), x)
