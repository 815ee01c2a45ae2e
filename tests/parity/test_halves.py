"""Defaults and intermediate values that depend on a type, in halves: layers, losses, norms and optimizers as torch's.

A result may differ from torch's by four units in the last place of its largest element, or be nearer than torch's to what
float64 gives. Small inputs show an epsilon that belongs to the wrong type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity tests need torch==2.13.0")

import minitorch_dist as mtd

ULP = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float16": 2.0**-22, "bfloat16": 1e-36}
ROWS = (4, 6)
Case = Callable[..., Any]


def layer(name: str, *args: Any, shape: tuple[int, ...] = ROWS) -> tuple[Case, tuple[int, ...]]:
    """A layer with its defaults in training, and in evaluation afterwards."""

    def run(t: Any, x: Any) -> Any:
        made = getattr(t.nn, name)(*args).to(x.dtype)
        return made(x), made.eval()(x), *made.buffers()

    return run, shape


def loss(name: str, **options: Any) -> tuple[Case, tuple[int, ...], tuple[int, ...]]:
    def run(t: Any, x: Any, y: Any) -> Any:
        return [getattr(t.nn.functional, name)(x, y.detach(), reduction=r, **options) for r in ("mean", "sum")]

    return run, ROWS, ROWS


def of_classes(name: str, **options: Any) -> tuple[Case, tuple[int, ...]]:
    def run(t: Any, x: Any) -> Any:
        return getattr(t.nn.functional, name)(x, t.tensor([0, 1, 2, 5]), **options)

    return run, ROWS


def stepped(name: str, **options: Any) -> tuple[Case, tuple[int, ...], tuple[int, ...]]:
    """Three steps of an optimizer with its defaults. Gradients are large enough that no square is 0 in halves."""

    def run(t: Any, x: Any, g: Any) -> Any:
        p = t.nn.Parameter(x.detach().clone())
        optimizer = getattr(t.optim, name)([p], **options)
        for times in (1.0, 0.5, -0.5):
            p.grad = ((t.sign(g) + g) * times).detach()
            optimizer.step()
        return p

    return run, ROWS, ROWS


def clipped(t: Any, x: Any) -> Any:
    p = t.nn.Parameter(x.detach().clone())
    p.grad = (x * 3).detach()
    return t.nn.utils.clip_grad_norm_([p], 1.0), p.grad


def attended(t: Any, q: Any, k: Any, v: Any) -> Any:
    mask = t.tensor([[True, False, True, True, False]] * 5)
    F = t.nn.functional
    return (
        F.scaled_dot_product_attention(q, k, v, is_causal=True),
        F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
    )


def along(name: str) -> tuple[Case, tuple[int, ...]]:
    return lambda t, x: getattr(t, name)(x, 1), (8, 40)


IMAGES, LONG = (2, 4, 3, 3), (2, 5, 8)
CASES: dict[str, Any] = {
    "RMSNorm": layer("RMSNorm", 6),
    "LayerNorm": layer("LayerNorm", 6),
    "GroupNorm": layer("GroupNorm", 2, 4, shape=IMAGES),
    "BatchNorm1d": layer("BatchNorm1d", 6),
    "BatchNorm2d": layer("BatchNorm2d", 4, shape=IMAGES),
    "Softmax": layer("Softmax", -1),
    "InstanceNorm2d": layer("InstanceNorm2d", 4, shape=IMAGES),
    "LogSoftmax": layer("LogSoftmax", -1),
    "binary_cross_entropy": (
        lambda t, x: t.nn.functional.binary_cross_entropy(t.sigmoid(x), t.full_like(x, 0.25).detach()),
        ROWS,
    ),
    "cross_entropy": of_classes("cross_entropy"),
    "nll_loss": of_classes("nll_loss"),
    "cross_entropy, smooth": of_classes("cross_entropy", label_smoothing=0.1),
    "cosine_similarity": (lambda t, x, y: t.nn.functional.cosine_similarity(x, y), ROWS, ROWS),
    "normalize": (lambda t, x: t.nn.functional.normalize(x), ROWS),
    "masked softmax": (
        lambda t, x: t.softmax(x.masked_fill(t.tensor([[True, False] * 3] * 4), float("-inf")), -1),
        ROWS,
    ),
    "attention": (attended, LONG, LONG, LONG),
    **{
        name: along(name)
        for name in ("mean", "sum", "std", "var", "logsumexp", "cumsum", "norm", "prod")
        if name != "norm"
    },
    "norms": (lambda t, x: [t.linalg.vector_norm(x, p) for p in (1, 2, float("inf"))], (8, 40)),
    "clip_grad_norm_": (clipped, (8, 40)),
    **{name: stepped(name) for name in ("Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta")},
    "SGD": stepped("SGD", momentum=0.9, weight_decay=0.01),
}


def flat(value: Any) -> list[Any]:
    return [leaf for v in value for leaf in flat(v)] if isinstance(value, (tuple, list)) else [value]


def numbers(x: Any) -> Any:
    return np.array(x.detach().double().tolist(), float)


def run(t: Any, case: Case, arrays: list[Any], dtype: str) -> list[tuple[str, Any]]:
    """The results and the gradients of the inputs."""
    inputs = [t.tensor(a.tolist(), dtype=getattr(t, dtype)).requires_grad_() for a in arrays]
    outputs = flat(case(t, *inputs))
    found = [(str(out.dtype), numbers(out)) for out in outputs]
    total = 0.0
    for out in outputs:
        if out.requires_grad and not isinstance(out, t.nn.Parameter):
            weights = t.arange(1, out.numel() + 1).reshape(out.shape) / out.numel()
            total = total + (out.double() * weights).sum()
    if not isinstance(total, float):
        total.backward()
        found += [("gradient", numbers(x.grad)) for x in inputs if x.grad is not None]
    return found


def far(a: Any, b: Any) -> float:
    """The largest distance; equal infinities and nans have none, others are infinitely far apart."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b)
    apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, apart)
    return float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_halves_are_as_torchs(name: str, dtype: str) -> None:
    case, *shapes = CASES[name]
    for scale in (1.0, 0.01, 1e-4, 0.0):
        rng = np.random.default_rng(5)
        drawn = [torch.tensor(rng.normal(size=s) * scale, dtype=getattr(torch, dtype)) for s in shapes]
        arrays = [numbers(x) for x in drawn]
        theirs, ours = (run(t, case, arrays, dtype) for t in (torch, mtd))
        exact = run(torch, case, arrays, "float64")
        assert len(ours) == len(theirs)
        for (kind, a), (own, b), (_, true) in zip(theirs, ours, exact, strict=True):
            assert own == kind and a.shape == b.shape
            largest = np.abs(a[np.isfinite(a)]).max(initial=0)
            allowed = 4 * ULP[dtype] * largest + TINY[dtype]
            assert far(a, b) <= allowed or far(b, true) <= far(a, true), (scale, kind, a, b)
