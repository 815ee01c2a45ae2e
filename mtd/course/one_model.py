"""One model for the course: the same small transformer, trained by what a lesson built, on four simulated accelerators.

found = run(lesson)                 its model.py, which imports the learner's file
found.scene                         when each rank computes and sends in one step, and what it holds
found.predicted, found.measured     seconds of the step: by a formula, and in virtual time

A lesson's model.py has `trained()`, which each rank calls: it returns a function that takes one step and returns this
rank's part of the loss. `seconds()` is the formula, and `FORMULA` says it in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed import journal
from minitorch_dist.distributed.schedules.choice import candidates
from minitorch_dist.distributed.schedules.cost import textbook_time
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.nn.functional import cross_entropy
from minitorch_dist.optim import Adam
from minitorch_dist.pictures.scene import Scene
from minitorch_dist.sim.device import Device
from mtd.course import loading
from mtd.course.lesson import Lesson
from mtd.course.small_transformer import WORDS, SmallTransformer
from transports import keeper

RANKS: Final = 4
SEQUENCES: Final = 4  # of a batch
TOKENS: Final = 32  # of a sequence
WIDTH: Final = 16
BLOCKS: Final = 4
RATE: Final = 10**9  # multiplications and additions in a second; all else takes no time
DEVICE: Final = Device("small", peak={"float64": RATE, "float32": RATE}, bandwidth="1000TB/s", memory="4MB")
LINKS: Final = Links(10_000_000, 10_000)  # 10 µs, 100 MB/s
NET: Final = sim.uniform("10us", "100MB/s")
FILE: Final = "model.py"


@dataclass
class ModelStep:
    """One step of a lesson's training."""

    formula: str
    predicted: float  # seconds
    measured: float
    loss: float
    peak: int  # bytes, of the rank that holds most
    scene: Scene


# ------------------------------------------------------------------------------ what a model.py takes


def model() -> SmallTransformer:
    """It is the same on all ranks."""
    return SmallTransformer(WIDTH, heads=4, blocks=BLOCKS).to("cuda")


def optimizer(parameters: Iterable[Any]) -> Adam:
    return Adam(parameters, lr=0.02)


def sequence(number: int) -> tuple[Any, Any]:
    """The words of a sequence, and the words that follow them."""
    words = ((torch.arange(TOKENS + 1) * 7 + 3 * number) % WORDS).to("cuda")
    return words[:-1], words[1:]


def mine() -> list[int]:
    """The sequences of this rank, where each has its part of the batch."""
    return [*range(dist.get_rank(), SEQUENCES, dist.get_world_size())]


def backward(model: nn.Module, sequences: Iterable[int], scale: float) -> float:
    """The gradients of these sequences, times `scale`; returns their part of the loss."""
    total = 0.0
    for number in sequences:
        words, following = sequence(number)
        loss: Any = cross_entropy(model(words), following)
        (loss * scale).backward()
        total += loss.item() / SEQUENCES
    return total


def stepping(model: nn.Module, sequences: Iterable[int], scale: float) -> Callable[[], float]:
    """A function that takes a step by these sequences."""
    update, numbers = optimizer(model.parameters()), [*sequences]

    def step() -> float:
        update.zero_grad()
        total = backward(model, numbers, scale)
        update.step()
        return total

    return step


# ------------------------------------------------------------------------------ what a formula takes


@cache
def parameters() -> tuple[Any, ...]:
    return tuple(SmallTransformer(WIDTH, heads=4, blocks=BLOCKS).parameters())


def products(rows: Iterable[Any]) -> float:
    """Seconds for the products of a batch with these matrices, forward and backward: six for each number and token.

    A word's row of the first matrix is looked up, so nothing is multiplied there.
    """
    numbers: int = sum(p.numel() for p in rows if p.dim() == 2 and p is not parameters()[0])
    return 6 * numbers * TOKENS * SEQUENCES / RATE


def attention() -> float:
    """Seconds for the products of all tokens of a sequence with all others."""
    return 12 * TOKENS * TOKENS * WIDTH * BLOCKS * SEQUENCES / RATE


def computing() -> float:
    """C: seconds of a batch on one device."""
    return products(parameters()) + attention()


def message(nbytes: float) -> float:
    return (LINKS.alpha + nbytes * LINKS.beta) / 1e12


def ring(nbytes: float) -> float:
    """An all_reduce by the ring of lesson 13."""
    return 2 * (RANKS - 1) * message(nbytes / RANKS)


def quickest(kind: str, nbytes: int) -> float:
    """A collective as the library chooses it (lesson 15)."""
    return min(textbook_time(each, RANKS, nbytes, LINKS) for each in candidates(kind, nbytes, LINKS)) / 1e12


# ------------------------------------------------------------------------------ the run


def run(lesson: Lesson) -> ModelStep:
    """Train two steps by this lesson's model.py, and draw the second."""
    found: Any = loading.load(lesson.folder / FILE, f"model_{lesson.label}")

    def program() -> tuple[float, int, int]:
        step = found.trained()
        step()
        dist.barrier()
        begun = round(sim.now() * 1e12)
        loss = step()
        return loss, begun, round(sim.now() * 1e12)

    with keeper.temporary_folder("mtd-model-") as folder:
        path = folder / "run.mtd"
        report = sim.run(program, RANKS, net=NET, device=DEVICE, journal=path)
        scene = journal.read(path).scene()
    losses, begun, ended = zip(*report.results, strict=True)
    first, last = max(begun), max(ended)
    total = math.fsum(losses)
    peak = max(rank.peak_bytes or 0 for rank in report.ranks)
    cut = within(replace(scene, title=str(lesson)), first, last)
    return ModelStep(found.FORMULA, found.seconds(), (last - first) / 1e12, total, peak, cut)


def within(scene: Scene, first: int, last: int) -> Scene:
    """Only this span of time."""
    part = scene.between(first, last)
    spans = [s._replace(start=max(s.start, first), end=min(s.end, last)) for s in part.spans]
    held = {
        lane: [(first, scene.held(lane, first)), *(one for one in samples if first < one[0] <= last)]
        for lane, samples in scene.memory.items()
    }
    arrows = [a for a in part.arrows if a.departed >= first]
    return replace(part, spans=[s for s in spans if s.end > s.start], arrows=arrows, memory=held)


@cache
def loss_of_one_rank() -> float:
    """Of the second step."""

    def program() -> float:
        step = stepping(model(), range(SEQUENCES), 1 / SEQUENCES)
        step()
        return step()

    return float(sim.run(program, 1, device=DEVICE).results[0])
