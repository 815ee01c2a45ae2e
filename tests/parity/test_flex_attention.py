"""`flex_attention` and its masks beside torch's; gradients beside those of attention written out, as torch has none on the CPU."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import flex_attention as theirs

import minitorch_dist as mtd
from minitorch_dist.nn.attention import flex_attention as ours
from tests.parity.compare import same

pytestmark = pytest.mark.parity

DOCUMENTS = np.repeat([0, 1, 2], [3, 4, 3])
BIAS = np.cos(np.arange(100.0)).reshape(10, 10).astype("float32")
SLOPES = np.array([0.5, 0.25], "float32")


def masks(lib: Any, flex: Any) -> dict[str, Any]:
    documents = lib.from_numpy(DOCUMENTS.copy())

    def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return q_idx >= kv_idx

    def window(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (q_idx - kv_idx).abs() <= 2

    def document(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return documents[q_idx] == documents[kv_idx]

    def by_head(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return q_idx + h >= kv_idx + b

    def never(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return (q_idx >= kv_idx) & (q_idx != 4)  # query 4 may look at nothing

    return {
        "none": flex.noop_mask, "causal": causal, "by head": by_head, "never": never, "document": document,
        "both": flex.and_masks(causal, document), "either": flex.or_masks(window, document),
    }  # fmt: skip


def scores(lib: Any) -> dict[str, Any]:
    bias, slopes = lib.from_numpy(BIAS.copy()), lib.from_numpy(SLOPES.copy())
    return {
        "as they are": None,
        "relative": lambda s, b, h, q, k: s + 0.1 * (q - k),
        "alibi": lambda s, b, h, q, k: s - slopes[h] * (q - k),
        "bias": lambda s, b, h, q, k: s + bias[q, k],
        "capped": lambda s, b, h, q, k: 2 * lib.tanh(s / 2),
        "where": lambda s, b, h, q, k: lib.where(q >= k, s, -float("inf")),
        "by batch": lambda s, b, h, q, k: s * (b + 1),
    }


@pytest.fixture(autouse=True)
def without_a_compiler() -> Iterator[None]:
    before = theirs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG
    theirs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True
    yield
    theirs._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = before


def inputs(dtype: str, heads: int = 2) -> list[Any]:
    shapes = [(2, 2, 10, 4), (2, heads, 10, 4), (2, heads, 10, 3)]
    return [np.sin(np.arange(np.prod(s)) * (n + 1.3)).reshape(s).astype(dtype) for n, s in enumerate(shapes)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_and_masks(dtype: str) -> None:
    arrays = inputs(dtype)
    for name in masks(mtd, ours):
        for score in scores(mtd):
            if dtype == "float64" and (name, score) not in {
                ("causal", "capped"),
                ("never", "by batch"),
            }:
                continue
            found = []
            for lib, flex in ((torch, theirs), (mtd, ours)):
                mask = flex.create_block_mask(masks(lib, flex)[name], 2, 2, 10, 10, device="cpu", BLOCK_SIZE=4)  # fmt: skip
                q, k, v = (lib.from_numpy(a.copy()) for a in arrays)
                found.append(
                    flex.flex_attention(
                        q, k, v, scores(lib)[score], mask, return_aux=flex.AuxRequest(lse=True)
                    )
                )
            (one, aux), (other, mine) = found
            tolerance = 1e-12 if dtype == "float64" else 2e-6
            np.testing.assert_allclose(other.numpy(), one.numpy(), atol=tolerance, rtol=tolerance, err_msg=f"{name} {score}")  # fmt: skip
            np.testing.assert_allclose(
                mine.lse.numpy(), aux.lse.numpy(), atol=tolerance, rtol=tolerance
            )
            assert other.dtype is getattr(mtd, dtype) and mine.max_scores is None


def test_heads_that_share_keys_and_a_scale_and_no_mask() -> None:
    arrays = inputs("float32", heads=1)
    found = []
    for lib, flex in ((torch, theirs), (mtd, ours)):
        q, k, v = (lib.from_numpy(a.copy()) for a in arrays)
        found.append(flex.flex_attention(q, k, v, scale=0.3, enable_gqa=True).numpy())
    np.testing.assert_allclose(found[1], found[0], atol=2e-6)


def test_gradients_are_those_of_attention_written_out() -> None:
    arrays = inputs("float64")
    causal = masks(mtd, ours)["never"]
    q, k, v = (mtd.from_numpy(a.copy()).requires_grad_() for a in arrays)
    slopes = mtd.tensor([0.5, 0.25], dtype=mtd.float64, requires_grad=True)
    mask = ours.create_block_mask(causal, None, None, 10, 10)
    out = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s - slopes[h] * (i - j), mask)
    (out * out).sum().backward()
    tq, tk, tv = (torch.from_numpy(a.copy()).requires_grad_() for a in arrays)
    theirs_slopes = torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)
    i, j = torch.arange(10)[:, None], torch.arange(10)
    s = tq @ tk.transpose(-2, -1) / 2 - theirs_slopes[:, None, None] * (i - j)
    s = s.masked_fill(~((i >= j) & (i != 4)), -1e30)
    weights = s.softmax(-1) * (i != 4)
    expected = weights @ tv
    (expected * expected).sum().backward()
    for one, other in ((tq, q), (tk, k), (tv, v), (theirs_slopes, slopes)):
        np.testing.assert_allclose(other.grad.numpy(), one.grad.numpy(), atol=1e-12)


def test_blocks_that_are_not_listed_are_left_out() -> None:
    """As in torch's kernels, and in modded-nanogpt, whose windows are blocks that it lists itself."""

    def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return q_idx >= kv_idx

    counts, places = [1, 2, 1], [[0, 1, 2], [1, 0, 2], [2, 1, 0]]  # of the rows of blocks
    full, full_places = [0, 0, 1], [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    tensors = [
        mtd.tensor(x, dtype=mtd.int32)[None, None] for x in (counts, places, full, full_places)
    ]
    mask = ours.BlockMask.from_kv_blocks(
        *tensors, BLOCK_SIZE=4, mask_mod=causal, seq_lengths=(10, 10)
    )
    q, k, v = (mtd.from_numpy(a) for a in inputs("float64"))
    allowed = np.tril(np.ones((10, 10), bool))
    allowed[8:, 4:8] = False  # row 2 lists block 2 in part and block 0 in full, and not block 1
    expected = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(t.numpy()) for t in (q, k, v)), attn_mask=torch.from_numpy(allowed)
    )
    found = ours.flex_attention(q, k, v, block_mask=mask)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-12)


