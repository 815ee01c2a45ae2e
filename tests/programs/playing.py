"""How the tests run a program, and which of them with which flags."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "programs"

# Flags of a small run, whose losses are compared with torch's.
SMALL = {
    "rpc_intro": "--steps 4",
    "rpc_parameter_server": "--world_size 2 --train_size 96 --test_size 64 --epochs 1 --no_dropout",
    "pipeline_resnet50": "--num_split 1 2 --batch_size 4 --image 64 --num_batches 2 --double",
    "push_pull_server": "--world_size 6 --mode sync --steps 6",
    "batch_update_server": "--world_size 4 --steps 6",
    "rnn_over_workers": "--steps 8 --length 5",
    "ddp_basic": "--world_size 3 --steps 4",
    "ddp_checkpoint": "--world_size 3 --steps 3",
    "ddp_model_parallel": "--steps 4",
    "hand_averaged_sgd": "--world_size 3 --epochs 2 --train_size 240",
    "fsdp_mnist": "--train_size 128 --test_size 64",
    "small_gpt": "--steps 4 --rows 2 --length 16 --width 16 --layers 1 --letters 2",
    "word_lstm": "--steps 4 --rows 2 --length 6 --width 16 --words 2",
    "vae": "--steps 4 --train_size 64 --batch_size 8 --hidden 16 --dimensions 4",
    "diloco": "--steps 6 --inner 2 --train_size 64 --test_size 16 --batch_size 8 --hidden 16",
    "gcn": "--steps 4",
    "dcgan": "--steps 50 --train_size 32 --batch_size 4 --width 2 --z 4",
    "actor_critic": "--episodes 50 --steps 10 --walkers 2",
    "llama_4d": "--world_size 8 --steps 6 --rows 2 --length 8 --microbatches 2 --width 16",
}

# The gallery's small runs beside torch take fifty steps, where a short run would hide a slow drift.
FIFTY = {
    name: f"{SMALL[name]} --steps 50"  # the last of two flags counts
    for name in ("small_gpt", "word_lstm", "vae", "diloco", "gcn", "llama_4d")
}


def simulated(name: str, flags: str, **how: Any) -> Any:
    """The report of a program's run in virtual time."""
    seam, program = importlib.import_module("seam"), importlib.import_module(name)
    options = program.parser().parse_args(flags.split())
    return seam.simulate(program.run, options.world_size, options, **how)


def losses(name: str, results: Any) -> list[float]:
    """What a program's ranks returned, as a flat list of its losses."""
    if name == "rpc_parameter_server":
        return [*results[1][0], results[1][1]]
    if name == "pipeline_resnet50":
        return [loss for row in results[0] for loss in row[1]]
    if name == "push_pull_server":
        return [loss for worker in results[0] for loss in worker[0]]
    if name in ("dcgan", "actor_critic"):
        return [loss for pair in results[0] for loss in pair]
    if name == "fsdp_mnist":
        return [*results[0][0], results[0][1]]
    return list(results[0])


def command(*words: str, **environment: str) -> subprocess.Popen[str]:
    """A program in a process of its own, as from a terminal."""
    there = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=PROGRAMS,
        env=there,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def output(process: subprocess.Popen[str], timeout: float = 100) -> str:
    """All it printed; it must end well."""
    try:
        text, _ = process.communicate(timeout=timeout)
    finally:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.communicate()
    assert process.returncode == 0, text
    return text
