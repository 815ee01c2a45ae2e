"""Masks of `MultiheadAttention` and of transformers: outputs, weights, gradients, warnings and errors are torch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, same, to_numpy, torch
from tests.parity.modules import caught, equal, plain, twins, words

pytestmark = pytest.mark.parity

STEPS, SOURCES, BATCH, WIDTH, HEADS = 4, 5, 3, 6, 2


def draw(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def hidden(where: Any) -> Any:
    """A mask of bools in numbers."""
    return np.where(where, -np.inf, 0).astype(np.float32)


LATER = ~np.tri(STEPS, dtype=bool)
WIDE = ~np.tri(STEPS, SOURCES, dtype=bool)
PADDING = np.arange(SOURCES) >= np.array([[5], [3], [1]])
SHORT = np.arange(STEPS) >= np.array([[4], [3], [1]])


def outcome(t: Any, module: Any, call: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Results, gradients of all inputs and parameters, and warnings; or the error."""
    module.zero_grad()
    tensors = {name: t.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for name, x in given.items()}
    for x in tensors.values():
        if hasattr(x, "is_floating_point") and x.is_floating_point():
            x.requires_grad_()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found = caught(lambda: call(module, **tensors))
    said = [words(str(warning.message)) for warning in warned]
    said = [text for text in said if "Support for mismatched" not in text]  # torch, of masks of two types
    if isinstance(found, tuple) and isinstance(found[0], str):
        return plain([found, said])
    outs = found if isinstance(found, tuple) else (found,)
    loss: Any = 0
    for out in outs:
        if out is not None:
            weights = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
            loss = loss + (out * t.from_numpy(weights).to(out.dtype)).sum()
    loss.backward()
    grads = [x.grad for x in tensors.values() if hasattr(x, "grad")]
    return plain([outs, said, grads, {name: p.grad for name, p in module.named_parameters()}])


def alike(pair: tuple[Any, Any], call: Callable[..., Any], **given: Any) -> None:
    theirs, ours = (outcome(t, module, call, given) for t, module in zip((torch, mtd), pair, strict=True))
    equal(theirs, ours, rtol=1e-3)


def attend(module: Any, q: Any, k: Any, v: Any, **options: Any) -> Any:
    return module(q, k, v, **options)


OPTIONS: dict[str, dict[str, Any]] = {"plain": {}, "batch first": {"batch_first": True}}
ATTENTION: dict[str, Any] = {
    "none": None,
    "bools": WIDE,
    "numbers": draw(STEPS, SOURCES, seed=8),
    "infinite": hidden(WIDE),
    "bools for each head": draw(BATCH * HEADS, STEPS, SOURCES) > 0.3,
    "numbers for each head": draw(BATCH * HEADS, STEPS, SOURCES, seed=9),
}
KEYS: dict[str, Any] = {
    "none": None,
    "bools": PADDING,
    "infinite": hidden(PADDING),
    "numbers": draw(BATCH, SOURCES, seed=7),
    "nothing is seen": PADDING | True,
}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("attention", ATTENTION)
def test_both_masks_of_the_module(option: str, attention: str) -> None:
    options = OPTIONS[option]
    pair = twins(lambda nn: nn.MultiheadAttention(WIDTH, HEADS, **options))
    q, k, v = (draw(length, BATCH, WIDTH, seed=seed) for length, seed in ((STEPS, 10), (SOURCES, 11), (SOURCES, 12)))
    if options.get("batch_first"):
        q, k, v = (x.swapaxes(0, 1).copy() for x in (q, k, v))
    for keys in KEYS.values():
        for more in ({}, {"average_attn_weights": False}, {"need_weights": False}):
            for causal in (False, True):
                alike(
                    pair,
                    attend,
                    q=q,
                    k=k,
                    v=v,
                    is_causal=causal,
                    **more,
                    attn_mask=ATTENTION[attention],
                    key_padding_mask=keys,
                )


def test_a_hint_is_taken_at_its_word() -> None:
    """Without weights and without padding, `is_causal` stands for the mask, whatever it holds."""
    pair = twins(lambda nn: nn.MultiheadAttention(WIDTH, HEADS))
    x = draw(STEPS, BATCH, WIDTH)
    for mask in (LATER, draw(STEPS, STEPS), draw(BATCH * HEADS, STEPS, STEPS), draw(2, 2)):
        alike(pair, attend, q=x, k=x, v=x, attn_mask=mask, is_causal=True, need_weights=False)


