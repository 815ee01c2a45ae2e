"""`mtd plan llama3-70b --gpus 256`: which layout trains a model fastest, by running its training step in shapes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from minitorch_dist.distributed.schedules import ScheduleError, choice
from mtd.cli import page, plan_difference, plan_layout, plan_options, plan_page, plan_table
from mtd.cli.parser import Parser
from mtd.cli.plan_progress import PlanProgress, tell as _tell
from mtd.pages import whole_files
from mtd.planning import in_processes, layout_words, model_files, offloading, pruning, saved_plans, search
from mtd.planning.clusters import GpuCluster
from mtd.planning.in_processes import ProcessEnded
from mtd.planning.layouts import TrainingLayout
from mtd.planning.model_files import ModelSizes
from mtd.planning.plan_cache import PlanCache
from mtd.planning.pruning import Candidate, Standing
from mtd.planning.saved_plans import FoundPlan
from mtd.planning.search import PlanRow
from mtd.refusals import CannotDo, refusing

INTERRUPTED = "interrupted"


def configure(parser: Parser) -> None:
    plan_options.add(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with refusing():
        if options.algorithm is not None:
            choice.prefer(options.algorithm)
        model = model_files.read(options.model)
        if options.batch is not None:
            model = model.changed(batch=options.batch)
        cluster = plan_options.cluster(options)
        failures = plan_options.failures(options)
        before = None if options.against is None else saved_plans.read(options.against)
        if options.layout is not None:
            model, layout = layout_words.read(options.layout, model, cluster.gpus)
            offloading.check(layout.offload, cluster.device)
            cache = PlanCache(Path(options.cache), _tell)
            return plan_layout.run(options, layout, PlanProgress(model, cluster, cache))
        cache = PlanCache(Path(options.cache), _tell)
        if options.page is not None:
            whole_files.check(options.page, whole_files.PAGE, "page")
        rows, refused = search.estimated(model, cluster)
        if not rows:
            raise ValueError(_nothing(model, cluster, refused))
    _tell(f"{len(rows)} layouts fit by the formula: how fast can each be at most?")
    progress = PlanProgress(model, cluster, cache)
    try:
        every = progress.bounded(rows)
    except ScheduleError as error:  # of --algorithm, for a group of this layout
        raise CannotDo(str(error)) from error
    except KeyboardInterrupt:
        _tell(f"mtd plan: interrupted before anything was simulated; {cache.where}")
        return 130
    (found, _, rest), ended_early = _simulated(progress, every, options)
    found.sort(key=lambda row: (not row.fits, row.seconds))
    plan = FoundPlan(model, cluster, found, rest, refused)
    if options.json is not None:
        plan_layout.write(options.json, plan.as_json(failures))
    else:
        say = page.Page()
        plan_table.show(say, plan)
        if failures is not None and found:
            plan_table.show_failures(say, failures)
        if before is not None and found:
            say.say()
            say.say(f"Against {options.against}:")
            plan_difference.show(say, before, plan.saved())
    if options.page is not None and found and not ended_early:
        _tell("a step by the fastest one, for the page")
        try:
            whole_files.write(options.page, plan_page.page(plan))
        except OSError as error:
            page.refuse("plan", error)
            return 1
        _tell(f"wrote {options.page}")
    if ended_early:
        _tell(f"mtd plan: {ended_early}; {cache.where}")
        return 130 if ended_early == INTERRUPTED else 1
    return 0


def _simulated(progress: PlanProgress, every: list[Candidate], options: argparse.Namespace) -> tuple[Standing, str]:
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
        one = partial(search.simulated, model, cluster=cluster)
        yield from (row for _, row in in_processes.simulate(one, wanted, jobs))
    while layouts := wanted():
        yield search.simulated(model, layouts[0], cluster)


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
