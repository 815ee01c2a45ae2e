"""P18: torchtitan's table of December 2024: tokens a second and memory of Llama 3.1 8B, by running the training step in shapes.

One constant is fitted, on one row: how much slower an H100 of 500 W is than one of 700 W (`devices.toml`, Grand-Teton-H100). All else is prediction. Without
a compiler each operation is a kernel; torch.compile joins them (`planning.kernels`). Memory is what a caching allocator
reserves for the arrays that the ledger enters, as torch's tools tell it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial

from minitorch_dist.distributed.schedules import choice
from mtd.papers.paper import Row, published_rows
from mtd.planning import clusters, model_files, search
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from transports.clock import PICO

CUT = partial(TrainingLayout, 8, 8, shards=8, micro=4, checkpoint="full", ahead=True)
WHOLE = TrainingLayout(8, shards=32, micro=16, checkpoint="full", ahead=True)
LARGE = {
    "70B, FSDP 32, TP 8": ("llama3-70b", WHOLE, 829, 71.9),
    "405B, FSDP 8, TP 8, PP 8, 1F1B": ("llama3-405b", CUT(), 100, 82.5),
    "405B, interleaved": ("llama3-405b", CUT(schedule="Interleaved1F1B", stages=2), 128, 72.7),
}
FITTED = 8, "single"
DEVICE, NET = "grand-teton", "nvlink8+400G"
MICRO = 2  # sequences of a GPU
GiB = 1 << 30


@cache
def measured(gpus: int, kernels: str, products: str = "bfloat16") -> tuple[float, float]:
    """Tokens a second of each GPU, and the GiB that it reserves."""
    model = model_files.read("llama3-8b").changed(batch=MICRO * gpus, kernels=kernels, products=products)
    layout = TrainingLayout(shards=gpus, micro=MICRO, checkpoint="op", ahead=True)
    return _measured(model, layout)


def _measured(model: ModelSizes, layout: TrainingLayout) -> tuple[float, float]:
    here = clusters.cluster(DEVICE, layout.ranks, NET)
    found = search.whole_step(model, layout, here, notes=False)
    tokens = model.batch * model.sequence * PICO / found.time / layout.ranks
    return tokens, max(each["reserved"] for each in found.results) / GiB


def rows() -> Sequence[Row]:
    found = []
    for gpus, kernels, tokens, memory in published_rows("torchtitan"):
        ours = measured(gpus, kernels)
        compiled = ", compiled" if kernels == "joined" else ""
        is_fitted = (gpus, kernels) == FITTED
        what = f"{gpus} GPUs{compiled}{' (fitted)' if is_fitted else ''}"
        found.append(Row(what, tokens, ours[0], 0.01 if is_fitted else 0.1, "tokens/s"))
        within = 0.08 if is_fitted else 0.07  # see docs/papers.md: 7.9 % below
        found.append(Row(f"{gpus} GPUs{compiled}, memory", memory, ours[1], within, "GiB"))
    return found


def long_rows() -> Iterator[Row]:
    """Products in float8, with its conversions. Collectives of large models are rings, as in NCCL."""
    yield Row("float8: 8 GPUs", 8532, measured(8, "joined", "float8")[0], 0.1, "tokens/s")
    yield Row("float8: 128 GPUs", 8380, measured(128, "joined", "float8")[0], 0.1, "tokens/s")
    for name, (model, layout, tokens, memory) in LARGE.items():
        batch = layout.data * layout.micro * (8 if layout.pipeline > 1 else 1)
        sizes = model_files.read(model).changed(batch=batch, kernels="joined", products="float8")
        with choice.preferring("ring"):
            ours = _measured(sizes, layout)
        yield Row(f"float8: {name}", tokens, ours[0], 0.1, "tokens/s")
        yield Row(f"float8: {name}, memory", memory, ours[1], 0.1, "GiB")
