"""P6: how large Megatron-LM's models are: parameters, counted in our own layers.

A layer's parameters are a polynomial of degree 2 in its width h, so three small layers that really
exist determine it for every h. The embeddings are linear in h: one of width 1 is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from minitorch_dist import nn
from mtd.papers.paper import Paper, Row

WORDS, POSITIONS, WIDTHS = 51200, 2048, (4, 8, 12)
# billions of parameters, width, layers, GPUs, TFLOP/s of each, PFLOP/s of all
TABLE = (
    (1.7, 2304, 24, 32, 137, 4.4), (3.6, 3072, 30, 64, 138, 8.8), (7.5, 4096, 36, 128, 142, 18.2),
    (18.4, 6144, 40, 256, 135, 34.6), (39.1, 8192, 48, 512, 138, 70.8),
    (76.1, 10240, 60, 1024, 140, 143.8), (145.6, 12288, 80, 1536, 148, 227.1),
    (310.1, 16384, 96, 1920, 155, 297.4), (529.6, 20480, 105, 2520, 163, 410.2),
    (1008.0, 25600, 128, 3072, 163, 502.0),
)  # fmt: skip


def _counted(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def layer(width: int) -> int:
    """The parameters of a transformer layer of this width, from those of three small ones."""
    total = Fraction(0)
    for here in WIDTHS:  # Lagrange's polynomial through three points
        weight = Fraction(_counted(nn.TransformerEncoderLayer(here, 1, 4 * here)))
        for other in WIDTHS:
            if other != here:
                weight *= Fraction(width - other, here - other)
        total += weight
    return int(total)


def rows() -> Sequence[Row]:
    built = _counted(nn.TransformerEncoderLayer(32, 1, 128))
    found = [Row("a layer of width 32, built", built, layer(32))]
    embeddings = _counted(nn.Embedding(WORDS, 1)) + _counted(nn.Embedding(POSITIONS, 1))
    for billions, width, layers, gpus, each, together in TABLE:
        ours = (layers * layer(width) + embeddings * width) / 1e9
        near = 0.0045 if billions > 7 else 0.05 / billions  # small ones are printed with two digits
        what = f"h={width}, l={layers}"
        found.append(Row(f"{what}: parameters", billions, ours, near, "B"))
        found.append(Row(f"{what}: together", together, gpus * each / 1000, 0.005, "PFLOP/s"))
    return found


PAPER = Paper(
    "Megatron-LM: how large, and how fast together",
    "D. Narayanan et al., SC 2021, doi:10.1145/3458817.3476209, table 1",
    "Parameters of our own TransformerEncoderLayer and Embedding, from small widths to the paper's. The "
    "FLOP/s of a GPU are the authors'; only that they add up to those of all is checked.",
    rows,
)
