"""Rows of a table, and bags of them, against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
OPTIONS: list[dict[str, Any]] = [{}, {"padding_idx": 2}, {"padding_idx": -1}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("index", INDICES, ids=lambda i: str(i.shape))
def test_embedding(index: Any, options: Any) -> None:
    same(lambda t, i, w: t.nn.functional.embedding(i, w, **options), index, TABLE)


def test_types() -> None:
    for kind in (np.float32, np.float16, np.int64):
        table = (3 * TABLE).astype(kind)
        same(lambda t, i, w: t.nn.functional.embedding(i, w), INDICES[0], table, rtol=1e-2, atol=1e-2)


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


def test_refusals() -> None:
    def refused(name: str, *args: Any, **options: Any) -> None:
        same(lambda t, *a: getattr(t.nn.functional, name)(*a, **options), *args)

    one = np.array([1])
    for index in (np.array([7]), np.array([-1]), np.array([1.0]), one.astype(np.int16), one > 0):
        refused("embedding", index, TABLE)
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


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags(mode: str) -> None:
    for offsets in ([0, 2, 2, 5], [0], [0, 0, 9]):
        same(
            lambda t, i, w, o: t.nn.functional.embedding_bag(i, w, o, mode=mode),
            INDICES[1].astype(np.int64),
            TABLE,
            np.array(offsets),
        )
    same(lambda t, i, w: t.nn.functional.embedding_bag(i, w, mode=mode), INDICES[0], TABLE)
