"""Channels dealt out as pixels, and likeness: the functions behind the picture layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same

pytestmark = pytest.mark.parity


def draw(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


Case = tuple[Callable[..., Any], tuple[Any, ...]]

PIXELS: dict[str, Case] = {
    "shuffle": (lambda t, x: t.pixel_shuffle(x, 2), (draw(2, 8, 3, 5),)),
    "shuffle alone": (lambda t, x: t.nn.functional.pixel_shuffle(x, 3), (draw(9, 2, 1),)),
    "shuffle batch of batches": (lambda t, x: t.pixel_shuffle(x, 2), (draw(2, 3, 4, 1, 2),)),
    "shuffle nothing": (lambda t, x: t.pixel_shuffle(x.detach(), 2), (draw(0, 4, 1, 2),)),
    "shuffle ints": (lambda t, x: t.pixel_shuffle(x, 2), (np.arange(16).reshape(1, 4, 2, 2),)),
    "shuffle strided": (lambda t, x: t.pixel_shuffle(x, 2), (draw(3, 5, 8).T,)),
    "shuffle halves": (lambda t, x: t.pixel_shuffle(x, 2), (draw(4, 2, 2, dtype=np.float16),)),
    "shuffle vector": (lambda t, x: t.pixel_shuffle(x, 2), (draw(4, 4),)),
    "shuffle odd": (lambda t, x: t.pixel_shuffle(x, 2), (draw(1, 3, 2, 2),)),
    "shuffle zero": (lambda t, x: t.pixel_shuffle(x, 0), (draw(1, 4, 2, 2),)),
}

LIKENESS: dict[str, Case] = {
    "cosine": (lambda t, x, y: t.cosine_similarity(x, y), (draw(4, 3), draw(4, 3, seed=1))),
    "cosine along 0": (
        lambda t, x, y: t.nn.functional.cosine_similarity(x, y, 0, 0.5),
        (draw(4, 3), draw(4, 3, seed=1)),
    ),
    "cosine broadcast": (lambda t, x, y: t.cosine_similarity(x, y, dim=-1), (draw(4, 1, 3), draw(5, 3, seed=1))),
    "cosine of zeros": (lambda t, x, y: t.cosine_similarity(x, y), (np.zeros((2, 3)), draw(2, 3))),
    "cosine mixed": (lambda t, x, y: t.cosine_similarity(x, y), (draw(2, 3), np.arange(6).reshape(2, 3))),
    "cosine ints": (lambda t, x: t.cosine_similarity(x, x), (np.arange(6).reshape(2, 3),)),
    "cosine wrongly": (lambda t, x, y: t.cosine_similarity(x, y), (draw(2, 3), draw(2, 4))),
    "normalize": (lambda t, x: t.nn.functional.normalize(x), (draw(4, 3),)),
    "normalize all": (lambda t, x: t.nn.functional.normalize(x, 1.0, (0, 1), 30.0), (draw(4, 3),)),
    "normalize zeros": (lambda t, x: t.nn.functional.normalize(x, dim=0), (np.zeros((2, 3)),)),
}

TABLES = (PIXELS, LIKENESS)


@pytest.mark.parametrize("table, name", [(table, name) for table in TABLES for name in table])
def test_as_in_torch(table: dict[str, Case], name: str) -> None:
    expression, arrays = table[name]
    halves = any(a.dtype == np.float16 for a in arrays)
    same(expression, *arrays, rtol=1e-2 if halves else 1e-6, atol=1e-2 if halves else 1e-9)
