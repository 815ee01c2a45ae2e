"""P15, the other half: workers that do not wait for each other, but are never far ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import minitorch_dist as torch
from minitorch_dist import distributed as dist
from minitorch_dist.sim import nets, program_calls
from minitorch_dist.sim.runner import run
from mtd.papers.paper import Row

WORKERS, STEPS, COUNT, RATE = 4, 24, 64, 0.05  # COUNT: weights
SERVER = WORKERS  # its rank
QUICK, SLOW = 1e-3, 10e-3  # seconds for a gradient
NET = nets.Hockney("1us", "100Gb/s")
DELAYS = (0, 1, 2, 4)

Pace = Callable[[int, int], float]  # of a worker in a step


def by_turns(worker: int, step: int) -> float:
    return SLOW if step % WORKERS == worker else QUICK


def one_is_slow(worker: int, step: int) -> float:
    return SLOW if worker == 0 else QUICK


def gradient(worker: int, weights: torch.Tensor) -> torch.Tensor:
    """Of ½(w - x)², for a point x of each worker's own."""
    found: torch.Tensor = weights - torch.arange(float(COUNT)) / (worker + 3)
    return found


def play(delay: int, pace: Pace) -> tuple[list[float], list[list[float]]]:
    """The server returns its weights, a worker when it began each step and pushed what came of it."""
    if dist.get_rank() == SERVER:
        return serve(delay), []
    worker, weights = dist.get_rank(), torch.zeros(COUNT)
    began, pushed = [], []
    for step in range(STEPS):
        began.append(program_calls.now())
        program_calls.compute(pace(worker, step))
        dist.send(gradient(worker, weights), SERVER)
        pushed.append(program_calls.now())
        dist.recv(weights, SERVER)
    return [], [began, pushed]


def serve(delay: int) -> list[float]:
    """A worker that has pushed is given the weights when the slowest is at most `delay` steps behind."""
    weights, came = torch.zeros(COUNT), torch.zeros(COUNT)
    clocks, waiting = [0] * WORKERS, set()
    held: dict[int, torch.Tensor] = {}
    while min(clocks) < STEPS:
        worker = dist.recv(came)
        assert worker is not None
        clocks[worker] += 1
        held[worker] = came.clone()
        waiting.add(worker)
        if delay > 0 or len(held) == WORKERS:  # without delay a step is all workers', in their order
            for one in sorted(held):
                weights -= RATE * held.pop(one)
        for one in sorted(waiting):
            if clocks[one] - min(clocks) <= delay and one not in held:
                waiting.remove(one)
                dist.send(weights, one)
    found: list[float] = weights.tolist()
    return found


def one_after_the_other() -> list[float]:
    """The same steps in one process."""
    weights = torch.zeros(COUNT)
    for _ in range(STEPS):
        for part in [gradient(worker, weights) for worker in range(WORKERS)]:
            weights -= RATE * part
    found: list[float] = weights.tolist()
    return found


def ahead(of_workers: Sequence[list[list[float]]]) -> int:
    """By how many steps a worker that began one was ahead of the slowest, at most."""
    pushed = [np.array(pushed) for _, pushed in of_workers]
    begun = ((step, instant) for began, _ in of_workers for step, instant in enumerate(began))
    return max(step - min(int((each <= at).sum()) for each in pushed) for step, at in begun)


def rows() -> Sequence[Row]:
    found, alone = [], one_after_the_other()
    for delay in DELAYS:
        report = run(play, WORKERS + 1, (delay, one_is_slow), net=NET)
        workers = [result[1] for result in report.results[:WORKERS]]
        found.append(Row(f"delay {delay}: steps ahead of the slowest", delay, ahead(workers)))
        if delay == 0:
            differ = sum(a != b for a, b in zip(report.results[SERVER][0], alone, strict=True))
            found.append(Row("delay 0: weights unlike those of one process", 0, differ))
    waits = STEPS * SLOW  # in each step for the slowest
    own = STEPS / WORKERS * (SLOW + (WORKERS - 1) * QUICK)
    for pace, name, delay, published in (
        (one_is_slow, "one is slow", 0, waits),
        (one_is_slow, "one is slow", DELAYS[-1], waits),
        (by_turns, "slow by turns", 0, waits),
        (by_turns, "slow by turns", DELAYS[-1], own),
    ):
        took = run(play, WORKERS + 1, (delay, pace), net=NET).time / 1e9
        found.append(Row(f"delay {delay}, {name}", published * 1e3, took, 0.01, "ms"))
    return found