@pytest.mark.parametrize("sides", [3, (4, 2), 128])
@pytest.mark.parametrize("separate", [True, False])
def test_block_masks(sides: Any, separate: bool) -> None:
    for name in masks(mtd, ours):
        made = [
            flex.create_block_mask(
                masks(lib, flex)[name], 2, None, 10, 10, device="cpu", BLOCK_SIZE=sides,
                separate_full_blocks=separate,
            )
            for lib, flex in ((torch, theirs), (mtd, ours))
        ]  # fmt: skip
        for one, other in ((made[0], made[1]), (made[0][1, :, 0], made[1][1, :, 0])):
            for field in ours.BlockMask.__init__.__annotations__:
                if field.endswith(("blocks", "indices")):
                    a, b = getattr(one, field), getattr(other, field)
                    assert (a is None) == (b is None), field
                    if a is not None:
                        same(a, b)
            assert (one.shape, str(one), one.numel()) == (other.shape, str(other), other.numel())
            assert one.sparsity() == pytest.approx(other.sparsity())
            assert one.to_dense().tolist() == other.to_dense().tolist()
        dense = [flex.create_mask(masks(lib, flex)[name], 2, 1, 10, 10, device="cpu") for lib, flex in ((torch, theirs), (mtd, ours))]  # fmt: skip
        assert dense[0].tolist() == dense[1].tolist()


def test_what_is_refused() -> None:
    def errors(lib: Any, flex: Any) -> list[tuple[str, str]]:
        q, k, v = (lib.from_numpy(a.copy()) for a in inputs("float32"))
        causal = masks(lib, flex)["causal"]
        small, large = (
            flex.create_block_mask(causal, None, None, n, n, device="cpu") for n in (8, 12)
        )
        mask = flex.create_block_mask(causal, 2, 2, 10, 10, device="cpu")
        calls = [
            lambda: flex.flex_attention(q[0], k[0], v[0]), lambda: flex.flex_attention(q, k[..., :2], v),
            lambda: flex.flex_attention(q, k[:, :1], v[:, :1]), lambda: flex.flex_attention(q, k[:1], v[:1]),
            lambda: flex.flex_attention(q, k, v, block_mask=small), lambda: flex.flex_attention(q, k, v, block_mask=large),
            lambda: flex.flex_attention(q, k, v, block_mask=mask[0]), lambda: flex.or_masks(causal, 3),
        ]  # fmt: skip
        found = []
        for call in calls:
            with pytest.raises(Exception) as caught:
                call()
            found.append((type(caught.value).__name__, str(caught.value)[:60]))
        return found

    assert errors(mtd, ours) == errors(torch, theirs)


@pytest.mark.parametrize("name", ["flex_attention", "create_block_mask", "create_mask", "and_masks", "or_masks", "noop_mask"])  # fmt: skip
def test_names_of_arguments(name: str) -> None:
    one, other = (inspect.signature(getattr(lib, name)).parameters for lib in (theirs, ours))
    assert list(one) == list(other)
    assert [p.default for p in one.values()] == [p.default for p in other.values()]
