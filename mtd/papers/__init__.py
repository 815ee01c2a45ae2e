"""Figures and tables of papers, made again by our own code: published, ours, difference.

One file for each paper. It offers a `Paper`, whose `rows` runs our code (its counters, its ledger, its
clock; never the printed formula) and puts what came out beside what was published. To add one: write
the file, name it in PAPERS. `mtd papers` prints them, and a test holds each row to its tolerance.
"""

from __future__ import annotations

import importlib

from mtd.papers.paper import Paper as Paper, Row as Row

PAPERS = (
    "bounded_delay",
    "bubbles",
    "ddp_overlap",
    "diloco",
    "fsdp_all_gather",
    "fsdp_speed",
    "gpipe",
    "goyal",
    "horovod",
    "llama3_speed",
    "megatron_days",
    "megatron_size",
    "megatron_speed",
    "parameter_server",
    "powersgd",
    "ring",
    "tensor_parallel",
    "torchtitan",
    "zero_largest",
    "zero_memory",
    "zero_volume",
)


def paper(name: str) -> Paper:
    """By the name of its file."""
    if name not in PAPERS:
        raise ValueError(f"there is no paper {name!r} here; there are {', '.join(PAPERS)}")
    found = importlib.import_module(f"mtd.papers.{name}").PAPER
    assert isinstance(found, Paper)
    return found
