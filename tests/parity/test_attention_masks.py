"""`scaled_dot_product_attention` with every mask that torch takes: values, gradients, and errors in torch's words."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.parity.compare import same
from tests.parity.modules import agree, caught

pytestmark = pytest.mark.parity

LEADS: list[tuple[int, ...]] = [(), (2,), (2, 3), (2, 1, 3)]
KINDS: list[Any] = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]
CLOSE: dict[Any, float] = {np.float16: 2e-2, ml_dtypes.bfloat16: 8e-2}


def draw(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def three(lead: tuple[int, ...], steps: int, sources: int, dtype: Any = np.float64) -> Any:
    """A query, a key and a value."""
    return [draw(*lead, length, 4, seed=seed, dtype=dtype) for seed, length in enumerate((steps, sources, sources))]


def attend(t: Any, *args: Any, **kwargs: Any) -> Any:
    return t.nn.functional.scaled_dot_product_attention(*args, **kwargs)


def same_attention(*args: Any, rtol: float = 1e-5, **kwargs: Any) -> None:
    same(lambda t, *given: attend(t, *given, **kwargs), *args, rtol=rtol, atol=rtol / 10)


def masks(lead: tuple[int, ...], steps: int, sources: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast to the scores. torch has no mask of fewer than two dimensions for four."""
    small = [] if len(lead) == 2 else [(), (sources,)]
    single = (1,) * len(lead)
    return [
        *small,
        (1, 1),
        (1, sources),
        (steps, 1),
        (steps, sources),
        (*lead, steps, sources),
        (*single, steps, sources),
        (*lead, 1, 1),
        (*lead[:-1], *single[:1], 1, sources),
    ]


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(("steps", "sources"), [(3, 5), (4, 4), (4, 1), (1, 1), (0, 3), (3, 0), (0, 0)])
def test_masks_of_every_shape(lead: tuple[int, ...], steps: int, sources: int) -> None:
    q, k, v = three(lead, steps, sources)
    for shape in masks(lead, steps, sources):
        same_attention(q, k, v, draw(*shape))
        same_attention(q, k, v, np.asarray(draw(*shape) > 0))


@pytest.mark.parametrize("lead", [(2,), (2, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_see_nothing_and_numbers_at_the_edge(lead: tuple[int, ...], kind: Any) -> None:
    q, k, v = three(lead, 3, 5, kind)
    near = CLOSE.get(kind, 1e-5)
    seen = draw(3, 5) > 0
    seen[1] = False
    for mask in (
        seen,
        seen & False,
        np.where(seen, 0.3, -np.inf).astype(kind),
        np.where(seen, 0.3, -np.inf).astype(np.float32),
        np.where(seen, np.inf, 0).astype(kind),
        np.where(seen, np.nan, 0).astype(kind),
        np.where(seen, 0, -1e4).astype(kind),
    ):
        same_attention(q, k, v, mask, rtol=near)


@pytest.mark.parametrize("lead", [(2,), (2, 3)])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_odd_numbers_behind_a_mask(lead: tuple[int, ...], odd: float) -> None:
    seen = np.ones((3, 5), bool)
    seen[:, 2] = False
    for number in (1, 2):
        given = three(lead, 3, 5)
        given[number][..., 2, :] = odd
        same_attention(*given, seen)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize(("steps", "sources"), [(2, 5), (5, 2), (1, 4), (4, 1), (3, 3)])
def test_causal_attention_of_other_lengths(lead: tuple[int, ...], steps: int, sources: int) -> None:
    same_attention(*three(lead, steps, sources), is_causal=True)
    same_attention(*three(lead, steps, sources), is_causal=True, scale=0.7)


@pytest.mark.parametrize("scale", [None, 0.0, 1.0, -0.5, 2, True, np.float32(0.3)])
def test_scales(scale: Any) -> None:
    for lead in ((2,), (2, 3)):
        same_attention(*three(lead, 3, 5), scale=scale)
        same_attention(*three(lead, 3, 5), draw(3, 5), scale=scale)


@pytest.mark.parametrize("heads", [(4, 2, 2), (4, 1, 1), (4, 2, 1), (4, 4, 2), (6, 2, 3)])
@pytest.mark.parametrize("lead", [(), (2,), (2, 2)])
def test_heads_that_share_keys_or_values(heads: tuple[int, ...], lead: tuple[int, ...]) -> None:
    q, k, v = (draw(*lead, count, length, 4, seed=length) for count, length in zip(heads, (3, 5, 5), strict=True))
    for mask in ([], [draw(3, 5)], [draw(*lead, heads[0], 3, 5)], [draw(*lead, 1, 3, 5) > 0]):
        same_attention(q, k, v, *mask, enable_gqa=True)


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3, 4), (5, 4), (5, 4)),
        ((3, 4), (2, 5, 4), (2, 5, 4)),
        ((3, 4), (5, 4), (2, 5, 4)),
        ((2, 3, 4), (1, 5, 4), (1, 5, 4)),
        ((1, 3, 4), (2, 5, 4), (2, 5, 4)),
        ((2, 2, 3, 4), (2, 1, 5, 4), (1, 1, 5, 4)),
        ((3, 4), (5, 4), (5, 0)),
        ((3, 4), (5, 4), (5, 2)),
        ((3, 0), (5, 0), (5, 4)),
        ((0, 3, 4), (0, 5, 4), (0, 5, 4)),
    ],
)
def test_inputs_that_broadcast_and_widths(shapes: tuple[tuple[int, ...], ...]) -> None:
    same_attention(*(draw(*shape, seed=n) for n, shape in enumerate(shapes)))
    same_attention(*(draw(*shape, seed=n) for n, shape in enumerate(shapes)), draw(3, 5))


