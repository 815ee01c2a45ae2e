"""`mtd bench nn`: how long training steps take here, and beside it in torch where it is installed."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

TARGETS = {"nn": "minitorch_dist.cli.bench_nn"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", choices=sorted(TARGETS), help="what to time")
    parser.add_argument(
        "--only", metavar="STEP", action="append", default=[], help="only this step (repeatable)"
    )
    parser.add_argument("--pairs", type=int, default=15, help="how often each pair is timed")
    parser.add_argument("--no-memory", action="store_true", help="leave out the memory measurement")
    parser.add_argument(
        "--keep-pins", action="store_true",
        help="keep OPENBLAS_… variables that choose numpy's kernels (by default it chooses itself)",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Time in a fresh process: the thread count of the numeric libraries is fixed at their import."""
    command = [sys.executable, "-m", TARGETS[options.target], "--pairs", str(options.pairs)]
    for step in options.only:
        command += ["--only", step]
    if options.no_memory:
        command.append("--no-memory")
    return subprocess.call(command, env=environment(options.keep_pins))


def environment(keep_pins: bool) -> dict[str, str]:
    """One thread for everybody; and unless asked otherwise each library chooses its own kernels.

    Some workplaces pin OpenBLAS to an old CPU (OPENBLAS_CORETYPE=Haswell), which halves numpy's
    speed on a new one and leaves torch's alone.
    """
    pins = {} if keep_pins else {n: v for n, v in os.environ.items() if n in PINS}
    if pins:
        print("not passed on:", " ".join(f"{n}={v}" for n, v in pins.items()), flush=True)
    return {**{n: v for n, v in os.environ.items() if n not in pins}, **ONE_THREAD}


PINS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
