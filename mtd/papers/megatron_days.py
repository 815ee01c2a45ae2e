"""P7: how many days Megatron-LM trains: operations of our own layer, counted as it runs.

A layer that computes its activations again (`utils.checkpoint`) is run forwards and backwards under
`utils.flop_counter`. It takes a·b·s·h² + c·b·s²·h operations for batch b, sequence s, width h; two small
layers determine a and c, and a third has to agree. The logits are linear in each of their sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.utils.checkpoint import checkpoint
from minitorch_dist.utils.flop_counter import FlopCounterMode
from mtd.papers.paper import Row, published_rows

WORDS, SEQUENCE, DAY = 51200, 2048, 86400


def _layer(batch: int, sequence: int, width: int) -> int:
    """The operations of a layer in a step, forwards twice and backwards once."""
    layer = nn.TransformerEncoderLayer(width, 2, 4 * width, dropout=0.0, batch_first=True)
    x = torch.ones(batch, sequence, width, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        checkpoint(layer, x, use_reentrant=False).sum().backward()
    return counter.get_total_flops()


def _logits(rows: int, width: int, words: int) -> int:
    x = torch.ones(rows, width, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        nn.Linear(width, words, bias=False)(x).sum().backward()
    return counter.get_total_flops()


def coefficients() -> tuple[Fraction, Fraction]:
    """a and c, from two layers."""
    one, two = Fraction(_layer(1, 4, 8), 4 * 8), Fraction(_layer(1, 12, 8), 12 * 8)  # a·h + c·s
    c = (two - one) / 8
    return (one - 4 * c) / 8, c


def _days(operations: float, billions: int, gpus: int, each: int) -> float:
    """`operations` for each of so many billion tokens, on GPUs of `each` TFLOP/s."""
    return operations * billions * 1e9 / (gpus * each * 1e12) / DAY


def rows() -> Sequence[Row]:
    a, c = coefficients()
    logits = Fraction(_logits(3, 8, 5), 3 * 8 * 5)
    b, s, h = 3, 10, 24
    built = _layer(b, s, h)
    found = [
        Row("a layer of other sizes, counted", int(a * b * s * h**2 + c * b * s**2 * h), built, 0.0, "FLOP"),
        Row("96 Bsh²", 96, float(a)),
        Row("96 Bsh² · s/6h", 96 / 6, float(c)),
        Row("96 Bslh² · V/16lh", 96 / 16, float(logits)),
    ]
    for what, layers, width, billions, gpus, each, days in published_rows("megatron_days"):
        operations = layers * a * width**2
        if not what.startswith("by equation 4"):
            operations += layers * c * SEQUENCE * width + logits * width * WORDS
        ours = _days(float(operations), billions, gpus, each)
        found.append(Row(f"{what}, {gpus} GPUs", days, ours, 0.015, "days"))
    return found
