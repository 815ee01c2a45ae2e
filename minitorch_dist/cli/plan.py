"""`mtd plan llama3-70b --gpus 256`: which layout trains a model fastest, by running its training step in shapes."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from minitorch_dist.cli import page, plan_difference, plan_page
from minitorch_dist.cli.plan_progress import PlanProgress, tell as _tell
from minitorch_dist.sim import whole_files
from minitorch_dist.sim.device import NOT_FITTED
from minitorch_dist.sim.planning import (
    clusters,
    in_processes,
    model_files,
    pruning,
    reasons,
    saved_plans,
    search,
)
from minitorch_dist.sim.planning.clusters import GpuCluster
from minitorch_dist.sim.planning.in_processes import ProcessEnded
from minitorch_dist.sim.planning.layouts import TrainingLayout
from minitorch_dist.sim.planning.model_files import ModelSizes
from minitorch_dist.sim.planning.plan_cache import PlanCache
from minitorch_dist.sim.planning.pruning import Candidate, Standing
from minitorch_dist.sim.planning.search import PlanRow
from transports.clock import PICO
from transports.quantities import span

GIB = 1 << 30
CACHE = ".mtd-plan.json"
SHOWN = 10
INTERRUPTED = "interrupted"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL",
        help=f"a file of a few lines (mine.toml), or one of {', '.join(model_files.known())}",
    )  # fmt: skip
    parser.add_argument("--gpus", type=int, required=True, help="how many")
    parser.add_argument("--device", default="h100", help="their kind (%(default)s)")
    parser.add_argument(
        "--net", default="nvlink8+400G", help="nodes of 8 over NVLink, 400 Gb/s a GPU between them "
        "(%(default)s), or a network as mtd simulate takes it",
    )  # fmt: skip
    parser.add_argument("--batch", type=int, help="sequences in a step (the model's)")
    parser.add_argument("--top", type=float, metavar="SHARE",
                        help="of the peak that products reach (the device's own; 1 is the roofline)")  # fmt: skip
    parser.add_argument("--simulate", type=int, default=SHOWN, metavar="N",
                        help="at most so many of the layouts that can be the fastest (%(default)s)")  # fmt: skip
    parser.add_argument("--slower-link", type=float, default=1.0, metavar="TIMES",
                        help="links between nodes are slower by this factor")  # fmt: skip
    parser.add_argument("--straggler", action="append", default=[], metavar="RANK:SPEED",
                        help="13:0.8 lets rank 13 compute at 0.8 of the speed")  # fmt: skip
    parser.add_argument(
        "--mtbf", metavar="SPAN", help="mean time between failures of the whole, like 3h"
    )
    parser.add_argument(
        "--saving", default="60s", help="what writing a checkpoint takes (%(default)s)"
    )
    parser.add_argument("--restart", default="300s", help="what a restart takes (%(default)s)")
    parser.add_argument(
        "--against", metavar="FILE", help="a plan that --json wrote, to compare with"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--page", metavar="FILE",
        help="write a page: the table, and a step by the fastest layout with its memory and its critical path",
    )  # fmt: skip
    parser.add_argument(
        "--cache", default=CACHE, help="where simulated layouts are kept (%(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="so many layouts at once (%(default)s: one for each core)")  # fmt: skip
    parser.set_defaults(
        run=run, epilog="mtd plan llama3-70b --gpus 256 --device h100 --net nvlink8+400G"
    )


def run(options: argparse.Namespace) -> int:
    try:
        model = model_files.read(options.model)
        if options.batch is not None:
            model = model.changed(batch=options.batch)
        cluster = clusters.cluster(
            options.device, options.gpus, options.net, options.slower_link,
            _stragglers(options.straggler), **({} if options.top is None else {"top": options.top}),
        )  # fmt: skip
        cluster.device.peak_of("bfloat16")
        if options.simulate < 1:
            raise ValueError(f"--simulate is at least 1, not {options.simulate}")
        if options.jobs < 1:
            raise ValueError(f"--jobs is at least 1, not {options.jobs}")
        failures = _failures(options)
        before = None if options.against is None else saved_plans.read(options.against)
        cache = PlanCache(Path(options.cache))
        if options.page is not None:
            whole_files.check(options.page, whole_files.PAGE, "page")
        rows, refused = search.estimated(model, cluster)
        if not rows:
            raise ValueError(_nothing(model, cluster, refused))
    except (ValueError, OSError) as error:
        return page.refuse("plan", error)
    _tell(f"{len(rows)} layouts fit by the formula: how fast can each be at most?")
    progress = PlanProgress(model, cluster, cache)
    try:
        every = progress.bounded(rows)
    except KeyboardInterrupt:
        _tell(f"mtd plan: interrupted before anything was simulated; {progress.where}")
        return 130
    (found, _, rest), ended_early = _simulated(progress, every, options)
    found.sort(key=lambda row: (not row.fits, row.seconds))
    if options.json:
        print(json.dumps(saved_plans.as_json(model, cluster, found, rest, failures), indent=1))
    else:
        say = page.Page()
        _show(say, model, cluster, found, rest, refused)
        if failures is not None and found:
            _show_failures(say, failures)
        if before is not None and found:
            say.say()
            say.say(f"Against {options.against}:")
            now = saved_plans.SavedPlan(
                model.name, saved_plans.cluster_in_words(cluster.key()), tuple(found)
            )
            plan_difference.show(say, before, now)
    if options.page is not None and found and not ended_early:
        _tell("a step by the fastest one, for the page")
        text = plan_page.page(
            model, cluster, found, rest, _first(model, cluster, found, rest, refused)
        )
        try:
            whole_files.write(options.page, text)
        except OSError as error:
            page.refuse("plan", error)
            return 1
        _tell(f"wrote {options.page}")
    if ended_early:
        _tell(f"mtd plan: {ended_early}; {progress.where}")
        return 130 if ended_early == INTERRUPTED else 1
    return 0


def _simulated(
    progress: PlanProgress, every: list[Candidate], options: argparse.Namespace
) -> tuple[Standing, str]:
    """Run candidates until none of the others can win. Returns also why this ended early, if it did."""
    found = progress.before(every)

    def now() -> Standing:
        return pruning.standing(every, found, options.simulate)

    try:
        for row in _simulate(progress.model, progress.cluster, lambda: now().open, options.jobs):
            found[row.layout] = row
            progress.keep(row)
            left = len(now().open)
            _tell(f"{row.layout}: {row.seconds:.3g} s; {left} more may be faster")
    except KeyboardInterrupt:
        return now(), INTERRUPTED
    except ProcessEnded as error:
        return now(), str(error)
    return now(), ""


def _simulate(
    model: ModelSizes, cluster: GpuCluster, wanted: Callable[[], list[TrainingLayout]], jobs: int
) -> Iterator[PlanRow]:
    if min(jobs, len(wanted())) > 1:
        yield from in_processes.simulate(model, cluster, wanted, jobs)
    while layouts := wanted():
        yield search.simulated(model, layouts[0], cluster)


def _stragglers(texts: Sequence[str]) -> dict[int, float]:
    found: dict[int, float] = {}
    for rank, speed in map(_straggler, texts):
        if rank in found:
            raise ValueError(f"--straggler names rank {rank} twice")
        found[rank] = speed
    return found


def _straggler(text: str) -> tuple[int, float]:
    rank, _, speed = text.partition(":")
    try:
        return int(rank), float(speed)
    except ValueError:
        raise ValueError(f"--straggler is like 13:0.8, not {text!r}") from None


def _failures(options: argparse.Namespace) -> reasons.Failures | None:
    saving, restart = (_seconds(name, getattr(options, name)) for name in ("saving", "restart"))
    if options.mtbf is None:
        return None
    words = {"h": 3600, "d": 86400}
    text = options.mtbf
    if text[-1:] in words:
        try:
            mtbf = float(text[:-1]) * words[text[-1]]
        except ValueError:
            raise ValueError(f"--mtbf is like 3h or 90s, not {text!r}") from None
    else:
        mtbf = _seconds("mtbf", text)
    return reasons.with_failures(mtbf, saving, restart)


def _seconds(option: str, text: str) -> float:
    try:
        return span(text) / PICO
    except ValueError as error:
        raise ValueError(f"--{option}: {error}") from None


def _nothing(model: ModelSizes, cluster: GpuCluster, refused: int) -> str:
    if refused:
        return (
            f"{refused} layouts divide, but {model.name} fits {cluster.gpus} × {cluster.device.name} in none of "
            "them by the formula: take more GPUs, or --batch for a smaller batch"
        )
    layout, wrong = search.nearest_miss(model, cluster)
    return (
        f"no layout of {model.name} divides among {cluster.gpus} GPUs. The nearest is {layout.short}: "
        f"{'; '.join(wrong)}. Take another number of GPUs, or --batch"
    )


# ------------------------------------------------------------------------------------- the tables


def _show(
    say: page.Page,
    model: ModelSizes,
    cluster: GpuCluster,
    rows: list[PlanRow],
    rest: list[Candidate],
    refused: int,
) -> None:
    for line in _first(model, cluster, rows, rest, refused):
        say.say(line)
    say.say()
    say.as_it_is(
        f"{'':>2} {'layout':<38} {'s/step':>7} {'tok/s/GPU':>9} {'MFU':>5} {'GiB':>5} {'idle':>6}"
    )
    for number, row in enumerate(rows[:SHOWN], 1):
        say.as_it_is(
            f"{number:>2} {row.layout.short:<38} {row.seconds:>7.3g} {row.tokens(model):>9,.0f} "
            f"{row.mfu(model, cluster):>5.0%} {row.peak / GIB:>5.0f} {row.idle:>6.1%}"
            f"{'' if row.fits else ' !'}"
        )
    others = sorted(rest, key=lambda each: each.least)[: max(0, SHOWN - len(rows))]
    for number, (layout, least) in enumerate(others, len(rows) + 1):
        say.as_it_is(f"{number:>2} {layout.short:<38} {f'≥ {least:.3g}':>7}")
    if not all(row.fits for row in rows[:SHOWN]):
        say.say("!: by the ledger it needs more memory than the device has")
    say.say()
    for number, row in enumerate(rows[:SHOWN], 1):
        said = "the fastest" if number == 1 else reasons.why_slower(row, rows[0])
        say.as_it_is(f"{number:>2} {said}")
    for number, (_, least) in enumerate(others, len(rows) + 1):
        say.as_it_is(f"{number:>2} cannot be faster than {least:.3g} s")
    if rows:
        say.say()
        _show_first(say, rows[0])


def _first(
    model: ModelSizes, cluster: GpuCluster, rows: list[PlanRow], rest: list[Candidate], refused: int
) -> list[str]:
    """The lines above the table."""
    found = [
        f"{model.name}, {model.parameters / 1e9:.1f} billion parameters, {model.batch} × {model.sequence:,} tokens a "
        f"step, on {cluster.gpus} × {cluster.device.name}, {cluster.net}",
        f"{len(rows) + len(rest) + refused} layouts divide; by the formula {refused} do not fit. {len(rows)} were "
        f"simulated; {_left_out(rows, rest)}.",
        *_fit(rows, cluster),
    ]
    if cluster.device.fitted == NOT_FITTED and cluster.device.top == 1:
        found.append("No efficiency is fitted: products run at the peak, so any real device is slower. --top 0.6 lets "
                     "them reach 60 % of it.")  # fmt: skip
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


def _left_out(rows: list[PlanRow], rest: list[Candidate]) -> str:
    """The layouts that were not simulated, in words."""
    if not rest:
        return "there are no others"
    fastest = min((row.seconds for row in rows if row.fits), default=math.inf)
    faster = sum(least < fastest for _, least in rest)
    if faster:
        return f"of the other {len(rest)}, {faster} may be faster (--simulate {len(rows) + faster})"
    return f"the other {len(rest)} cannot be faster"


def _show_first(say: page.Page, row: PlanRow) -> None:
    shares = ", ".join(f"{name} {row.shares[name]:.0%}" for name in reasons.WORDS)
    say.say(f"The fastest: {shares} of the step.")
    bubble = f"; the bubble of equal stages is {row.bubble:.1%}" if row.layout.pipeline > 1 else ""
    say.say(f"For {row.idle:.1%} of it a GPU is idle, on average{bubble}.")
    memory = ", ".join(
        f"{name} {nbytes / GIB:.1f}" for name, nbytes in row.memory.items() if nbytes
    )
    say.say(f"GiB of its fullest GPU at the peak: {memory}.")
    layout = row.layout
    if layout.shards > 1 < layout.replicas:
        say.say(
            f"Parameters are gathered among {layout.shards} GPUs, and {layout.replicas} replicas of them sum their "
            "gradients."
        )
    links = " and ".join(f"{nbytes / 1e9:.2f} GB {kind}" for kind, nbytes in row.links.items())
    say.say(
        f"In a step all its GPUs send {links}; the one that sends most sends {row.sent / 1e9:.2f} GB."
    )


def _show_failures(say: page.Page, found: reasons.Failures) -> None:
    say.say(
        f"With failures: a checkpoint each {found.interval / 60:.1f} min; the run takes {found.factor:.3f} times as "
        "long (Daly's formula)."
    )
