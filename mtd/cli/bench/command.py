"""`mtd bench nn`, `comm`, `train`, …: time steps, collectives, training, beside torch's where it is.

Arguments after the target are for the target: `mtd bench comm --help` lists them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from mtd.cli.parser import Parser

# Those for developers, in a checkout.
OF_TESTS = {"lessons": "tests.course.check_times", "reach": "tests.sim.reach"}
TARGETS = ("comm", "nn", "plan", "pytorch", "rpc", "sim", "train", *OF_TESTS)
KEEP = "--keep-pins"


def configure(parser: Parser) -> None:
    parser.takes(f"target {{{','.join(TARGETS)}}}  what to time")
    parser.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        metavar="…",
        help=f"options of the target (see mtd bench nn --help); {KEEP} keeps OPENBLAS_… variables "
        "that choose numpy's kernels, which by default it chooses itself",
    )
    parser.set_defaults(run=run, epilog="mtd bench train")


def run(options: argparse.Namespace) -> int:
    """Time in a fresh process: the thread count of the numeric libraries is fixed at their import."""
    arguments = [argument for argument in options.arguments if argument != KEEP]
    command = [sys.executable, "-m", "mtd.cli.bench", options.target, *arguments]
    return subprocess.call(command, env=environment(KEEP in options.arguments))


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
