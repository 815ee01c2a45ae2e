"""Rows of a table, and bags of them, against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
from tests.parity.compare import same

pytestmark = pytest.mark.parity

RNG = np.random.default_rng(2)
TABLE = RNG.standard_normal((7, 4))
INDICES = [
    RNG.integers(0, 7, (5, 6)),
    RNG.integers(0, 7, 9).astype(np.int32),
    np.array(3),
    np.zeros((0, 2), np.int64),
    np.full((3, 4), 2),
    np.arange(12).reshape(3, 4).T % 7,
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding_idx": 2},
    {"padding_idx": -1},
    {"scale_grad_by_freq": True},
    {"padding_idx": 3, "scale_grad_by_freq": True},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("index", INDICES, ids=lambda i: str(i.shape))
def test_embedding(index: Any, options: Any) -> None:
    same(lambda t, i, w: t.nn.functional.embedding(i, w, **options), index, TABLE)


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_rows_that_are_too_long(norm: float) -> None:
    def expression(t: Any, i: Any, w: Any) -> Any:
        table = w.detach().clone()
        table.requires_grad_()
        out = t.nn.functional.embedding(i, table, max_norm=1.3, norm_type=norm)
        (out * out).sum().backward()
        return out.detach(), table.detach(), table._version, table.grad

    same(expression, np.array([0, 0, 5, 2]), TABLE)


def test_types() -> None:
    for kind in (np.float32, np.float16, np.int64):
        table = (3 * TABLE).astype(kind)
        same(
            lambda t, i, w: t.nn.functional.embedding(i, w), INDICES[0], table, rtol=1e-2, atol=1e-2
        )


FLAT, CUTS = np.array([1, 2, 4, 5, 4, 3, 2, 0, 1]), np.array([0, 3, 3, 6])
BAGS: list[tuple[Any, Any, dict[str, Any]]] = [
    (INDICES[0], None, {}),
    (FLAT, CUTS, {}),
    (FLAT, CUTS.astype(np.int32), {}),
    (FLAT, np.array([0, 3, 3, 9]), {"include_last_offset": True}),
    (FLAT, np.array([0, 9]), {}),
    (np.zeros(0, np.int64), np.array([0, 0]), {}),
    (INDICES[0], None, {"padding_idx": 3}),
    (np.full((2, 3), 5), None, {"padding_idx": -2}),
    (FLAT, CUTS, {"padding_idx": 4}),
]


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize(("index", "cuts", "options"), BAGS)
def test_bags(index: Any, cuts: Any, options: Any, mode: str) -> None:
    given = (index, TABLE) if cuts is None else (index, TABLE, cuts)
    same(lambda t, *a: t.nn.functional.embedding_bag(*a, mode=mode, **options), *given)


def test_bags_scaled_by_frequency() -> None:
    """torch divides by the wrong counts here (a row picked once, after one picked thrice, by three)."""
    gradients = []
    for scaled in (False, True):
        table = mtd.from_numpy(TABLE.copy()).requires_grad_()
        index = mtd.from_numpy(INDICES[0])
        out = mtd.nn.functional.embedding_bag(index, table, scale_grad_by_freq=scaled)
        (out * out.detach()).sum().backward()
        gradients.append(table.grad.array)
    counts = np.maximum(np.bincount(INDICES[0].ravel(), minlength=7), 1)
    np.testing.assert_allclose(gradients[1], gradients[0] / counts[:, None])


@pytest.mark.parametrize("padding", [None, 2])
def test_weighted_bags(padding: int | None) -> None:
    for index, cuts in ((INDICES[0], None), (FLAT, CUTS)):
        scales = np.random.default_rng(1).standard_normal(index.shape)
        same(
            lambda t, i, w, s, c: t.nn.functional.embedding_bag(
                i, w, c, mode="sum", per_sample_weights=s, padding_idx=padding
            ),
            index,
            TABLE,
            scales,
            cuts,
        )


def test_ties_in_a_bag() -> None:
    same(lambda t, i, w: t.nn.functional.embedding_bag(i, w, mode="max"), INDICES[0], TABLE.round())


def test_refusals() -> None:
    def refused(name: str, *args: Any, **options: Any) -> None:
        same(lambda t, *a: getattr(t.nn.functional, name)(*a, **options), *args)

    one = np.array([1])
    for index in (np.array([7]), np.array([-1]), np.array([1.0]), one.astype(np.int16), one > 0):
        refused("embedding", index, TABLE)
        if index.dtype != bool:
            refused("embedding_bag", index[None], TABLE)
    refused("embedding", one, TABLE[0])
    refused("embedding", one, TABLE, padding_idx=7)
    refused("embedding", one, TABLE, padding_idx=-8)
    refused("embedding", [4], TABLE)
    refused("embedding_bag", one, TABLE)
    refused("embedding_bag", one[None], TABLE, one)
    refused("embedding_bag", FLAT, TABLE, np.array([1, 2]))
    refused("embedding_bag", FLAT, TABLE, np.array([0, 10]))
    refused("embedding_bag", FLAT, TABLE, np.array([[0]]))
    refused("embedding_bag", one[None, None], TABLE)
    refused("embedding_bag", INDICES[0], TABLE, mode="foo")
    refused("embedding_bag", INDICES[0], TABLE, mode="max", scale_grad_by_freq=True)
    refused("embedding_bag", INDICES[0], TABLE, padding_idx=9)
    for scales in (np.ones((5, 6)), np.ones((5, 5)), np.ones((5, 6), np.float32)):
        for mode in ("sum", "mean"):
            same(
                lambda t, i, w, s, m=mode: t.nn.functional.embedding_bag(
                    i, w, mode=m, per_sample_weights=s
                ),
                INDICES[0],
                TABLE,
                scales,
            )
