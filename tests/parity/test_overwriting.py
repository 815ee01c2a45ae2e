"""Writing in place to the input or the output of any operation, between forward and backward.

What a gradient reads must not be overwritten unnoticed: either the backward pass raises, or the
gradient is the one of the values that were there. And what torch lets be written may be written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, torch

pytestmark = pytest.mark.parity

OPERATIONS: dict[str, Any] = {
    "maxpool": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "avgpool": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "aavg": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2),
    "conv": lambda t, x: t.nn.functional.conv2d(x, t.ones(2, 2, 2, 2).requires_grad_()),
    "bn": lambda t, x: t.nn.functional.batch_norm(x, None, None, t.ones(2).requires_grad_(), t.ones(2), True),
    "ln": lambda t, x: t.nn.functional.layer_norm(x, (4,), t.ones(4).requires_grad_()),
    "gn": lambda t, x: t.nn.functional.group_norm(x, 2),
    "lin": lambda t, x: t.nn.functional.linear(x, t.ones(3, 4).requires_grad_()),
    "relu": lambda t, x: t.nn.functional.relu(x),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "sigmoid": lambda t, x: x.sigmoid(),
    "tanh": lambda t, x: x.tanh(),
    "softmax": lambda t, x: x.softmax(-1),
    "logsm": lambda t, x: x.log_softmax(-1),
    "elu": lambda t, x: t.nn.functional.elu(x),
    "lrelu": lambda t, x: t.nn.functional.leaky_relu(x),
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "kept": lambda t, x: t.nn.functional.dropout(x, 0.0),
    "dropped": lambda t, x: t.nn.functional.dropout(x, 0.5),
    "exp": lambda t, x: x.exp(),
    "sqrt": lambda t, x: (x * x + 1).sqrt(),
    "rsqrt": lambda t, x: (x * x + 1).rsqrt(),
    "recip": lambda t, x: (x * x + 1).reciprocal(),
    "max": lambda t, x: x.max(-1)[0],
    "amaxr": lambda t, x: x.amax(-1),
    "norm": lambda t, x: x.norm(dim=-1),
    "std": lambda t, x: x.std(-1),
    "var": lambda t, x: x.var(-1),
    "lse": lambda t, x: x.logsumexp(-1),
    "prod": lambda t, x: x.prod(-1),
    "cumsum": lambda t, x: x.cumsum(-1),
    "mm": lambda t, x: x @ x,
    "div": lambda t, x: x / (x * x + 1),
    "div2": lambda t, x: x / 2,
    "pow": lambda t, x: x**2,
    "pow3": lambda t, x: 2**x,
    "abs": lambda t, x: x.abs(),
    "clamp": lambda t, x: x.clamp(0, 1),
    "cat": lambda t, x: t.cat([x, x]),
    "stack": lambda t, x: t.stack([x, x]),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1)),
    "emb": lambda t, x: t.nn.functional.embedding(t.tensor([0, 1]), x[0, 0]),
    "where": lambda t, x: t.where(x > 1, x, x * 2),
    "sdpa": lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x, x),
    "gather": lambda t, x: x.gather(0, t.zeros(1, 2, 4, 4, dtype=t.int64)),
    "mfill": lambda t, x: x.masked_fill(x > 1, 0.0),
    "einsum": lambda t, x: t.einsum("abcd,abce->abde", x, x),
    "mean": lambda t, x: x.mean(-1),
    "sum": lambda t, x: x.sum(-1),
    "log": lambda t, x: (x * x + 1).log(),
    "sin": lambda t, x: x.sin(),
    "expm1": lambda t, x: x.expm1(),
    "norm2": lambda t, x: t.nn.functional.normalize(x),
    "mse": lambda t, x: t.nn.functional.mse_loss(x, x * 2, reduction="none"),
    "bce": lambda t, x: t.nn.functional.binary_cross_entropy_with_logits(x, x * 0 + 0.5, reduction="none"),
    "maximum": lambda t, x: t.maximum(x, x * x),
    "addcmul": lambda t, x: t.addcmul(x, x, x),
    "bmm": lambda t, x: t.bmm(x[0], x[0]),
    "repeat": lambda t, x: x.repeat(1, 1, 1, 2),
    "flip": lambda t, x: x.flip(0),
    "roll": lambda t, x: x.roll(1),
    "tril": lambda t, x: x.tril(),
    "index": lambda t, x: x[:, [0, 1]],
    "sel": lambda t, x: x.index_select(0, t.tensor([0])),
}


def gradient(t: Any, operation: Any, write: str) -> Any:
    """The gradient of the sum of the results, or the word "error" if writing was noticed."""
    t.manual_seed(0)
    leaf = (t.arange(32, dtype=t.float32).view(1, 2, 4, 4) * 0.1).requires_grad_()
    x = leaf * 1
    y = operation(t, x)
    total = (y if write else y + 1).sum()
    if write:
        {"input": x, "output": y}[write].add_(1)
        total = y.sum()
    try:
        total.backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
        return "error"
    return leaf.grad.numpy()


@pytest.mark.parametrize("write", ["input", "output"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_write_is_noticed_or_harmless(name: str, write: str) -> None:
    operation = OPERATIONS[name]
    ours = gradient(mtd, operation, write)
    if not isinstance(ours, str):
        np.testing.assert_allclose(ours, gradient(mtd, operation, ""), rtol=1e-5, atol=1e-6)
    elif name != "dropped":
        assert isinstance(gradient(torch, operation, write), str), "torch lets this be written"
