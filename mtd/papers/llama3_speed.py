"""P20: how fast Llama 3 405B trains on 8,192 and 16,384 H100s: TFLOP/s of a GPU, by running the training step in shapes.

Nothing is fitted here: the H100's efficiency is that of tables of kernels (`devices.toml`, H100-SXM). The second row has
twice as many ranks with data and half as many micro-batches. The third one has sequences of 131,072 words, each cut over 16 ranks.

The layout is the authors' (section 3.3.2): pipelines are interleaved, with eight stages of one layer on each rank. The first and the last one have a layer
fewer. Parameters stay gathered. Collectives are rings, as in NCCL: a ring of 128 ranks sends in 128 parts, and messages between stages pass
between them. The words are 131,072 in place of 128,256, so that 128 ranks have equal parts of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import minitorch_dist as torch
from minitorch_dist import nn
from minitorch_dist.distributed.schedules import choice
from mtd.papers.paper import Row, published_rows
from mtd.planning import clusters, model_files, search
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.transformer import TransformerPart
from transports.clock import PICO

TENSOR, PIPELINE, STAGES = 8, 16, 8
TOKENS = 16 << 20  # of a step, in all sequences together
LONG = 131072  # words of a sequence, where it is cut
DEVICE, NET = "h100", "nvlink8+400G"


def model_of(context: int) -> ModelSizes:
    model = model_files.read("llama3-405b").changed(kernels="joined", words=1 << 17)
    if context > 1:
        model = model.changed(sequence=LONG)
    return model.changed(batch=TOKENS // model.sequence)


def teraflops(gpus: int, context: int) -> float:
    """Of each GPU."""
    model = model_of(context)
    layout = TrainingLayout(
        TENSOR,
        PIPELINE,
        gpus // (TENSOR * PIPELINE),
        schedule="Interleaved1F1B",
        stages=STAGES,
        ahead=True,
        light_ends=True,
        context=context,
    )
    here = clusters.cluster(DEVICE, gpus, NET)
    with choice.preferring("ring"):
        report = search.whole_step(model, layout, here)
    return operations(model) * PICO / report.time / gpus / 1e12


def operations(model: ModelSizes) -> float:
    """Of a step, as our kernels do them: attention leaves out the half of all pairs that is hidden."""
    hidden = 6 * model.layers * model.width * model.sequence  # of a word
    return float(model.batch * model.sequence * (model.flops_per_token - hidden))


def rows() -> Sequence[Row]:
    """The size of the model, which needs no long run: it is counted in one layer and the ends."""
    model = model_files.read("llama3-405b")
    with torch.device("meta"):
        part = TransformerPart(model, range(1), "none")
    (layer,) = part.layers
    counted = _size(part) + (model.layers - 1) * _size(layer)
    return [Row("parameters", 405, counted / 1e9, 0.005, "B")]


def _size(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def long_rows() -> Iterator[Row]:
    for gpus, context, published in published_rows("llama3_speed"):
        what = f"{gpus} GPUs" + (f", sequences cut over {context}" if context > 1 else "")
        yield Row(what, published, teraflops(gpus, context), 0.1, "TFLOP/s")
