"""A learner's own stack on trial: assembled, and trained over real wires by a process of its own.

proof = prove(folder, workspace, 4, ["tcp", "file", "mqtt"])
proof.sentence        412 lines of yours trained over tcp, file and mqtt: the weights of one rank, bit for bit.
proof.complaints      in words, with the lesson whose code is wrong

Each lesson's code is asked a small question (`python -m mystack examine`), since a training does not use all of it.
`python -m mystack train` compares: all ranks with each other, with one rank alone, and with recorded weights. Over tcp
a rank is killed once, and comes back.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mtd.course.assembling import StackModule, assemble
from mtd.course.workspace import Workspace
from transports.broker import credentials, launch

WIRES: Final = ("tcp", "file", "mqtt")
STEPS = 24
LIMIT = 300.0  # seconds of one training, on a busy machine
WEIGHTS = re.compile(r"weights ([0-9a-f]{16})")


@dataclass(frozen=True)
class WireTraining:
    """One training over one wire."""

    wire: str
    weights: str  # the first digits of their SHA-256; "" where there are none
    is_killed: bool  # whether a rank was killed, and came back
    complaint: str = ""


@dataclass(frozen=True)
class StackProof:
    """The modules of the stack, and its trainings."""

    parts: list[StackModule]
    face_lines: int
    ranks: int
    wrong: str = ""  # the lesson whose answer to its question is wrong, in words
    runs: list[WireTraining] = field(default_factory=list)

    @property
    def written(self) -> int:
        """Lines of the learner's own."""
        return sum(part.written for part in self.parts)

    def lessons(self, whose: str) -> list[str]:
        return [f"{part.lesson.label}" for part in self.parts if part.whose == whose]

    @property
    def complaints(self) -> list[str]:
        found = [f"your stack: {self.wrong}"] if self.wrong else []
        found += [f"your stack, {run.wire}: {run.complaint}" for run in self.runs if run.complaint]
        if not found and len({run.weights for run in self.runs}) > 1:
            found = ["your stack ends with other weights on another wire"]
        return found

    @property
    def is_met(self) -> bool:
        return not self.complaints

    @property
    def sentence(self) -> str:
        count = f"{self.written} {'line' if self.written == 1 else 'lines'} of yours"
        over = listed([run.wire for run in self.runs])
        if self.wrong:
            return f"{count}, and not all of them are right yet: {self.wrong}."
        if not self.is_met:
            failed = [run.wire for run in self.runs if run.complaint]
            return f"{count}, which do not train over {listed(failed) if failed else over} yet."
        if not self.written:
            return f"Our stack, without a line of yours, trained over {over}: the weights of one rank, bit for bit."
        return f"{count} trained over {over}: the weights of one rank, bit for bit."

    def facts(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "written": self.written,
            "yours": self.lessons("yours"),
            "ours": self.lessons("ours"),
            "lines": sum(part.lines for part in self.parts),
            "given": self.face_lines,
            "ranks": self.ranks,
            "wrong": self.wrong,
            "runs": [
                {"wire": run.wire, "weights": run.weights, "killed": run.is_killed, "complaint": run.complaint}
                for run in self.runs
            ],
        }


def prove(
    folder: Path, workspace: Workspace | None, ranks: int, wires: Sequence[str], telling: Callable[[str], object] = str
) -> StackProof:
    """Assemble the stack in a folder, and train it over these wires. AssembleError if it cannot be assembled."""
    made = assemble(folder / "mystack", workspace)
    telling("your stack, lesson by lesson")
    wrong = examined(folder, ranks)
    proof = StackProof(made.parts, made.face_lines, ranks, wrong)
    for wire in wires:
        telling(f"your stack, {wire}")
        with _broker(wire) as more:
            proof.runs.append(trained(folder, ranks, wire, more))
    return proof


@contextmanager
def _broker(wire: str) -> Iterator[list[str]]:
    """The words that name a broker, which runs within the block; none for other wires."""
    if wire != "mqtt":
        yield []
        return
    with launch.start() as broker:
        yield ["--broker", broker.address.replace("//", "//{}:{}@".format(*credentials.credentials()))]


def examined(folder: Path, ranks: int) -> str:
    """The lesson whose answer is wrong; "" if all are right."""
    done = _run(folder, ["examine", "--ranks", str(ranks)])
    if done is None:
        return f"the lessons had not answered after {LIMIT:g} seconds"
    return _complaint(done.stdout, done.stderr) if done.returncode else ""


def trained(folder: Path, ranks: int, wire: str, more: Sequence[str] = ()) -> WireTraining:
    """`python -m mystack train` in this folder; over tcp the last rank is killed at half time."""
    kills = wire == "tcp" and ranks > 1
    said = f"train --ranks {ranks} --wire {wire} --steps {STEPS} --every {STEPS}"
    words = [*said.split(), *more]
    done = _run(folder, [*words, "--kill", f"{ranks - 1}@{STEPS // 2}"] if kills else words)
    if done is None:
        return WireTraining(wire, "", False, f"it had not ended after {LIMIT:g} seconds")
    found = WEIGHTS.search(done.stdout)
    weights = found[1] if found else ""
    if done.returncode:
        return WireTraining(wire, weights, False, _complaint(done.stdout, done.stderr))
    return WireTraining(wire, weights, kills and "a rank was killed" in done.stdout)


def _run(folder: Path, words: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """`python -m mystack …`; None if it does not end."""
    try:
        command, env = [sys.executable, "-P", "-m", "mystack", *words], {**os.environ, "PYTHONPATH": str(folder)}
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, env=env)
    except subprocess.TimeoutExpired:
        return None


def _complaint(said: str, errors: str) -> str:
    """The line that names the lesson, or else the last one."""
    lines = [line for line in [*errors.split("\n"), *said.split("\n")] if line.strip()]
    named = [line.removeprefix("✘ ") for line in lines if line.startswith("✘")]
    return named[0] if named else (lines[-1].strip() if lines else "it ended with an error")


def listed(names: Sequence[str]) -> str:
    """tcp, file and mqtt"""
    return " and ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])
