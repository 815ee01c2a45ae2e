"""P19: how fast Llama 3 405B trains: TFLOP/s of a GPU, on 8,192 and 16,384 H100s, by running the training step in shapes.

The share of the peak that products reach is fitted on one row, that of 8,192 GPUs (`devices.toml`, H100-SXM). All else is prediction: twice as many replicas with
half the micro-batches, and sequences of 131,072 words that are cut over 16 ranks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitorch_dist.sim.papers.paper import Paper, Row
from minitorch_dist.sim.planning import clusters, model_files, search
from minitorch_dist.sim.planning.layouts import TrainingLayout
from minitorch_dist.sim.planning.model_files import ModelSizes
from transports.clock import PICO

# GPUs, words of a sequence, context parallelism: batch in sequences, TFLOP/s of each GPU
TABLE = {
    (8192, 8192, 1): (2048, 430),
    (16384, 8192, 1): (2048, 400),
    (16384, 131072, 16): (128, 380),
}
FITTED = 8192, 8192, 1
DEVICE, NET = "h100-sxm", "nvlink8+400G"
TENSOR, PIPELINE, STAGES = 8, 16, 4


def teraflops(gpus: int, sequence: int, context: int, **device: Any) -> float:
    """Of each GPU: of the products that a step needs, with the half of attention that no mask hides."""
    batch, _ = TABLE[gpus, sequence, context]
    model = model_files.read("llama3-405b").changed(
        sequence=sequence, batch=batch, kernels="joined"
    )
    layout = TrainingLayout(
        TENSOR, PIPELINE, shards=gpus // (TENSOR * PIPELINE), context=context,
        schedule="Interleaved1F1B", stages=STAGES, reshards=False,
    )  # fmt: skip
    here = clusters.cluster(DEVICE, gpus, NET, **device)
    report = search.whole_step(model, layout, here)
    return operations(model) * PICO / report.time / gpus / 1e12


def operations(model: ModelSizes) -> int:
    """Of a step, forwards and backwards, without those that are computed again."""
    hidden = 6 * model.layers * model.width * model.sequence  # half of attention
    return model.batch * model.sequence * (model.flops_per_token - hidden)


def long_rows() -> Iterator[Row]:
    for key, (_, published) in TABLE.items():
        gpus, sequence, context = key
        is_fitted = key == FITTED
        what = f"{gpus:,} GPUs, sequence {sequence:,}{f', cp {context}' if context > 1 else ''}"
        within = 0.02 if is_fitted else 0.1
        yield Row(f"{what}{' (fitted)' if is_fitted else ''}", published, teraflops(*key), within, "TFLOP/s")  # fmt: skip


PAPER = Paper(
    "Llama 3 405B: how fast a GPU computes",
    "Llama Team, The Llama 3 Herd of Models, 2024, arXiv:2407.21783, table 4",
    "A step of training in shapes, on simulated H100s: TP 8, an interleaved pipeline of 16 ranks with 4 stages each, FSDP that keeps its "
    "parameters, no checkpointing. The share of the peak that products reach is fitted on one row. The table does not say how "
    "many stages a rank has, nor how operations were counted; here the half of attention that the mask hides is left out.",
    lambda: (),
    long_rows,
)
