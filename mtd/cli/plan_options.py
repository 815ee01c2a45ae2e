"""The options of `mtd plan`, and the words in them: stragglers, spans, failures."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from mtd.cli.plan_table import SHOWN
from mtd.planning import clusters, model_files, reasons
from mtd.planning.clusters import GpuCluster
from transports.clock import PICO
from transports.quantities import span

CACHE = ".mtd-plan.json"


def add(parser: argparse.ArgumentParser) -> None:
    """Let the parser of the command know them."""
    parser.add_argument(
        "model", metavar="MODEL",
        help=f"a file of a few lines (mine.toml), or one of {', '.join(model_files.known())}",
    )  # fmt: skip
    parser.add_argument("--gpus", type=int, required=True, help="how many")
    parser.add_argument("--device", default="h100", help="their kind (%(default)s)")
    parser.add_argument(
        "--net", default="nvlink8+400G", help="nodes of 8 over NVLink, 400 Gb/s a GPU between them "
        "(%(default)s), or a network as mtd simulate takes it",
    )  # fmt: skip
    parser.add_argument("--batch", type=int, help="sequences in a step (the model's)")
    parser.add_argument("--top", type=float, metavar="SHARE",
                        help="of the peak that products reach (the device's own; 1 is the roofline)")  # fmt: skip
    parser.add_argument("--simulate", type=int, default=SHOWN, metavar="N",
                        help="at most so many of the layouts that can be the fastest (%(default)s)")  # fmt: skip
    parser.add_argument("--slower-link", type=float, default=1.0, metavar="TIMES",
                        help="links between nodes are slower by this factor")  # fmt: skip
    parser.add_argument("--straggler", action="append", default=[], metavar="RANK:SPEED",
                        help="13:0.8 lets rank 13 compute at 0.8 of the speed")  # fmt: skip
    parser.add_argument(
        "--mtbf", metavar="SPAN", help="mean time between failures of the whole, like 3h"
    )
    parser.add_argument(
        "--saving", default="60s", help="what writing a checkpoint takes (%(default)s)"
    )
    parser.add_argument("--restart", default="300s", help="what a restart takes (%(default)s)")
    parser.add_argument(
        "--against", metavar="FILE", help="a plan that --json wrote, to compare with"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--page", metavar="FILE",
        help="write a page: the table, and a step by the fastest layout with its memory and its critical path",
    )  # fmt: skip
    parser.add_argument(
        "--cache", default=CACHE, help="where simulated layouts are kept (%(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="so many layouts at once (%(default)s: one for each core)")  # fmt: skip
    parser.set_defaults(epilog="mtd plan llama3-70b --gpus 256 --device h100 --net nvlink8+400G")


def cluster(options: argparse.Namespace) -> GpuCluster:
    """The GPUs that are asked for. ValueError for any word that is wrong."""
    for name in ("simulate", "jobs"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name} is at least 1, not {getattr(options, name)}")
    found = clusters.cluster(
        options.device, options.gpus, options.net, options.slower_link, _stragglers(options.straggler),
        **({} if options.top is None else {"top": options.top}),
    )  # fmt: skip
    found.device.peak_of("bfloat16")
    return found


def _stragglers(texts: Sequence[str]) -> dict[int, float]:
    found: dict[int, float] = {}
    for rank, speed in map(_straggler, texts):
        if rank in found:
            raise ValueError(f"--straggler names rank {rank} twice")
        found[rank] = speed
    return found


def _straggler(text: str) -> tuple[int, float]:
    rank, _, speed = text.partition(":")
    try:
        return int(rank), float(speed)
    except ValueError:
        raise ValueError(f"--straggler is like 13:0.8, not {text!r}") from None


def failures(options: argparse.Namespace) -> reasons.Failures | None:
    """The cost of failures; None where nobody asks."""
    saving, restart = (_seconds(name, getattr(options, name)) for name in ("saving", "restart"))
    if options.mtbf is None:
        return None
    words = {"h": 3600, "d": 86400}
    text = options.mtbf
    if text[-1:] in words:
        try:
            mtbf = float(text[:-1]) * words[text[-1]]
        except ValueError:
            raise ValueError(f"--mtbf is like 3h or 90s, not {text!r}") from None
    else:
        mtbf = _seconds("mtbf", text)
    return reasons.with_failures(mtbf, saving, restart)


def _seconds(option: str, text: str) -> float:
    try:
        return span(text) / PICO
    except ValueError as error:
        raise ValueError(f"--{option}: {error}") from None
