"""The composed finale: lesson 30's finale.py, a small transformer on a mesh, and whose code does which part of it.

script = script_of(workspace)          the learner's copy, else ours
with found(workspace, script) as parts:     its modules are the learner's where they are written, else ours
    worlds.live(setup(4, folder, parts, script=script))
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mtd.course.lesson import ROOM, all_lessons, find
from mtd.course.path import searched
from mtd.course.workspace import Workspace
from mtd.course.worlds import TrainingSetup

SCRIPT = find(30).folder / "finale.py" if ROOM.is_dir() else ROOM / "finale.py"
ARGUMENTS = ("--steps", "10", "--every", "1")
BY_LIBRARY = ("tensors, gradients and attention", "wires, faults, and the file of the checkpoint")

Parts = tuple[tuple[str, str], ...]


def fault(ranks: int) -> str | None:
    """Why so many ranks cannot train it."""
    if ranks % 2 and ranks % 3:
        return (
            f"--ranks {ranks} forms no stages of 2 or 3 ranks, and one rank alone has not the memory for the "
            "whole model; take 4 or 6"
        )
    return None


def script_of(workspace: Workspace | None) -> Path:
    """The script in a learner's folder, where it may have been changed; ours where there is none."""
    own = SCRIPT if workspace is None else workspace.folder / SCRIPT.parent.name / SCRIPT.name
    return own if own.is_file() else SCRIPT


def setup(ranks: int, folder: Path, parts: Parts, seed: int = 0, script: Path = SCRIPT) -> TrainingSetup:
    memory: int = constant(script, "MEMORY")
    return TrainingSetup(script, ARGUMENTS, ranks, folder, seed, memory, parts)


@contextmanager
def found(workspace: Workspace | None, script: Path = SCRIPT) -> Iterator[Parts]:
    """Each part of the training, and whose it is. Within the block the script finds these modules."""
    room = ROOM if workspace is None else workspace.room
    own = {} if workspace is None else workspace.written(workspace.progress())
    lessons = {one.module: one for one in all_lessons(room)}
    parts = [("the script", _whose(script))]
    named: dict[str, str] = constant(script, "PARTS")
    for part, module in named.items():
        one = lessons[module]
        whose = "yours" if one.number in own else "ours"
        parts.append((part, f"{whose} (lesson {one.number}, {one.file})"))
    parts += [(part, "the library's") for part in BY_LIBRARY]
    places = [own.get(one.number, one.folder) for one in reversed(lessons.values())]
    with searched(places, room):
        yield tuple(parts)


def _whose(script: Path) -> str:
    is_ours = script.read_bytes() == SCRIPT.read_bytes()
    return f"{'ours' if is_ours else 'yours'} (lesson 30, {script.name})"


def constant(script: Path, name: str) -> Any:
    """Read a constant of the script: PARTS (the lesson's module for each part), or MEMORY (the cap)."""
    for node in ast.parse(script.read_text("utf-8"), script.name).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise ValueError(f"{script.name} has no line {name} = …; ours is in {SCRIPT}")
