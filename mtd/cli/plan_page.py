"""The page of a plan: its table, and a step by the fastest layout on one rank of each stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from minitorch_dist.pictures.step_page import PageTable
from mtd.pages import drawing
from mtd.planning import reasons, search, short_runs
from mtd.planning.clusters import GpuCluster
from mtd.planning.model_files import ModelSizes
from mtd.planning.pruning import Candidate
from mtd.planning.search import PlanRow

GIB: Final = 1 << 30
SHOWN: Final = 10
MOST_LAYERS: Final = 8  # of a stage, in the run that is drawn
UNFOLDED: Final = 16  # ranks; of more, one of each role is run
HEAD: Final = ("", "layout", "s/step", "tokens/s/GPU", "MFU", "GiB", "idle", "")


def page(
    model: ModelSizes, cluster: GpuCluster, rows: Sequence[PlanRow], rest: Sequence[Candidate],
    said: Sequence[str],
) -> str:  # fmt: skip
    """As HTML. `rows` are simulated, the fastest first; `said` is told above the table."""
    first = rows[0]
    layout = first.layout
    layers = min(-(-model.layers // layout.all_stages), MOST_LAYERS)
    micro = min(layout.micro_batches(model), short_runs.full(layout))
    fold = layout.ranks > UNFOLDED and search.roles_of(model, layout)
    report = search.step(model, layout, cluster, layers, micro, fold, timelines=True)
    assert report.timelines is not None
    is_whole = layers * layout.all_stages >= model.layers and micro == layout.micro_batches(model)
    drawn = "The whole step is drawn." if is_whole else (
        f"Drawn is a step by {layout.short} with {layers} layers in each stage and {micro} micro-batches. The whole one "
        f"has {-(-model.layers // layout.all_stages)} and {layout.micro_batches(model)}."
    )  # fmt: skip
    found = drawing.page(
        report.timelines, f"{model.name} on {cluster.gpus} × {cluster.device.name}", said,
        lambda rank: (cluster.device.memory, report.ranks[rank].peak_bytes),
        [_layouts(model, cluster, rows, rest), _memory(first)], [drawn],
    )  # fmt: skip
    return found.html()


def _layouts(
    model: ModelSizes, cluster: GpuCluster, rows: Sequence[PlanRow], rest: Sequence[Candidate]
) -> PageTable:
    lines = [
        (
            str(number), row.layout.short, f"{row.seconds:.3g}", f"{row.tokens(model):,.0f}",
            f"{row.mfu(model, cluster):.0%}", f"{row.peak / GIB:.0f}{'' if row.fits else ' !'}",
            f"{row.idle:.1%}",
            "the fastest" if number == 1 else reasons.why_slower(row, rows[0]),
        )
        for number, row in enumerate(rows[:SHOWN], 1)
    ]  # fmt: skip
    others = sorted(rest, key=lambda each: each.least)[: max(0, SHOWN - len(lines))]
    lines += [
        (str(number), layout.short, f"≥ {least:.3g}", "", "", "", "", "cannot be faster than that")
        for number, (layout, least) in enumerate(others, len(lines) + 1)
    ]
    return PageTable("Layouts", HEAD, lines)


def _memory(row: PlanRow) -> PageTable:
    lines = [("", name, f"{nbytes / GIB:.2f}") for name, nbytes in row.memory.items() if nbytes]
    lines.append(("", "together", f"{row.peak / GIB:.2f}"))
    return PageTable("GiB of its fullest GPU at the peak", ("", "held by", "GiB"), lines)
