"""The numbers that other ranks would have sent: object lists, flags, sizes.

A representative stands for its role. So where a recorded rank needs what rank 17 has given, it takes what the
representative of that role has given at the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from minitorch_dist.distributed.groups import ProcessGroup
from minitorch_dist.distributed.prepared import PreparedCall
from mtd.planning.fold import acts
from mtd.planning.fold.roles import CannotFold, RoleTable
from transports.virtual.clock import VirtualClock

Seat = tuple[int, int, int]
"""A recorded rank in a call: the rank, its group rank, and the number of the call among those of the group."""


class PeerContents:
    """Under one clock."""

    def __init__(self, role_table: RoleTable) -> None:
        self.role_table = role_table
        self._given: dict[tuple[int, int, int], Any] = {}  # by rank, group and number of the call
        self._sent: dict[tuple[int, int, int], list[tuple[int, bytes]]] = {}  # by rank, group, tag
        self._taken: dict[tuple[int, int, int, int], int] = {}  # by receiver, then the same
        self._changed: Any = None

    def begin(self, clock: VirtualClock) -> None:
        self._changed = clock.condition("what another representative gives")

    def _give(self, seat: Seat, index: int, what: Mapping[Any, Any]) -> None:
        rank, own, number = seat
        with self._changed:
            self._given[rank, index, number] = own, what
            self._changed.notify_all()

    def _of(self, seat: Seat, rank: int, index: int) -> Any:
        """The part of a rank in a call, given by it or by its representative."""

        def found() -> Any:
            first = rank if rank == seat[0] else self._first(rank)
            return self._given.get((first, index, seat[2]))

        return self._when(found)

    def _first(self, rank: int) -> int:
        return self.role_table.first[int(self.role_table.of[rank])]

    def _when(self, found: Callable[[], Any]) -> Any:
        with self._changed:
            while (there := found()) is None:
                self._changed.wait()
        return there

    # ------------------------------------------------------------------------ collectives

    def exchange(self, seat: Seat, call: PreparedCall, kind: acts.CallKind, arrays: Mapping[Any, Any]) -> None:
        """Give this rank's numbers to a collective, and put its results into `arrays`."""
        copies, index = {name: array.copy() for name, array in arrays.items()}, kind.group
        self._give(seat, index, copies)
        ranks, collective = call.group.ranks, call.schedule.collective
        if collective == "broadcast":
            assert call.root is not None
            arrays["work"][...] = self._of(seat, ranks[call.root], index)[1]["work"]
        elif collective == "all_reduce" and call.combine is not None:
            total = copies["work"].copy()
            for rank in ranks:
                if rank != seat[0]:
                    call.combine(total, self._of(seat, rank, index)[1]["work"], out=total)
            arrays["work"][...] = total
        elif collective == "all_gather":
            for place, rank in enumerate(ranks):
                theirs, given = self._of(seat, rank, index)
                _part(arrays, place, kind)[...] = _part(given, theirs, kind)
        elif collective != "barrier":
            raise CannotFold(f"a {collective} of numbers, which one rank cannot know of others")

    def objects(
        self, seat: Seat, index: int, group: ProcessGroup, name: str, chunks: Mapping[int, bytes], root: int
    ) -> dict[int, bytes | memoryview]:
        self._give(seat, index, dict(chunks))
        is_from_root = name in ("broadcast_object_list", "scatter_object_list")
        givers = [(root, group.ranks[root])] if is_from_root else list(enumerate(group.ranks))
        held: dict[int, bytes | memoryview] = dict(chunks)
        for place, rank in givers:
            theirs, given = self._of(seat, rank, index)
            held.update({place if chunk == theirs else chunk: words for chunk, words in given.items()})
        return held

    def again(self, rank: int) -> None:
        """This rank runs the program once more."""
        for key in [key for key in self._taken if key[0] == rank]:
            del self._taken[key]

    # --------------------------------------------------------------------------- messages

    def send(self, rank: int, message: acts.NotedMessage, group: ProcessGroup, content: bytes) -> None:
        to = group.ranks[message.peer]
        with self._changed:
            kept = self._sent.setdefault((rank, message.group, message.tag), [])
            kept.append((to, content))
            self._changed.notify_all()

    def receive(self, rank: int, message: acts.NotedMessage, group: ProcessGroup) -> bytes:
        """The next one from a representative of the sender's role to one of ours."""
        source = group.ranks[message.peer]

        def found() -> bytes | None:
            first = self._first(source)
            key = first, message.group, message.tag
            roles = self.role_table.of
            own = roles[rank]
            to_us = [content for to, content in self._sent.get(key, []) if roles[to] == own]
            at = self._taken.get((rank, *key), 0)
            if at >= len(to_us):
                return None
            self._taken[(rank, *key)] = at + 1
            return to_us[at]

        content = self._when(found)
        assert isinstance(content, bytes)
        return content


def _part(arrays: Mapping[Any, Any], place: int, kind: acts.CallKind) -> Any:
    """A rank's part of an all_gather."""
    if ("work", place) in arrays:
        return arrays["work", place]
    ends = np.cumsum(kind.vector.sizes)
    return arrays["work"][int(ends[place]) - kind.vector.sizes[place] : int(ends[place])]
