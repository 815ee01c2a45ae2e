"""Activations that a layer keeps, without and with selective recomputation, from the bytes that the ledger counts."""

from __future__ import annotations

from collections.abc import Sequence

import minitorch_dist as torch
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.sim.device import gpu
from minitorch_dist.sim.runner import run
from minitorch_dist.tensors import ledger
from mtd.papers.paper import Row
from mtd.planning import cutting
from mtd.planning.model_files import ModelSizes
from mtd.planning.transformer import TransformerPart

MODEL = ModelSizes("22b", "gpt", 48, 6144, 64, 51200, 2048, 4, attention="whole", dropout=0.1)
PAIRS = 5 * MODEL.heads * MODEL.sequence / MODEL.width  # 5as/h
T = 8
PUBLISHED = {  # what is computed again, and ranks that cut the layer: table 2, without the rows in which they cut the sequence
    ("none", 1): 34 + PAIRS,
    ("none", T): 10 + (24 + PAIRS) / T,
    ("selective", 1): 34.0,
    ("selective", T): 10 + 24 / T,
    ("full", T): 2.0,
}


def kept(how: str, ranks: int, layers: int) -> int:
    """Bytes that a rank holds more after the forward pass of so many layers."""
    part = TransformerPart(MODEL, range(layers), how, ends=(False, False)).to("cuda").to(torch.bfloat16)
    if ranks > 1:
        cutting.cut(part, init_device_mesh("cuda", (ranks,)), MODEL, False)
    length = MODEL.sequence // ranks  # a stage of a pipeline gets its part of the sequence
    x = torch.empty(MODEL.batch, length, MODEL.width, dtype=torch.bfloat16, device="cuda", requires_grad=True)
    before = ledger.of("cuda").snapshot().live
    result = part(x)
    found = ledger.of("cuda").snapshot().live - before
    del result
    return found


def of_a_layer(how: str, ranks: int) -> float:
    """Bytes for each number of an activation (s b h): two layers less one."""
    one, two = (
        max(run(kept, ranks, (how, ranks, layers), shapes=True, device=gpu("a100-80", memory="10TB")).results)
        for layers in (1, 2)
    )
    return (two - one) / (MODEL.sequence * MODEL.batch * MODEL.width)


def rows() -> Sequence[Row]:
    return [
        Row(f"recompute {how}, t = {ranks}", published, of_a_layer(how, ranks), 0.01, "sbh")
        for (how, ranks), published in PUBLISHED.items()
    ]
