"""A journal that was read: the ranks, their events, and the order in which they had to happen.

Its pictures are brought by another package (see `plugs`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from minitorch_dist.distributed.journal import comparing, reading
from minitorch_dist.distributed.journal.comparing import Divergence
from minitorch_dist.distributed.journal.events import Event
from minitorch_dist.distributed.journal.order import (
    Message,
    Operation,
    PartialOrder,
    matched_messages,
    matched_operations,
)
from minitorch_dist.distributed.journal.reading import JournalRank
from minitorch_dist.inventory import plugs
from transports.quantities import in_words

if TYPE_CHECKING:
    from minitorch_dist.pictures.scene import Scene


class Journal:
    """The record of a run. `events` has each rank's in its own order.

    Args:
        ranks: One entry for each rank: its clock, and how it ended.
        events: All events.
        torn: How many lines at the ends of files were cut off.
        name: Where it is from.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "run.mtd"
        ...     run = sim.run(dist.barrier, 3, journal=path).journal
        >>> run.world_size, run.transport, run.is_virtual
        (3, 'sim', True)
    """

    def __init__(self, ranks: Sequence[JournalRank], events: Sequence[Event], torn: int = 0, name: str = "") -> None:
        self.ranks, self.events, self.torn, self.name = list(ranks), list(events), torn, name

    @property
    def world_size(self) -> int:
        said = max((rank.world_size for rank in self.ranks), default=0)
        return max(said, 1 + max((event.rank for event in self.events), default=-1))

    @property
    def transport(self) -> str:
        return self.ranks[0].transport if self.ranks else ""

    @property
    def is_virtual(self) -> bool:
        """Whether its times are those of a simulation."""
        return any(rank.is_virtual for rank in self.ranks)

    @cached_property
    def start(self) -> int:
        """The first instant, in picoseconds."""
        return min((event.at for event in self.events), default=0)

    @cached_property
    def end(self) -> int:
        return max((event.until for event in self.events), default=0)

    @cached_property
    def groups(self) -> list[str]:
        """The names of the groups that did something, in order of appearance."""
        return list(dict.fromkeys(event.group for event in self.events if event.group))

    def of(self, rank: int) -> list[Event]:
        """The events of this rank."""
        return [event for event in self.events if event.rank == rank]

    @cached_property
    def messages(self) -> list[Message]:
        """All messages, by the instant at which they left."""
        return matched_messages(self.events)

    @cached_property
    def operations(self) -> list[Operation]:
        """All operations of groups, rank by rank, in the order in which they began."""
        return matched_operations(self.events)

    # -------------------------------------------------------------------------------------- order

    @cached_property
    def order(self) -> PartialOrder:
        """Its partial order. Events are known by their numbers in `events`."""
        return PartialOrder(self.events)

    def happened_before(self, a: int, b: int) -> bool:
        """Whether event number a is among the causes of number b."""
        return self.order.happened_before(a, b)

    def diff(self, other: Journal, operations_only: bool = False) -> Divergence | None:
        """Where two runs first differ; None if they are equal as partial orders."""
        return comparing.diff(self.order, other.order, operations_only)

    # ----------------------------------------------------------------------------------- pictures

    def scene(self) -> Scene:
        """The scene from which pictures are drawn; lanes are ranks, and arrows are messages."""
        return self._scene

    @cached_property
    def _scene(self) -> Scene:
        return plugs.find("pages").scene_of(self)  # type: ignore[no-any-return]

    def svg(self, width: int = 900, by: str = "operation", ranks: int = 64) -> str:
        """The space-time diagram for a paper or a notebook; `by` "operation" or "group"."""
        drawn: str = plugs.find("pages").svg.draw(self.scene(), width, by, ranks)
        return drawn

    def _repr_html_(self) -> str:
        return self.svg()

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        torn = f", {self.torn} torn lines" if self.torn else ""
        return (
            f"<Journal of {self.world_size} ranks over {self.transport}: {len(self.events)} events, "
            f"{len(self.messages)} messages, {in_words(self.end - self.start)}{torn}>"
        )


def read(path: str | os.PathLike[str]) -> Journal:
    """The journal in this file (or in its pieces, `run.mtd.0` and so on, or in this folder).

    Args:
        path: The file or the folder.

    Returns:
        The Journal.

    Raises:
        JournalError: It is not a journal, or is damaged.

    Example:
        >>> import pathlib, tempfile
        >>> from minitorch_dist.distributed import journal
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "run.mtd"
        ...     _ = torch.launch(dist.barrier, 2, journal=path)
        ...     run = journal.read(path)
        >>> len(run.operations), len(run.messages)
        (2, 2)
    """
    return Journal(*reading.read(path), name=os.fspath(path))


def from_lines(lines: Iterable[str | bytes]) -> Journal:
    """A journal whose lines are at hand."""
    return Journal(*reading.parse_lines(lines))


def diff(a: Journal, b: Journal, operations_only: bool = False) -> Divergence | None:
    """Where two runs first differ.

    Args:
        a: A journal.
        b: Another one.
        operations_only: Compare operations, and not the messages in them.

    Returns:
        A Divergence, whose text tells it; None if they are equal as partial orders.

    Example:
        >>> import pathlib, tempfile
        >>> from minitorch_dist.distributed import journal
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = [pathlib.Path(folder) / name for name in ("a.mtd", "b.mtd")]
        ...     for path in paths:
        ...         _ = torch.launch(dist.barrier, 2, journal=path)
        ...     journal.diff(journal.read(paths[0]), journal.read(paths[1])) is None
        True
    """
    return a.diff(b, operations_only)
