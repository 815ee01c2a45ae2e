"""P6: how large Megatron-LM's models are: parameters, counted in our own layers.

A layer's parameters are a polynomial of degree 2 in its width h, so three small layers that really
exist determine it for every h. The embeddings are linear in h: one of width 1 is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from minitorch_dist import nn
from mtd.papers.paper import Row, published_rows

WORDS, POSITIONS, WIDTHS = 51200, 2048, (4, 8, 12)


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
    for billions, width, layers, gpus, each, together in published_rows("megatron_size"):
        ours = (layers * layer(width) + embeddings * width) / 1e9
        near = 0.0045 if billions > 7 else 0.05 / billions  # small ones are printed with two digits
        what = f"h={width}, l={layers}"
        found.append(Row(f"{what}: parameters", billions, ours, near, "B"))
        found.append(Row(f"{what}: together", together, gpus * each / 1000, 0.005, "PFLOP/s"))
    return found
