"""The report of a simulated run as a page that opens from the disk, and as a trace for ui.perfetto.dev."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any

from minitorch_dist.pictures import svg
from minitorch_dist.pictures.words import preformatted
from minitorch_dist.sim.report import Report
from mtd.pages import drawing, trace, whole_files
from transports.quantities import in_words


def save_trace(
    report: Report[Any], path: str | PathLike[str], ranks: Iterable[int] | None, per_node: int | None
) -> None:
    """Write the acts of these ranks, by the run's journal."""
    scene = report.journal.scene().only(ranks, None)
    whole_files.write(path, trace.draw(scene, per_node))


def in_a_notebook(report: Report[Any]) -> str:
    """Its space-time diagram, if there is a journal, and the table."""
    drawn = "" if report.recorded is None else svg.draw(report.journal.scene())
    return f"{drawn}{preformatted(str(report))}"


def save_page(report: Report[Any], path: str | PathLike[str], title: str) -> None:
    """One rank of each role, its memory, and the critical path in words."""
    if report.timelines is None:
        raise ValueError("nobody noted what the ranks did; say sim.run(…, timelines=True)")

    def room(rank: int) -> tuple[int | None, int | None]:
        found = report.ranks[rank]
        return (None if found.device is None else found.device.device.memory), found.peak_bytes

    def marks(rank: int) -> list[tuple[int, str]]:
        return [(at, name) for name, at in report.ranks[rank].marks]

    said = f"{title or 'A run'}: {len(report.ranks)} ranks, {in_words(report.time)}"
    whole_files.write(path, drawing.page(report.timelines, said, sentences(report), room, marks=marks))


def sentences(report: Report[Any]) -> list[str]:
    """The whole run in sentences, for its page."""
    last = max(report.ranks, key=lambda rank: rank.time)
    leaving = "" if report.between_nodes is None else f" ({report.between_nodes:,} between nodes)"
    found = [f"The ranks send {report.messages:,} messages with {report.bytes_sent:,} bytes{leaving}."]
    use = last.device
    if use is not None and last.time:
        found.append(
            f"The device of rank {last.rank}, {use.device.name}, computes for {use.compute / last.time:.0%} of the "
            f"time. For {use.communication / last.time:.0%} messages move and nothing hides them, and for "
            f"{use.waiting / last.time:.0%} it waits. MFU is {use.mfu:.1%}."
        )
    if report.folded is not None:
        found.append(f"{str(report.folded).capitalize()}.")
    return found
