"""`mtd plan mine.toml --gpus 64 --layout "fsdp=64 micro=2"`: how fast is this one layout?"""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from mtd.cli import plan_table
from mtd.cli.page import Page
from mtd.cli.plan_progress import PlanProgress, tell
from mtd.pages import whole_files
from mtd.planning import search
from mtd.planning.clusters import GpuCluster
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.saved_plans import GIB
from mtd.planning.search import PlanRow


def run(options: argparse.Namespace, layout: TrainingLayout, progress: PlanProgress) -> int:
    model, cluster = progress.model, progress.cluster
    try:
        row = search.as_it_runs(model, layout, cluster, partial(progress.short_run, layout))
    except KeyboardInterrupt:
        tell(f"mtd plan: interrupted; {progress.cache.where}")
        return 130
    if options.json is not None:
        write(options.json, as_json(model, cluster, row))
    else:
        show(Page(), model, cluster, row)
    return 0


def write(file: str, found: dict[str, Any]) -> None:
    """To a file, or to the terminal: `-` or nothing."""
    text = json.dumps(found, indent=1)
    if file in ("", "-"):
        print(text)
    else:
        whole_files.write(file, text)


def as_json(model: ModelSizes, cluster: GpuCluster, row: PlanRow) -> dict[str, Any]:
    tokens = row.tokens(model)
    memory = {name: nbytes / GIB for name, nbytes in row.memory.items()}
    device = cluster.device
    return {
        "format": search.LAYOUT_FORMAT,
        "model": model.name,
        "parameters": model.parameters,
        "gpus": cluster.gpus,
        "device": device.name,
        "fitted": device.fitted,
        "net": cluster.net,
        "layout": row.layout.as_dict(),
        "batch": model.batch,
        "seconds": row.seconds,
        "tokens_per_second_per_gpu": tokens,
        "tflops_per_gpu": tokens * model.flops_per_token / 1e12,
        "mfu": row.mfu(model, cluster),
        "memory_gib": {**memory, "together": row.peak / GIB},
        "device_gib": None if device.memory is None else device.memory / GIB,
        "fits": row.fits,
        "where": {**row.shares, "idle": row.idle},
        "bytes": {**row.links, "of the rank that sends most": row.sent},
    }


def show(say: Page, model: ModelSizes, cluster: GpuCluster, row: PlanRow) -> None:
    tokens, device = row.tokens(model), cluster.device
    say.say(
        f"{model.name}, {model.parameters / 1e9:.3g} billion parameters, by {row.layout.short} on {cluster.gpus} × "
        f"{device.name}, {cluster.net}:"
    )
    say.say(
        f"{row.seconds:.4g} s a step of {model.batch} × {model.sequence:,} tokens; {tokens:,.0f} tokens a second and "
        f"{tokens * model.flops_per_token / 1e12:,.0f} TFLOP/s of each GPU, which is an MFU of {row.mfu(model, cluster):.0%}."
    )
    room = "" if device.memory is None else f" of the {device.memory / GIB:.0f} GiB that it has"
    fits = "It fits" if row.fits else "It does not fit"
    say.say(f"{fits}: the fullest GPU holds {row.peak / GIB:.1f} GiB{room} ({plan_table.memory(row)}).")
    said = f"{plan_table.shares(row)} of the step. In a step all GPUs send {plan_table.links(row)}."
    say.say(f"The time: {said}")
