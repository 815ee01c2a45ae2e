"""P17: how fast Megatron-LM's models train: TFLOP/s of a GPU, by running the training step in shapes.

Nothing is fitted here: the A100's efficiency is that of tables of kernels (`planning.kernel_fits`). The rows differ in their sizes, in the
collectives of tensor and data parallelism, and in the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap

from mtd.papers.paper import Row, published_rows
from mtd.planning import clusters, model_files, search
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from transports.clock import PICO

SHORT = 4  # rows without a pipeline: a few seconds each
DEVICE = "a100-80"
THEN = {"attention": "whole", "dropout": 0.1, "gradients": "bfloat16"}  # as in 2021
NET = "nvlink8+200G"  # DGX A100: eight ports of 200 Gb/s


def teraflops(name: str, tensor: int, pipeline: int, stages: int, gpus: int) -> float:
    """Of each GPU, counted as the paper does (equation 3)."""
    model = model_files.read(name).changed(**THEN)
    layout = TrainingLayout(
        tensor,
        pipeline,
        replicas=gpus // (tensor * pipeline),
        checkpoint="full",
        stages=stages,
        sequence=False,
        schedule="1F1B" if pipeline == 1 else "Interleaved1F1B",
    )
    here = clusters.cluster(DEVICE, gpus, NET)
    report = search.whole_step(model, layout, here)
    return operations(model) * PICO / report.time / gpus / 1e12


def operations(model: ModelSizes) -> float:
    """Of a step, with the layers' forward pass computed twice: equation 3."""
    width, sequence = model.width, model.sequence
    layers = 96 * model.batch * sequence * model.layers * width**2
    return layers * (1 + sequence / (6 * width) + model.words / (16 * model.layers * width))


def rows() -> Sequence[Row]:
    return [*starmap(_row, published_rows("megatron_speed")[:SHORT])]


def long_rows() -> Iterator[Row]:
    return starmap(_row, published_rows("megatron_speed")[SHORT:])


def _row(name: str, tensor: int, pipeline: int, stages: int, gpus: int, published: float) -> Row:
    what = f"{name.removeprefix('megatron-')}, {gpus} GPUs"
    return Row(what, published, teraflops(name, tensor, pipeline, stages, gpus), 0.1, "TFLOP/s")
