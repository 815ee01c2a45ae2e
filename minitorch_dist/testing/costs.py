"""The costs of a collective under test: bytes and rounds against `schedules.bounds`, memory from the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist import cuda, sim
from minitorch_dist.distributed.schedules import bounds, proof
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.schedule import ROOTED, Schedule
from minitorch_dist.tensors import ledger
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.testing.trials import length_of, program
from minitorch_dist.testing.verdict import ReplayCase, Verdict
from transports.virtual.network import Network
from transports.virtual.topology import Link, Uniform

METERED = (5, 8)  # numbers of ranks at which costs are measured, if they are among those asked for
NEEDS_THE_CPU = "device type tensor to numpy"  # torch's words, where numpy is given a tensor of a device
ROUNDS = Network(Uniform(Link(1, Fraction(0), 0)))  # time is then the number of rounds


def metered(sizes: Sequence[int]) -> Sequence[int]:
    """Where costs are measured: a subject that is for other numbers of ranks is not run with these."""
    return [size for size in METERED if size in sizes] or [n for n in [max(sizes, default=1)] if n > 1]


def measure(
    verdict: Verdict,
    subject: Callable[..., Any],
    collective: str,
    sizes: Sequence[int],
    bytes_limit: float,
    rounds_limit: float,
    memory_limit: float,
) -> None:
    if not sizes:
        return
    verdict.lamps |= {"cheap": True, "small": True}
    dear, slow = [0.0], [0.0]
    large: list[Any] = [0.0]
    for size in sizes:
        case = ReplayCase(collective, size, 16 * size)
        given = np.ones((size, length_of(case)))
        report = sim.run(program, size, (subject, case, given), net=ROUNDS)
        whole = given[0].nbytes * (size if collective == "all_gather" else 1)
        sent = max(rank.bytes_sent for rank in report.ranks)
        least = bounds.least_bytes(collective, size, whole)
        here = float(sent / least), report.time / bounds.least_rounds(size)
        dear.append(here[0])
        slow.append(here[1])
        if here[0] > bytes_limit and here[1] > rounds_limit:
            verdict.complain(
                "cheap",
                f"{size} ranks: a rank sends {sent} bytes where {float(least):g} would do, and it takes "
                f"{report.time} rounds where {bounds.least_rounds(size)} would do",
            )
        try:
            with cuda.simulated(size) as pool:
                held = sim.run(_watched, size, (subject, case, given, pool)).results
            large += [extra / whole for extra in held]
        except TypeError as error:
            if NEEDS_THE_CPU not in str(error):
                raise
            large.append(None)  # it computes with numpy: what that holds, no ledger knows
    verdict.bytes, verdict.rounds = max(dear), max(slow)
    if None in large:
        verdict.lamps["small"] = None
        return
    verdict.memory = max(large)
    if verdict.memory > memory_limit:
        verdict.complain("small", f"it holds {verdict.memory:.1f} vectors beyond the caller's")


def _watched(subject: Callable[..., Any], case: ReplayCase, given: Array, pool: Any) -> int:
    """Bytes at the peak beyond what the caller holds."""
    with cuda.simulated(pool), ledger.watch(f"cuda:{dist.get_rank()}") as seen:
        result = program(subject, case, given, "cuda")
    outputs = 0 if case.collective in ("all_reduce", "broadcast", "reduce") else result.nbytes
    return int(seen.peak) - int(given[0].nbytes) - int(outputs)


def of_schedule(schedule: Schedule, sizes: Sequence[int], bytes_limit: float, rounds_limit: float) -> Verdict:
    """By proof, for every size: what holds of labels holds of all values, types and operations."""
    verdict = Verdict(str(schedule), {"exactly once": True, "never stuck": True, "cheap": True})
    for size in sizes:
        for root in sorted({0, size - 1}) if schedule.collective in ROOTED else (None,):
            for count in sorted({0, 1, size - 1, size, size + 1, 2 * size + 1}):
                for words in proof.examine(schedule, size, count, root=root):
                    lamp = "never stuck" if "stands still" in words else "exactly once"
                    verdict.complain(lamp, f"{size} ranks, {count} elements: {words}")
    if not verdict:
        return verdict
    dear, slow = [0.0], [0.0]
    for size in metered(sizes):
        bill = cost(schedule, size, 16 * size)
        least = bounds.least_bytes(schedule.collective, size, 16 * size)
        sent = float(bill.max_sent / least) if least else 1.0
        rounds = bill.rounds / bounds.least_rounds(size)
        dear.append(sent)
        slow.append(rounds)
        if sent > bytes_limit and rounds > rounds_limit:
            verdict.complain(
                "cheap",
                f"{size} ranks: a rank sends {bill.max_sent} bytes where {float(least):g} would do, and "
                f"it takes {bill.rounds} rounds where {bounds.least_rounds(size)} would do",
            )
    verdict.bytes, verdict.rounds = max(dear), max(slow)
    return verdict
