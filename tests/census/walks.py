"""The programs whose functions are counted: what learners, readers and users run.

A walk is a list of commands, which run in the checkout. CENSUS stands for a folder for what they write.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from mtd.course.lesson import all_lessons
from tests.census import conforms

Command = list[str]

PYTHON: Final = [sys.executable]
MTD: Final = [sys.executable, "-m", "mtd"]
LAUNCHER: Final = [sys.executable, "-m", "minitorch_dist.distributed.run", "--standalone"]
LEFT_OUT: Final = ("seam", "ddp_elastic")  # imported by others; needs the launcher
SMALL: Final = {"train_size": 128, "test_size": 32}  # for a program that takes them
TRAINS: Final = "programs/ddp_basic.py --steps 3"


def lessons(house: Path) -> list[Command]:
    """The check of every lesson, with its solution and with its mutants."""
    return [[*MTD, "dev", "check", "--lesson", str(one.number)] for one in all_lessons()]


def programs(house: Path) -> list[Command]:
    """Every program as one command, and in virtual time where it has that."""
    files = [file for file in sorted((house / "programs").glob("*.py")) if file.stem not in LEFT_OUT]
    return [
        [*PYTHON, f"programs/{file.name}", *flags]
        for file in files
        for flags in ([], ["--sim", *_small(file.read_text("utf-8"))])
    ]


def _small(program: str) -> list[str]:
    return [f"--{name}={count}" for name, count in SMALL.items() if f'"--{name}"' in program or f'("{name}"' in program]


def notebooks(house: Path) -> list[Command]:
    """Every notebook without blanks, executed."""
    run = [*PYTHON, "-c", "from nbclient.cli import main; main()"]
    found = sorted((house / "notebooks").glob("00_*.ipynb")) + sorted((house / "notebooks/solutions").glob("*.ipynb"))
    return [[*run, str(file.relative_to(house))] for file in found]


def wires(house: Path) -> list[Command]:
    """A training over each wire, and the contract of those that need no server."""
    nets = ("queue", "sim", "tcp", "file", "mqtt")
    trained = [[*MTD, "run", "--ranks", "3", "--net", net, "programs/ddp_basic.py"] for net in nets]
    measured = [[*MTD, "verify", f"{net}://", "--rounds", "3"] for net in ("queue", "tcp")]
    return [*trained, *measured, [*PYTHON, "-m", conforms.__name__]]


def launchers(house: Path) -> list[Command]:
    """The launcher, elastic and not, and calls under it."""
    return [
        [*LAUNCHER, "--nproc-per-node", "2", *TRAINS.split()],
        [*LAUNCHER, "--nproc-per-node", "2", "--max-restarts", "2", "programs/ddp_elastic.py",
         "--die-at", "6", "--steps", "9", "--checkpoint", "CENSUS/checkpoint"],
        [*LAUNCHER, "--nproc-per-node", "2", "programs/rpc_intro.py"],
        [*MTD, "demo", "--no-open", "--out", "CENSUS/demo.html"],
    ]  # fmt: skip


def commands(house: Path) -> list[Command]:
    """The commands that simulate, explain and plan."""
    said = (
        "zoo",
        "museum 13/whole_tensor",
        "simulate all_reduce --ranks 12",
        "papers ddp_overlap",
        "game network --par",
        "doctor",
        "road",
        "likeness",
        f"run --ranks 4 --seeds 20 {TRAINS}",
        f"run --ranks 4 --device h100 --page CENSUS/page.html {TRAINS}",
        f"run --ranks 4 --journal CENSUS/journal {TRAINS}",
        "show CENSUS/journal",
        "plan gpt-small --gpus 8 --device h100 --simulate 2 --cache CENSUS/plans",
    )
    return [[*MTD, *words.split()] for words in said]


WALKS: Final = {one.__name__: one for one in (lessons, programs, notebooks, wires, launchers, commands)}
