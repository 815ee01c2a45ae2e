"""Attention: the operation, the module with all its options, and the transformer around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import same
from tests.parity.modules import same_layer

pytestmark = pytest.mark.parity


def draw(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def three(lead: tuple[int, ...], steps: int, sources: int, size: int, dtype: Any = np.float64) -> Any:
    return (
        draw(*lead, steps, size, seed=1, dtype=dtype),
        draw(*lead, sources, size, seed=2, dtype=dtype),
        draw(*lead, sources, size + 1, seed=3, dtype=dtype),
    )


@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (0, 2)])
@pytest.mark.parametrize(("steps", "sources", "size"), [(4, 4, 3), (1, 5, 2), (5, 2, 1)])
@pytest.mark.parametrize("causal", [False, True])
def test_the_operation(lead: Any, steps: int, sources: int, size: int, causal: bool) -> None:
    for dtype in (np.float64, np.float32):
        same(
            lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal),
            *three(lead, steps, sources, size, dtype),
        )


def test_masks_scale_and_shared_heads() -> None:
    q, k, v = three((2, 4), 3, 5, 4)
    seen = np.random.default_rng(0).random((2, 1, 3, 5)) > 0.3
    seen[..., 0] = True

    def attend(t: Any, *args: Any, **kwargs: Any) -> Any:
        return t.nn.functional.scaled_dot_product_attention(*args, **kwargs)

    same(lambda t, q, k, v, m: attend(t, q, k, v, m), q, k, v, seen)
    same(lambda t, q, k, v, m: attend(t, q, k, v, m), q, k, v, draw(3, 5))
    same(lambda t, q, k, v, m: attend(t, q, k, v, m, scale=0.3), q, k, v, draw(2, 1, 3, 5))
    same(lambda t, q, k, v: attend(t, q, k, v, enable_gqa=True), q, k[:, :2].copy(), v[:, :2].copy())
    same(lambda t, q, k, v: attend(t, q, k, v), q.swapaxes(1, 2), k.swapaxes(1, 2), v.swapaxes(1, 2))
    same(lambda t, q, k, v: attend(t, q, k, v), q, k[:1].copy(), v[:1].copy())


def test_what_the_operation_refuses() -> None:
    q, k, v = three((2,), 3, 5, 4)

    def attend(t: Any, *args: Any, **kwargs: Any) -> Any:
        return t.nn.functional.scaled_dot_product_attention(*args, **kwargs)

    same(lambda t, q, k, v: attend(t, q, k.float(), v), q, k, v)
    same(lambda t, q, k, v: attend(t, q, k, v, t.ones(3, 5).bool(), is_causal=True), q, k, v)
    same(lambda t, q, k, v: attend(t, q, k, v, t.ones(3, 5)), q, k, v)
    same(lambda t, q, k, v: attend(t, q[..., :2], k, v), q, k, v)
    same(lambda t, q: attend(t, q[0, 0], q[0, 0], q[0, 0]), q)


def test_dropout_thins_the_weights_and_keeps_the_mean() -> None:
    import minitorch_dist as mtd

    q, k = mtd.zeros(1, 200, 4), mtd.zeros(1, 300, 4)
    v = mtd.ones(1, 300, 1).requires_grad_()
    out = mtd.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=0.4)
    assert out.std() > 0 and abs(out.mean().item() - 1) < 0.01
    out.sum().backward()
    assert v.grad is not None and abs(v.grad.sum().item() - out.sum().item()) < 1e-2


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without bias": {"bias": False},
    "batch first": {"batch_first": True},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("need", [True, False])
def test_the_module_attending_to_itself(name: str, need: bool) -> None:
    x = draw(4, 3, 6, dtype=np.float32)
    same_layer(
        lambda nn: nn.MultiheadAttention(6, 2, **OPTIONS[name]), x, call=lambda m, x: m(x, x, x, need_weights=need)
    )


@pytest.mark.parametrize("name", OPTIONS)
def test_the_module_attending_to_others(name: str) -> None:
    first = OPTIONS[name].get("batch_first", False)
    swap = (lambda a: a.swapaxes(0, 1).copy()) if first else (lambda a: a)
    q = swap(draw(4, 3, 6, seed=1, dtype=np.float32))
    k = swap(draw(5, 3, 6, seed=2, dtype=np.float32))
    v = swap(draw(5, 3, 6, seed=3, dtype=np.float32))
    same_layer(
        lambda nn: nn.MultiheadAttention(6, 2, **OPTIONS[name]),
        q,
        k,
        v,
        call=lambda m, q, k, v: m(q, k, v, average_attn_weights=False),
    )


@pytest.mark.parametrize("need", [True, False])
def test_masks_of_the_module(need: bool) -> None:
    x = draw(4, 3, 6, dtype=np.float32)
    later = ~np.tri(4, dtype=bool)
    padding = np.zeros((3, 4), bool)
    padding[1, 2:] = True
    numbers = draw(4, 4, dtype=np.float32)
    heads = np.stack([later] * 6)

    def layer(nn: Any) -> Any:
        return nn.MultiheadAttention(6, 2)

    for mask, pad in ((later, None), (None, padding), (later, padding), (numbers, None), (heads, None)):
        same_layer(
            layer,
            x,
            *[m for m in (mask, pad) if m is not None],
            call=lambda m, x, *given, mask=mask, pad=pad: m(
                x,
                x,
                x,
                need_weights=need,
                attn_mask=given[0].detach() if mask is not None else None,
                key_padding_mask=given[-1].detach() if pad is not None else None,
            ),
        )


@pytest.mark.parametrize(
    "options", [{}, {"batch_first": True}, {"norm_first": True}, {"activation": "gelu"}, {"bias": False}]
)
def test_transformer_layers(options: dict[str, Any]) -> None:
    x, memory = draw(4, 3, 6, dtype=np.float32), draw(4, 3, 6, seed=1, dtype=np.float32)
    same_layer(lambda nn: nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, **options), x, rtol=1e-4)
    same_layer(lambda nn: nn.TransformerDecoderLayer(6, 2, 8, dropout=0.0, **options), x, memory, rtol=1e-4)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch speaks of its fast path
def test_transformer_stacks() -> None:
    x, y = draw(4, 3, 6, dtype=np.float32), draw(5, 3, 6, seed=1, dtype=np.float32)
    same_layer(
        lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), 2, enable_nested_tensor=False
        ),
        x,
        rtol=1e-4,
    )
    same_layer(lambda nn: nn.Transformer(6, 2, 1, 1, 8, dropout=0.0), x, y, rtol=1e-4)
    same(lambda t: t.nn.Transformer.generate_square_subsequent_mask(4))
    same(lambda t: t.nn.MultiheadAttention(5, 2))
    same(lambda t: t.nn.MultiheadAttention(0, 2))
    same(lambda t: t.nn.TransformerEncoderLayer(6, 2, activation="tanh"))
