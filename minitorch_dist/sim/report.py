"""The report of a simulated run: for all, and rank by rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

from minitorch_dist.distributed import journal
from minitorch_dist.distributed.journal import Journal
from minitorch_dist.inventory import plugs
from minitorch_dist.sim.device_time import DeviceUse
from minitorch_dist.tensors.ledger_report import shares
from minitorch_dist.tensors.pools import readable
from transports.quantities import in_words

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RankReport:
    """One rank. Spans in picoseconds; bytes are payloads; a message to oneself is none."""

    rank: int
    time: int  # when its function returned
    messages: int  # sent
    bytes_sent: int
    messages_received: int
    bytes_received: int
    idle: int  # waiting for others
    busy: int  # computing, or sleeping
    peak_bytes: int | None = None  # of its accelerator, where it had one (sim.run(…, memory=…))
    peak_held: Mapping[str, int] = field(default_factory=dict, repr=False)  # then, by category
    device: DeviceUse | None = field(default=None, repr=False)  # of sim.run(…, device=…)
    marks: tuple[tuple[str, int], ...] = field(default=(), repr=False)  # of sim.mark: when it was
    # Bytes sent to other nodes; None where a network has no nodes.
    between_nodes: int | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Report(Generic[T]):
    """The result of a simulated run. `print(report)` shows a table of the ranks.

    Args:
        results: The value that each rank returned.
        ranks: A RankReport for each: time, messages, bytes, idle and busy time, peak of memory.
        digest: The same for two runs with the same events.
        switches: How often another rank went on.
        engine_used: How it was simulated.
        crossings: How many times are only near (see `docs/simulator_engines.md`).
        recorded: The journal's file, if there is one.
        folded: Roles and classes, of a folded run.
        timelines: Spans of each rank's work and waits, if they were asked for.

    Example:
        >>> report = sim.run(lambda: sim.compute("1ms"), 2)
        >>> report.time, report.ranks[0].busy
        (1000000000, 1000000000)
    """

    results: list[T]
    ranks: list[RankReport]
    digest: str  # of every departure and landing: equal digests, equal runs
    switches: int  # from rank to rank
    engine_used: str = ""  # "greenlet", or "greenlet, closed" where collectives were done together
    crossings: int = 0  # messages beside a collective done together; those times are near, not exact

    recorded: Path | None = field(default=None, compare=False)  # where its journal is
    folded: Any = field(default=None, compare=False)  # how, if it was (see `mtd.planning.fold`)
    timelines: Any = field(default=None, compare=False, repr=False)  # of timelines=True

    @property
    def journal(self) -> Journal:
        """The journal of its ranks, if one was written."""
        if self.recorded is None:
            raise ValueError("nobody wrote this run down; say sim.run(…, journal='run.mtd')")
        return journal.read(self.recorded)

    def save_trace(
        self, path: str | PathLike[str], ranks: Iterable[int] | None = None, per_node: int | None = None
    ) -> None:
        """Write what these ranks did (all) for ui.perfetto.dev or chrome://tracing."""
        plugs.find("pages").save_trace(self, path, ranks, per_node)

    def save_page(self, path: str | PathLike[str], title: str = "") -> None:
        """Write a page that opens from the disk: one rank of each role, its memory, and the critical path in words."""
        plugs.find("pages").save_page(self, path, title)

    def _repr_html_(self) -> str:
        """In a notebook: its space-time diagram, if there is a journal, and the table."""
        return str(plugs.find("pages").in_a_notebook(self))

    @property
    def time(self) -> int:
        """Picoseconds until the last rank's function returned."""
        return max(rank.time for rank in self.ranks)

    @property
    def messages(self) -> int:
        return sum(rank.messages for rank in self.ranks)

    @property
    def bytes_sent(self) -> int:
        return sum(rank.bytes_sent for rank in self.ranks)

    @property
    def between_nodes(self) -> int | None:
        """Of all bytes sent, those to other nodes. None where the network has no nodes (`sim.two_level` and
        `sim.rails` have)."""
        sent = [rank.between_nodes for rank in self.ranks]
        return None if None in sent else sum(each or 0 for each in sent)

    def __str__(self) -> str:
        lines = [
            f"{len(self.ranks)} ranks, {in_words(self.time)}, {self.messages:,} messages with "
            f"{self.bytes_sent:,} bytes{self._leaving()}",
            f"digest {self.digest[:12]}, engine {self.engine_used}",
            _row("rank", "time", "messages", "bytes", "idle", "busy", *self._peak("peak bytes")),
        ]
        for rank in self.ranks[:ROWS]:
            spans = [in_words(span) for span in (rank.time, rank.idle, rank.busy)]
            peak = self._peak(rank.peak_bytes)
            lines.append(_row(rank.rank, spans[0], rank.messages, rank.bytes_sent, *spans[1:], *peak))
        if len(self.ranks) > ROWS:
            lines.append(f"… and {len(self.ranks) - ROWS} more")
        lines += [*self._fullest(), *self._devices()]
        if self.folded is not None:
            lines.append(str(self.folded))
        if self.crossings:
            messages = "1 message" if self.crossings == 1 else f"{self.crossings} messages"
            lines.append(
                f"{messages} met a collective that was done together: times are near, not exact; engine='greenlet' is"
            )
        return "\n".join(lines)

    def _leaving(self) -> str:
        return "" if self.between_nodes is None else f" ({self.between_nodes:,} between nodes)"

    def _devices(self) -> list[str]:
        """A table of what each rank's device did, if there were devices."""
        used = [(rank.rank, rank.device) for rank in self.ranks[:ROWS] if rank.device is not None]
        if not used:
            return []
        lines = ["", _row("rank", "compute", "MFU", "communic.", "hidden", "waiting", "device")]
        for rank, use in used:
            compute, communication, hidden, waiting = (
                in_words(span) for span in (use.compute, use.communication, use.hidden, use.waiting)
            )
            mfu = f"{use.mfu:.1%}"
            lines.append(_row(rank, compute, mfu, communication, hidden, waiting, use.device.name))
        if len(self.ranks) > ROWS:
            lines.append(f"… and {len(self.ranks) - ROWS} more")
        lines.append("communic.: messages moved, nothing hid them; hidden: it computed meanwhile")
        return lines

    def _peak(self, cell: Any) -> list[Any]:
        """A column that is there if anybody's memory was counted."""
        return [] if all(rank.peak_bytes is None for rank in self.ranks) else [cell]

    def _fullest(self) -> list[str]:
        """In words: the rank that held the most, and what that was."""
        most = max(self.ranks, key=lambda rank: rank.peak_bytes or 0)
        if not most.peak_bytes:
            return []
        return [f"rank {most.rank} held {readable(most.peak_bytes)} at the peak: {shares(dict(most.peak_held))}"]

    def __repr__(self) -> str:
        return f"<Report of {len(self.ranks)} ranks: {in_words(self.time)}, {self.messages} messages>"


ROWS = 16


def _row(*cells: Any) -> str:
    widths = (4, 12, 9, 12, 12, 12, 12)
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=False))