REFUSED: dict[str, Any] = {
    "mask and causal": lambda t, q, k, v: attend(t, q, k, v, t.zeros(3, 5), is_causal=True),
    "mask of whole numbers": lambda t, q, k, v: attend(t, q, k, v, t.zeros(3, 5).long()),
    "mask of bytes": lambda t, q, k, v: attend(t, q, k, v, t.zeros(3, 5).byte()),
    "mask in half": lambda t, q, k, v: attend(t, q, k, v, t.zeros(3, 5).half()),
    "mask in double": lambda t, q, k, v: attend(t, q, k, v, t.zeros(3, 5).double()),
    "mask too long": lambda t, q, k, v: attend(t, q, k, v, t.zeros(4, 5)),
    "mask too wide": lambda t, q, k, v: attend(t, q, k, v, t.zeros(3, 6)),
    "mask of other batches": lambda t, q, k, v: attend(t, q, k, v, t.zeros(3, 3, 5)),
    "mask of more dimensions": lambda t, q, k, v: attend(t, q, k, v, t.zeros(2, 1, 3, 5)),
    "mask of more batches": lambda t, q, k, v: attend(t, q[0], k[0], v[0], t.zeros(2, 3, 5)),
    "key of another type": lambda t, q, k, v: attend(t, q, k.double(), v),
    "value of another type": lambda t, q, k, v: attend(t, q, k, v.bfloat16()),
    "whole numbers": lambda t, q, k, v: attend(t, q.long(), k.long(), v.long()),
    "bools": lambda t, q, k, v: attend(t, q.bool(), k.bool(), v.bool()),
    "complex numbers": lambda t, *given: attend(t, *(x.to(t.complex64) for x in given)),
    "a query of one dimension": lambda t, q, k, v: attend(t, q[0, 0], k, v),
    "a value of one dimension": lambda t, q, k, v: attend(t, q, k, v[0, 0]),
    "widths that differ": lambda t, q, k, v: attend(t, q, k[..., :3], v),
    "widths that differ, flat": lambda t, q, k, v: attend(t, q[0], k[0, :, :3], v[0]),
    "lengths that differ": lambda t, q, k, v: attend(t, q, k, v[:, :4]),
    "batches that differ": lambda t, q, k, v: attend(t, q, t.cat([k, k]), t.cat([v, v])),
    "values of other batches": lambda t, q, k, v: attend(t, q, k, t.cat([v, v])),
    "shared heads without heads": lambda t, *given: attend(t, *(x[0] for x in given), enable_gqa=True),
    "heads without sharing": lambda t, q, k, v: attend(t, t.cat([q, q]), k, v),
    "a scale in words": lambda t, q, k, v: attend(t, q, k, v, scale="half"),
    "too much dropout": lambda t, q, k, v: attend(t, q, k, v, dropout_p=1.5),
    "dropout twice": lambda t, q, k, v: attend(t, q, k, v, dropout_p=2),
    "no dropout": lambda t, q, k, v: attend(t, q, k, v, dropout_p=None),
    "a number": lambda t, q, k, v: attend(t, q, k, 1.0),
    "a list": lambda t, q, k, v: attend(t, [1.0], k, v),
}


@pytest.mark.parametrize("heads", [(4, 3, 3), (2, 4, 4), (4, 2, 3)])
def test_heads_that_cannot_be_shared(heads: tuple[int, ...]) -> None:
    def program(t: Any) -> Any:
        q, k, v = (t.zeros(2, count, 3, 4) for count in heads)
        return caught(lambda: attend(t, q, k, v, enable_gqa=True))

    agree(program)


def test_all_dropped() -> None:
    same_attention(*three((2,), 3, 5), dropout_p=1.0)
    same_attention(*three((2,), 3, 5), draw(3, 5), dropout_p=1)
