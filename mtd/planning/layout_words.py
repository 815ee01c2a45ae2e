"""A layout in words, as people say their own: `fsdp=8 tp=2 micro=6 accumulate=2 recompute=full zero=3`.

    dp          replicas; with zero=, the ranks that share what it says
    fsdp        ranks that share the parameters        tp, pp, cp   tensor, pipeline and context parallelism
    ep          of these, the ranks that share a layer's experts
    vp          stages of each rank of the pipeline    micro        sequences of a micro-batch
    accumulate  micro-batches of a step                recompute    none, selective or full
    precision   bf16, or fp8 for the layers' matrices
    offload     what the host keeps: none, optimizer or parameters
    zero        1, 2 or 3: see `layouts`               sums         of gradients over micro-batches: shards or whole

Words that are 1 or usual may be left out. The host runs ahead, as on GPUs.
"""

from __future__ import annotations

import re
from typing import Final

from mtd.planning.layouts import CHECKPOINTS, TrainingLayout, faults
from mtd.planning.model_files import LARGEST, ModelSizes, nearest
from mtd.planning.offloading import OFFLOADS

COUNTS: Final = ("dp", "fsdp", "tp", "pp", "cp", "ep", "vp", "micro", "accumulate")
CHOICES: Final = {
    "precision": ("bf16", "fp8"),
    "recompute": CHECKPOINTS,
    "zero": ("1", "2", "3"),
    "offload": OFFLOADS,
    "sums": ("shards", "whole"),
}
EXAMPLE: Final = "fsdp=8 tp=1 pp=1 micro=1 recompute=full"


def read(text: str, model: ModelSizes, gpus: int) -> tuple[ModelSizes, TrainingLayout]:
    """The layout, and the model with the batch that it has; ValueError says which word is wrong."""
    given = _words(text)
    counts = {word: _count(word, given[word]) for word in COUNTS if word in given}
    one = {word: counts.get(word, 1) for word in COUNTS}
    shares = "zero" in given and "fsdp" not in given
    stages = one["pp"] * one["vp"]
    layout = TrainingLayout(
        one["tp"],
        one["pp"],
        one["cp"] * (one["dp"] if shares else one["fsdp"]),
        1 if shares else one["dp"],
        one["micro"],
        given.get("recompute", "none"),
        "Interleaved1F1B" if one["vp"] > 1 else "1F1B",
        one["vp"],
        int(given.get("zero", 0)),
        given.get("sums") != "whole",
        True,
        one["cp"],
        experts=one["ep"],
        offload=given.get("offload", "none"),
        light_ends=one["pp"] > 1 and model.layers % stages > 0 and (model.layers + 2) % stages == 0,
    )
    if "precision" in given:
        model = model.changed(products="float8" if given["precision"] == "fp8" else "bfloat16")
    if "accumulate" in counts:
        model = model.changed(batch=layout.data * layout.micro * counts["accumulate"])
    for fault in faults(layout, model, gpus):
        raise ValueError(f"--layout: {fault}")
    return model, layout


def _words(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.replace(",", " ").split():
        word, _, value = part.partition("=")
        known = (*COUNTS, *CHOICES)
        if word not in known:
            raise ValueError(
                f"--layout: there is no word {word!r}{nearest(word, known)}; it is like {EXAMPLE!r}, of {', '.join(known)}"
            )
        if word in found:
            raise ValueError(f"--layout says {word} twice")
        if word in CHOICES and value not in CHOICES[word]:
            raise ValueError(f"--layout: {word} is {', '.join(CHOICES[word])}, not {value!r}")
        found[word] = value
    if not found:
        raise ValueError(f"--layout says nothing; it is like {EXAMPLE!r}")
    return found


def _count(word: str, value: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", value) or not 0 < int(value) <= LARGEST:
        raise ValueError(f"--layout: {word} is a whole number above 0, not {value!r:.40}")
    return int(value)
