"""The page of a plan: its table, and a step by the fastest layout on one rank of each stage."""

from __future__ import annotations

from typing import Final

from mtd.cli import plan_table
from mtd.pages import drawing
from mtd.pages.step_page import PageTable
from mtd.planning import search, short_runs
from mtd.planning.saved_plans import GIB, FoundPlan
from mtd.planning.search import PlanRow

MOST_LAYERS: Final = 8  # of a stage, in the run that is drawn
UNFOLDED: Final = 16  # ranks; of more, one of each role is run
HEAD: Final = ("", "layout", *plan_table.HEAD, "")


def page(plan: FoundPlan) -> str:
    """As HTML."""
    model, cluster, first = plan.model, plan.cluster, plan.rows[0]
    layout = first.layout
    layers = min(-(-model.layers // layout.all_stages), MOST_LAYERS)
    micro = min(layout.micro_batches(model), short_runs.full(layout))
    fold = layout.ranks > UNFOLDED and search.roles_of(model, layout)
    report = search.step(model, layout, cluster, layers, micro, fold, timelines=True)
    assert report.timelines is not None
    is_whole = layers * layout.all_stages >= model.layers and micro == layout.micro_batches(model)
    drawn = (
        "The whole step is drawn."
        if is_whole
        else (
            f"Drawn is a step by {layout.short} with {layers} layers in each stage and {micro} micro-batches. The whole one "
            f"has {-(-model.layers // layout.all_stages)} and {layout.micro_batches(model)}."
        )
    )
    return drawing.page(
        report.timelines,
        f"{model.name} on {cluster.gpus} × {cluster.device.name}",
        plan_table.first_lines(plan),
        lambda rank: (cluster.device.memory, report.ranks[rank].peak_bytes),
        [_layouts(plan), _memory(first)],
        [drawn],
    )


def _layouts(plan: FoundPlan) -> PageTable:
    lines = []
    for number, row in plan.shown:
        *found, mark = plan_table.cells(plan, row)
        why = plan_table.why(plan, number, row)
        lines.append((str(number), row.layout.short, *found[:-1], found[-1] + mark, why))
    lines += [
        (str(number), layout.short, f"≥ {least:.3g}", "", "", "", "", "cannot be faster than that")
        for number, (layout, least) in plan.others
    ]
    return PageTable("Layouts", HEAD, lines)


def _memory(row: PlanRow) -> PageTable:
    lines = [("", name, f"{nbytes / GIB:.2f}") for name, nbytes in row.memory.items() if nbytes]
    lines.append(("", "together", f"{row.peak / GIB:.2f}"))
    return PageTable("GiB of its fullest GPU at the peak", ("", "held by", "GiB"), lines)