SHAPES = (STEPS, BATCH, WIDTH), (SOURCES, BATCH, WIDTH), (SOURCES, BATCH, WIDTH)
WRONG: dict[str, Any] = {
    "a query of one dimension": ((STEPS,), *SHAPES[1:]),
    "a query of four dimensions": ((STEPS, BATCH, WIDTH, 1), *SHAPES[1:]),
    "a query of another width": ((STEPS, BATCH, 5), *SHAPES[1:]),
    "a query without a batch": ((STEPS, WIDTH), *SHAPES[1:]),
    "a key without a batch": (SHAPES[0], (SOURCES, WIDTH), SHAPES[2]),
    "a value without a batch": (*SHAPES[:2], (SOURCES, WIDTH)),
    "a longer key": (SHAPES[0], (7, BATCH, WIDTH), SHAPES[2]),
    "a wider value": (*SHAPES[:2], (SOURCES, BATCH, 7)),
    "a wider key and value": (SHAPES[0], (SOURCES, BATCH, 7), (SOURCES, BATCH, 7)),
}
WRONG_MASKS: list[tuple[int, ...]] = [
    (STEPS,),
    (STEPS, SOURCES + 1),
    (SOURCES, STEPS),
    (1, SOURCES),
    (BATCH, STEPS, SOURCES),
    (BATCH * HEADS, STEPS, 1),
    (BATCH, HEADS, STEPS, SOURCES),
]
WRONG_KEYS: list[tuple[int, ...]] = [
    (SOURCES,),
    (BATCH, SOURCES + 1),
    (BATCH + 1, SOURCES),
    (1, SOURCES),
    (BATCH, SOURCES, 1),
]


# -------------------------------------------------------------------------------------- transformers

LAYERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch first": {"batch_first": True},
    "norm first": {"norm_first": True, "activation": "gelu"},
    "without bias": {"bias": False},
}
SQUARE: dict[str, Any] = {
    "none": None,
    "bools": LATER,
    "infinite": hidden(LATER),
    "causal with other numbers": hidden(LATER) + np.where(LATER, 0, draw(STEPS, STEPS)).astype("f4"),
    "for each head": draw(BATCH * HEADS, STEPS, STEPS) > 0.5,
}


def input_of(options: dict[str, Any], steps: int) -> Any:
    x = draw(steps, BATCH, WIDTH, seed=steps)
    return x.swapaxes(0, 1).copy() if options.get("batch_first") else x


def encode(module: Any, x: Any, mask: Any, keys: Any, causal: Any) -> Any:
    return module(x, mask, src_key_padding_mask=keys, is_causal=causal)


def decode(module: Any, x: Any, memory: Any, mask: Any, keys: Any, causal: Any) -> Any:
    return module(x, memory, mask, tgt_key_padding_mask=keys, tgt_is_causal=causal)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("mask", SQUARE)
def test_masks_of_encoders_and_decoders(layer: str, mask: str) -> None:
    options = LAYERS[layer]
    x, memory = input_of(options, STEPS), input_of(options, SOURCES)
    size: Any = (WIDTH, HEADS, 8, 0.0)
    encoder = twins(lambda nn: nn.TransformerEncoderLayer(*size, **options))
    decoder = twins(lambda nn: nn.TransformerDecoderLayer(*size, **options))
    encoders = twins(
        lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(*size, **options), 2, enable_nested_tensor=False)
    )
    decoders = twins(lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(*size, **options), 2))
    for keys in (None, SHORT, hidden(SHORT)):
        for causal in (None, False, True):
            given = {"x": x, "mask": SQUARE[mask], "keys": keys, "causal": causal}
            alike(encoders, encode, **given)
            alike(decoders, decode, memory=memory, **given)
            if causal is not None:
                alike(encoder, encode, **given)
                alike(decoder, decode, memory=memory, **given)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch speaks of its fast path
@pytest.mark.parametrize("layer", LAYERS)
def test_masks_of_the_transformer(layer: str) -> None:
    options = LAYERS[layer]
    pair = twins(lambda nn: nn.Transformer(WIDTH, HEADS, 1, 1, 8, 0.0, **options))
    given = {"src": input_of(options, SOURCES), "tgt": input_of(options, STEPS)}
    source = ~np.tri(SOURCES, dtype=bool)
    for masks in (
        {"src_mask": source, "tgt_mask": LATER},
        {
            "tgt_mask": LATER,
            "src_key_padding_mask": PADDING,
            "memory_key_padding_mask": PADDING,
            "tgt_key_padding_mask": SHORT,
        },
        {"tgt_mask": hidden(LATER), "tgt_is_causal": True, "memory_mask": WIDE},
        {"memory_mask": hidden(WIDE), "memory_is_causal": True},
        {"src_is_causal": True},
        {"tgt_is_causal": True},
    ):
        alike(pair, lambda module, **named: module(**named), **given, **masks)


@pytest.mark.parametrize("masked", [None, LATER, hidden(LATER)])
def test_numbers_of_eval_mode_without_gradients(masked: Any) -> None:
    """torch then takes a fast path, with the same numbers where no position is padded."""
    pair = twins(
        lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 8, 0.0, batch_first=True), 2)
    )
    found = []
    for t, module in zip((torch, mtd), pair, strict=True):
        x = t.from_numpy(draw(BATCH, STEPS, WIDTH))
        mask = None if masked is None else t.from_numpy(masked)
        with t.no_grad():
            found.append(to_numpy(module.eval()(x, mask)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [None, "float64", "float16", "bool", "int64"])
def test_the_mask_of_what_comes_later(dtype: str | None) -> None:
    for size in (0, 1, 4, -1):
        same(
            lambda t, size=size: t.nn.Transformer.generate_square_subsequent_mask(
                size, dtype=None if dtype is None else getattr(t, dtype)
            )
        )
