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
from mtd.papers.paper import Paper, Row

WORDS, SEQUENCE, DAY = 51200, 2048, 86400
GPT3, LARGE, TRILLION = (96, 12288), (105, 20480), (128, 25600)  # layers, width
TRAINED = (  # model, billions of tokens, GPUs, TFLOP/s of each, days
    *(("ZeRO-3, 174.6B", GPT3, 300, *row) for row in ((384, 144, 90), (768, 88, 74), (1536, 44, 74))),
    *(("ZeRO-3, 529.6B", LARGE, 300, *row) for row in ((640, 138, 169), (1120, 98, 137), (2240, 48, 140))),
    *(("PTD-P, 174.6B", GPT3, 300, *row) for row in ((384, 153, 84), (768, 149, 43), (1536, 141, 23))),
    *(("PTD-P, 529.6B", LARGE, 300, *row) for row in ((560, 171, 156), (1120, 167, 80), (2240, 159, 42))),
)
ROUGHLY = (("175B", GPT3, 300, 1024, 140, 34), ("1T", TRILLION, 450, 3072, 163, 84))


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
    for what, (layers, width), billions, gpus, each, days in TRAINED:
        operations = layers * (a * width**2 + c * SEQUENCE * width) + logits * width * WORDS
        ours = _days(float(operations), billions, gpus, each)
        found.append(Row(f"{what}, {gpus} GPUs", days, ours, 0.015, "days"))
    for what, (layers, width), billions, gpus, each, days in ROUGHLY:
        ours = _days(float(layers * a * width**2), billions, gpus, each)
        found.append(Row(f"by equation 4, {what}, {gpus} GPUs", days, ours, 0.015, "days"))
    return found


PAPER = Paper(
    "Megatron-LM: days of training",
    "D. Narayanan et al., SC 2021, doi:10.1145/3458817.3476209, equations 3 and 4, section 5.1, table 2",
    "Operations of our own TransformerEncoderLayer with checkpointing, counted while it runs at small sizes, "
    "which determine them at the paper's. The FLOP/s of a GPU are the authors'. Tokens: 300 billion, for the "
    "model of a trillion 450. Equation 4 leaves out attention and logits, which is 3 % less.",
    rows,
)
