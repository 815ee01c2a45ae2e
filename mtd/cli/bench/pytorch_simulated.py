"""The rows of `mtd bench pytorch` that run in the simulator: what `mtd run` takes for a PyTorch script.

Each runs the command as a user does, in a process of its own, and counts the processor time that the system tells of it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from minitorch_dist import sim
from mtd.planning import model_files
from mtd.planning.layouts import TrainingLayout
from mtd.planning.training_step import train as plan
from transports.quantities import in_words, span

SCRIPTS: Final = Path(__file__).parent / "pytorch_scripts"
RANKS: Final = 64
NODES, GPUS = 8, 8
LINKS: Final = "intra=2us/450GB/s,inter=5us/400Gb/s"
MB: Final = 1 << 20


class Taken(NamedTuple):
    """The costs of a process, and the text that it wrote."""

    processor: float  # seconds
    seconds: float
    memory: int  # bytes, at most
    said: str


def run(*arguments: str) -> Taken:
    """Run Python with these arguments; CalledProcessError if it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    taken = used.ru_utime + used.ru_stime
    return Taken(taken, time.perf_counter() - begin, memory_of(used), said)


def memory_of(used: resource.struct_rusage) -> int:
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1 << 10)


def ranks(folder: Path, count: int = RANKS) -> str:
    """64 simulated ranks of a DDP script, beside 64 times one rank's steps without DDP.

    Starting PyTorch is in neither figure: a script that only imports it is subtracted.
    """
    script, empty = str(SCRIPTS / "ddp.py"), str(SCRIPTS / "empty.py")
    started = run("-m", "mtd", "run", "--ranks", "1", empty).processor
    net = "sim://?latency=20us&rate=10Gb/s"
    many = run("-m", "mtd", "run", "--ranks", f"{count}", "--net", net, script).processor - started
    alone = run(script, f"{count}").processor - run(empty).processor
    return (
        f"ranks: {count} simulated ranks of a DDP script, 20 steps: {many:.1f} s of processor time, {alone:.1f} s for {count} "
        f"times one rank's steps: {many / alone:.2f}, goal ≤ 1.5"
    )


def fsdp_8b(folder: Path, nodes: int = NODES, layers: int = 32) -> str:
    """PyTorch's FSDP2 on a model of the size of Llama 3 8B, on virtual H100s, beside our plan of this step. One of ranks that
    do the same runs."""
    count, net = nodes * GPUS, f"two_level:nodes={nodes},gpus={GPUS},{LINKS}"
    taken = run(
        "-m", "mtd", "run", "--ranks", f"{count}", "--device", "h100", "--shapes", "--fold", "--net", net,
        str(SCRIPTS / "llama.py"), "--layers", f"{layers}",
    )  # fmt: skip
    found = span(taken.said.partition(" ranks, ")[2].partition(",")[0])
    model = model_files.read("llama3-8b").changed(layers=layers, batch=count)
    layout = TrainingLayout(shards=count, ahead=True)
    planned = sim.run(plan, count, (model, layout), net=net, device="h100", shapes=True, fold=True).time
    return (
        f"fsdp-8b: a step of FSDP2 on {count} virtual H100s: {taken.seconds:.0f} s, goal ≤ 300; "
        f"{taken.memory / MB:,.0f} MB, goal ≤ 6,144. The step takes {in_words(found)}, and {in_words(planned)} by our plan: "
        f"{100 * abs(found / planned - 1):.1f} % apart, goal ≤ 10"
    )


ROWS: Final[dict[str, Callable[[Path], str]]] = {"ranks": ranks, "fsdp-8b": fsdp_8b}
