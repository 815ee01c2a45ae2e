"""A learner's functions under real PyTorch: DDP and FSDP2 train with them, beside gloo.

for trained in train(lesson):      in a process of its own, which imports torch
    print(trained.sentence)        whether the losses are gloo's, or what went wrong
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Final

from mtd.course import lesson as lessons
from mtd.course.lesson import Lesson, LessonError
from mtd.course.path import LessonAnswer
from mtd.course.workspace import found_or_none

RANKS: Final = 3
INSTALL: Final = "pip install 'minitorch_dist[torch]'"
NAMES: Final = {"ddp": "DistributedDataParallel", "fsdp": "fully_shard", "tensor": "parallelize_module"}


@dataclass(frozen=True)
class RealPart:
    """A training (ddp, fsdp or tensor), and the functions of a lesson's module that carry it."""

    training: str
    lesson: int
    functions: tuple[str, ...]
    module: str

    @property
    def variables(self) -> dict[str, str]:
        """They tell our backend whose functions it is to call."""
        return {f"MTD_{name.upper()}": f"{self.module}:{name}" for name in self.functions}


@dataclass
class RealOutcome:
    """The losses of all steps over gloo and with the learner's functions, or what went wrong there, in words."""

    gloo: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    wrong: str = ""
    picture: list[str] = field(default_factory=list)
    messages: int = 0  # that each rank sends by the learner's code in one simulated training

    def differs_at(self) -> int | None:
        """The first step with another loss than gloo's, beyond the order of additions."""
        pairs = zip(self.gloo, self.own, strict=True)
        return next((step for step, (one, other) in enumerate(pairs) if abs(one - other) > 1e-9 * abs(one)), None)


_RING: Final = RealPart("fsdp", 13, ("all_gather", "reduce_scatter"), "ring")
PARTS: Final[dict[float, tuple[RealPart, ...]]] = {
    11: (RealPart("ddp", 11, ("broadcast",), "tree"),),
    13: (RealPart("ddp", 13, ("all_reduce",), "ring"), _RING),
    14: (RealPart("ddp", 14, ("all_reduce",), "doubling"),),
    21: (_RING,),
    31: (RealPart("tensor", 13, ("all_reduce",), "ring"),),
}


@dataclass(frozen=True)
class RealTraining:
    """One training, and what came of it."""

    part: RealPart
    whose: str  # ring.py (yours)
    outcome: RealOutcome

    @property
    def is_right(self) -> bool:
        return not self.outcome.wrong and self.outcome.differs_at() is None

    @property
    def about(self) -> str:
        functions = " and ".join(f"`{name}`" for name in self.part.functions)
        return (
            f"Real PyTorch's {NAMES[self.part.training]} trains on {RANKS} ranks: once over gloo, and once with "
            f"{functions} of {self.whose} in the place of PyTorch's own."
        )

    @property
    def table(self) -> list[str]:
        gloo, own = self.outcome.gloo, self.outcome.own or [float("nan")] * len(self.outcome.gloo)
        rows = [f"{step:>4}  {a:<18.14f}  {b:<18.14f}" for step, (a, b) in enumerate(zip(gloo, own, strict=True))]
        return [f"{'step':>4}  {'loss over gloo':<18}  with {self.part.functions[0]}", *rows]

    @property
    def sentence(self) -> str:
        if self.outcome.wrong:
            return f"It did not come to its end. {self.outcome.wrong}"
        step = self.outcome.differs_at()
        if step is not None:
            return (
                f"The losses part at step {step}: one of these functions is wrong. Ask `mtd check "
                f"{self.part.lesson}` which element of which rank."
            )
        return (
            f"The losses are those of gloo. In one step, each rank sent {self.outcome.messages} messages by the lines "
            "of this file."
        )


def train(lesson: Lesson) -> Iterator[RealTraining]:
    """LessonError if the lesson has no such function, or torch is not installed."""
    parts = PARTS.get(lesson.number)
    if parts is None:
        raise LessonError(
            f"lesson {lesson.number} has no function that real PyTorch could call; lessons "
            f"{', '.join(map(str, PARTS))} have"
        )
    if importlib.util.find_spec("torch") is None:
        raise LessonError(f"--real trains real PyTorch, which is not installed: {INSTALL}")
    for part in parts:
        answer, whose = _answer(lessons.find(part.lesson))
        with answer.searched():
            yield RealTraining(part, whose, _outcome(part))


def _answer(module: Lesson) -> tuple[LessonAnswer, str]:
    """The learner's file, if it is begun, else ours; and whose it is."""
    mine = found_or_none()
    if mine is not None and mine.is_begun(module):
        return mine.answer(module), f"{module.file} (yours)"
    return LessonAnswer.ours(module), f"{module.file} (ours)"


def _outcome(part: RealPart) -> RealOutcome:
    command = [sys.executable, "-W", "ignore", "-m", "mtd.course.real_training", json.dumps(asdict(part))]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    lines = ended.stdout.strip().splitlines()
    if ended.returncode or not lines:
        raise LessonError(f"the training ended with status {ended.returncode}, and what it said stands above")
    return RealOutcome(**json.loads(lines[-1]))
