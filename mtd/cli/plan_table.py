"""The table of a plan on a terminal, with the lines above and below it."""

from __future__ import annotations

import math

from minitorch_dist.sim.device import NOT_FITTED
from minitorch_dist.tensors.pools import readable
from mtd.cli.page import Page
from mtd.planning import reasons
from mtd.planning.clusters import GpuCluster
from mtd.planning.pruning import Candidate
from mtd.planning.saved_plans import GIB, FoundPlan
from mtd.planning.search import PlanRow

HEAD, WIDE = ("s/step", "tok/s/GPU", "MFU", "GiB", "idle"), (7, 9, 5, 5, 6)


def show(say: Page, plan: FoundPlan) -> None:
    for line in first_lines(plan):
        say.say(line)
    say.say()
    say.as_it_is(f"{'':>2} {'layout':<38} {' '.join(map(str.rjust, HEAD, WIDE))}")
    for number, row in plan.shown:
        *found, mark = cells(plan, row)
        say.as_it_is(f"{number:>2} {row.layout.short:<38} {' '.join(map(str.rjust, found, WIDE))}{mark}")
    for number, (layout, least) in plan.others:
        say.as_it_is(f"{number:>2} {layout.short:<38} {f'≥ {least:.3g}':>7}")
    if not all(row.fits for _, row in plan.shown):
        say.say("!: by the ledger it needs more memory than the device has")
    say.say()
    for number, row in plan.shown:
        say.as_it_is(f"{number:>2} {why(plan, number, row)}")
    for number, (_, least) in plan.others:
        say.as_it_is(f"{number:>2} cannot be faster than {least:.3g} s")
    if plan.rows:
        say.say()
        _show_first(say, plan.rows[0])


def cells(plan: FoundPlan, row: PlanRow) -> tuple[str, ...]:
    """A row of numbers, and a mark where it does not fit."""
    speed = f"{row.seconds:.3g}", f"{row.tokens(plan.model):,.0f}", f"{row.mfu(plan.model, plan.cluster):.0%}"
    return *speed, f"{row.peak / GIB:.0f}", f"{row.idle:.1%}", "" if row.fits else " !"


def why(plan: FoundPlan, number: int, row: PlanRow) -> str:
    """Why a layout is at its place."""
    return "the fastest" if number == 1 else reasons.why_slower(row, plan.rows[0])


def first_lines(plan: FoundPlan) -> list[str]:
    """The lines above the table."""
    model, cluster, rows, rest, refused = plan
    found = [
        f"{model.name}, {model.parameters / 1e9:.1f} billion parameters, {model.batch} × {model.sequence:,} tokens a "
        f"step, on {cluster.gpus} × {cluster.device.name}, {cluster.net}",
        f"{len(rows) + len(rest) + refused} layouts divide; by the formula {refused} do not fit. {len(rows)} were "
        f"simulated; {left_out(rows, rest)}.",
        *_fit(rows, cluster),
    ]
    if cluster.device.fitted == NOT_FITTED and cluster.device.top == 1:
        found.append(
            "No efficiency is fitted: products run at the peak, so any real device is slower. --top 0.6 lets "
            "them reach 60 % of it."
        )
    return found


def _fit(rows: list[PlanRow], cluster: GpuCluster) -> list[str]:
    """The answer in a line. Nothing where nothing was simulated, or memory is not known."""
    if not rows or cluster.device.memory is None:
        return []
    best, room = rows[0], f"{cluster.device.memory / GIB:.0f} GiB"
    if not best.fits:
        return [f"No layout that was simulated fits the {room} that each GPU has."]
    return [
        f"It fits: {best.layout.short} takes {best.seconds:.3g} s a step, and {best.peak / GIB:.0f} GiB of the {room} "
        "that each GPU has."
    ]


def left_out(rows: list[PlanRow], rest: list[Candidate]) -> str:
    """The layouts that were not simulated, in words."""
    if not rest:
        return "there are no others"
    fastest = min((row.seconds for row in rows if row.fits), default=math.inf)
    faster = sum(least < fastest for _, least in rest)
    if faster:
        return f"of the other {len(rest)}, {faster} may be faster (--simulate {len(rows) + faster})"
    return f"the other {len(rest)} cannot be faster"


def _show_first(say: Page, row: PlanRow) -> None:
    say.say(f"The fastest: {shares(row)} of the step.")
    bubble = f"; the bubble of equal stages is {row.bubble:.1%}" if row.layout.pipeline > 1 else ""
    say.say(f"For {row.idle:.1%} of it a GPU is idle, on average{bubble}.")
    say.say(f"GiB of its fullest GPU at the peak: {memory(row)}.")
    shards, replicas = row.layout.shards, row.layout.replicas
    if shards > 1 < replicas:
        said = f"Parameters are gathered among {shards} GPUs"
        say.say(f"{said}, and {replicas} replicas of them sum their gradients.")
    say.say(f"In a step all its GPUs send {links(row)}; the one that sends most sends {readable(row.sent)}.")


def shares(row: PlanRow) -> str:
    return ", ".join(f"{name} {row.shares[name]:.0%}" for name in reasons.WORDS)


def memory(row: PlanRow) -> str:
    return ", ".join(f"{name} {nbytes / GIB:.1f}" for name, nbytes in row.memory.items() if nbytes)


def links(row: PlanRow) -> str:
    return " and ".join(f"{readable(nbytes)} {kind}" for kind, nbytes in row.links.items())


def show_failures(say: Page, found: reasons.Failures) -> None:
    say.say(
        f"With failures: a checkpoint each {found.interval / 60:.1f} min; the run takes {found.factor:.3f} times as "
        "long (Daly's formula)."
    )
