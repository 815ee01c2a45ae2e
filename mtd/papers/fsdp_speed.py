"""P19: how fast FSDP trains GPT-3 175B: TFLOP/s of an A100, on 128 and 512 of them, by running the training step in shapes.

Nothing is fitted here: the A100's efficiency is that which `megatron_speed` has fitted on a model of 18.4 billion parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from mtd.papers.megatron_speed import DEVICE, operations
from mtd.papers.paper import Row
from mtd.planning import clusters, model_files, search
from mtd.planning.layouts import TrainingLayout
from transports.clock import PICO

NET = "nvlink8+250G"  # eight GPUs in a host, and 2 Tb/s between hosts


@cache
def teraflops(gpus: int, micro: int) -> float:
    """Of each GPU, with the layers' forward pass computed twice, as Megatron-LM counts."""
    model = model_files.read("gpt3-175b").changed(batch=gpus * micro, attention="whole", dropout=0.1)
    layout = TrainingLayout(shards=gpus, micro=micro, checkpoint="full", ahead=True)
    report = search.whole_step(model, layout, clusters.cluster(DEVICE, gpus, NET))
    return operations(model) * PICO / report.time / gpus / 1e12


def rows() -> Sequence[Row]:
    return [
        Row("128 GPUs, a sequence each", 173, teraflops(128, 1), 0.1, "TFLOP/s"),
        Row("128 GPUs, two sequences each", 186, teraflops(128, 2), 0.1, "TFLOP/s"),
    ]


def long_rows() -> Iterator[Row]:
    growth = teraflops(512, 2) / teraflops(128, 2)
    yield Row("512 GPUs / 128 GPUs (linear)", 1.0, growth, 0.1)
