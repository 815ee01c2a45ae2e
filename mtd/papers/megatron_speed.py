"""P17: how fast Megatron-LM's models train: TFLOP/s of a GPU, by running the training step in shapes.

The efficiency of products is fitted on one row, that of 18.4 billion parameters. All else is prediction: the other
rows differ in their sizes, in the collectives of tensor and data parallelism, and in the pipeline.
"""

from __future__ import annotations

from collections.abc import Sequence

from mtd.papers.paper import Paper, Row
from mtd.planning import clusters, model_files, search
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from transports.clock import PICO

# model: tensor and pipeline parallelism, GPUs, TFLOP/s of each
TABLE = {
    "megatron-1.7b": (1, 1, 32, 137), "megatron-3.6b": (2, 1, 64, 138),
    "megatron-7.5b": (4, 1, 128, 142), "megatron-18b": (8, 1, 256, 135),
    "megatron-39b": (8, 2, 512, 138), "megatron-76b": (8, 4, 1024, 140),
    "megatron-146b": (8, 8, 1536, 148), "megatron-310b": (8, 16, 1920, 155),
    "megatron-530b": (8, 35, 2520, 163), "megatron-1t": (8, 64, 3072, 163),
}  # fmt: skip
STAGES = {"megatron-530b": 3}  # of a rank, where two do not divide its layers
SHORT = 4  # rows without a pipeline: a few seconds each
FITTED = "megatron-18b"
DEVICE = "a100-80"  # of whose peak products reach so much that FITTED has its 135 TFLOP/s (`devices.toml`)
THEN = {"attention": "whole", "dropout": 0.1, "gradients": "bfloat16"}  # as in 2021
NET = "nvlink8+200G"  # DGX A100: eight ports of 200 Gb/s


def teraflops(name: str) -> float:
    """Of each GPU, counted as the paper does (equation 3)."""
    tensor, pipeline, gpus, _ = TABLE[name]
    model = model_files.read(name).changed(**THEN)
    layout = TrainingLayout(
        tensor, pipeline, replicas=gpus // (tensor * pipeline), checkpoint="full",
        schedule="1F1B" if pipeline == 1 else "Interleaved1F1B",
        stages=1 if pipeline == 1 else STAGES.get(name, 2),
        sequence=False,
    )  # fmt: skip
    here = clusters.cluster(DEVICE, gpus, NET)
    report = search.whole_step(model, layout, here)
    return operations(model) * PICO / report.time / gpus / 1e12


def operations(model: ModelSizes) -> float:
    """Of a step, with the layers' forward pass computed twice: equation 3."""
    width, sequence = model.width, model.sequence
    layers = 96 * model.batch * sequence * model.layers * width**2
    return layers * (1 + sequence / (6 * width) + model.words / (16 * model.layers * width))


def rows() -> Sequence[Row]:
    return [_row(name) for name in list(TABLE)[:SHORT]]


def long_rows() -> Sequence[Row]:
    return [_row(name) for name in list(TABLE)[SHORT:]]


def _row(name: str) -> Row:
    is_fitted = name == FITTED
    gpus = TABLE[name][2]
    what = f"{name.removeprefix('megatron-')}, {gpus} GPUs{' (fitted)' if is_fitted else ''}"
    return Row(what, TABLE[name][3], teraflops(name), 0.02 if is_fitted else 0.1, "TFLOP/s")


PAPER = Paper(
    "Megatron-LM: how fast a GPU computes",
    "D. Narayanan et al., SC 2021, doi:10.1145/3458817.3476209, table 1",
    "A step of training in shapes, on simulated A100s. The share of the peak that products reach is fitted on one row. The "
    "table does not say the size of a micro-batch; it is 1 here, and pipelines are interleaved, with two stages on each rank (three for 105 layers).",
    rows,
    long_rows,
)
