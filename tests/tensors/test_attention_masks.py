"""What a mask of attention means, whatever computes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as mtd
from minitorch_dist.nn.functional import scaled_dot_product_attention as attend
from tests.finite_differences import gradcheck
from tests.strategies import broadcastable

SIZES = st.integers(1, 5)


def draw(*shape: int, seed: int = 0) -> Any:
    return mtd.from_numpy(np.random.default_rng(seed).normal(size=shape))


def results(expression: Any, *inputs: Any) -> list[Any]:
    """A value, and the gradients of its weighted sum. A mask of nothing has no gradient."""
    leaves = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    out = expression(*leaves)
    weights = mtd.from_numpy(np.cos(np.arange(out.numel())).reshape(tuple(out.shape)))
    (out * weights).sum().backward()
    grads = [mtd.zeros_like(x) if x.grad is None else x.grad for x in leaves]
    return [out.detach().numpy(), *(grad.numpy() for grad in grads)]


def equal(found: list[Any], wanted: list[Any]) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@given(broadcastable(count=3, max_dims=3), SIZES, SIZES, st.booleans(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_it_is_softmax_of_masked_scores(
    leads: list[tuple[int, ...]], steps: int, sources: int, whole: bool, seed: int
) -> None:
    """The simple form, of five operations. The mask broadcasts, or has a number for each score."""
    q = draw(*leads[0], steps, 3, seed=seed)
    k = draw(*leads[1], sources, 3, seed=seed + 1)
    v = draw(*leads[2], sources, 2, seed=seed + 2)
    lead = np.broadcast_shapes(leads[0], leads[1])
    mask = draw(*(lead if whole else ()), steps, sources, seed=seed + 3)

    def simple(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return (q @ k.transpose(-2, -1) * 0.7 + mask).softmax(-1) @ v

    equal(results(lambda q, k, v, m: attend(q, k, v, m, scale=0.7), q, k, v, mask), results(simple, q, k, v, mask))


@given(st.integers(0, 99), SIZES, SIZES)
@settings(max_examples=30, deadline=None)
def test_bools_are_zero_and_minus_infinity(seed: int, steps: int, sources: int) -> None:
    q, k, v = (draw(2, n, 3, seed=seed) for n in (steps, sources, sources))
    seen = draw(steps, sources, seed=seed) > 0
    numbers = mtd.zeros(steps, sources, dtype=mtd.float64).masked_fill(~seen, -np.inf)
    equal(
        results(lambda q, k, v: attend(q, k, v, seen), q, k, v),
        results(lambda q, k, v: attend(q, k, v, numbers), q, k, v),
    )


@given(st.integers(0, 99), SIZES, SIZES, st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_hidden_keys_could_as_well_be_missing(seed: int, steps: int, sources: int, more: int) -> None:
    q, k, v = (draw(2, n, 3, seed=seed) for n in (steps, sources + more, sources + more))
    seen = mtd.arange(sources + more) < sources
    equal(
        results(lambda q, k, v: attend(q, k, v, seen), q, k, v),
        results(lambda q, k, v: attend(q, k[:, :sources], v[:, :sources]), q, k, v),
    )


@pytest.mark.parametrize("causal", [False, True])
def test_a_row_that_sees_nothing_gives_zeros_and_leaves_the_others_alone(causal: bool) -> None:
    q, k, v = (draw(2, n, 3, seed=n) for n in (4, 5, 5))
    seen = mtd.ones(4, 5).tril().bool() if causal else mtd.ones(4, 5).bool()
    whole = attend(q, k, v, seen)
    seen[2] = False
    found = attend(q, k, v, seen)
    assert not found[:, 2].any()
    assert found[:, [0, 1, 3]].equal(whole[:, [0, 1, 3]])
    _, d_q, _, _ = results(lambda q, k, v: attend(q, k, v, seen), q, k, v)
    assert not d_q[:, 2].any()


@pytest.mark.parametrize("scale", [None, 0.0, -0.5])
@pytest.mark.parametrize(("steps", "sources"), [(1, 1), (3, 3), (2, 5), (5, 2)])
def test_causal_is_the_lower_triangle(steps: int, sources: int, scale: float | None) -> None:
    q, k, v = (draw(2, 2, n, 3, seed=n) for n in (steps, sources, sources))
    seen = mtd.ones(steps, sources).tril().bool()
    equal(
        results(lambda q, k, v: attend(q, k, v, is_causal=True, scale=scale), q, k, v),
        results(lambda q, k, v: attend(q, k, v, seen, scale=scale), q, k, v),
    )


def test_what_torch_lets_pass_in_four_dimensions_is_refused() -> None:
    q, k, v = (draw(1, 1, 3, 2, seed=n) for n in range(3))
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        attend(q, k, v, mtd.ones(3, 3).bool(), is_causal=True)
    with pytest.raises(RuntimeError, match="do not fit"):
        attend(q, k, v[:, :, :2])
    with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
        attend(q, k, v, dropout_p=-0.1)


@pytest.mark.parametrize("heads", [(4, 2, 2), (4, 2, 1), (6, 3, 2)])
def test_shared_heads_are_heads_repeated(heads: tuple[int, int, int]) -> None:
    q, k, v = (draw(2, count, n, 3, seed=n) for count, n in zip(heads, (4, 5, 5), strict=True))
    mask = draw(2, heads[0], 4, 5, seed=9)

    def repeated(q: Any, k: Any, v: Any, mask: Any) -> Any:
        k, v = (x.repeat_interleave(heads[0] // x.shape[1], 1) for x in (k, v))
        return attend(q, k, v, mask)

    equal(
        results(lambda q, k, v, m: attend(q, k, v, m, enable_gqa=True), q, k, v, mask), results(repeated, q, k, v, mask)
    )


@pytest.mark.parametrize("shape", [(), (5,), (4, 1), (4, 5), (2, 1, 5), (2, 4, 5)])
def test_the_gradient_of_a_mask_by_differences(shape: tuple[int, ...]) -> None:
    q, k, v = (draw(2, n, 3, seed=n) for n in (4, 5, 5))
    mask = draw(*shape, seed=7).requires_grad_()
    assert gradcheck(lambda m: attend(q, k, v, m, scale=0.3), (mask,))
