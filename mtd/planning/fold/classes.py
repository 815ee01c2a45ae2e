"""Classes of ranks: ranks of one class do everything at the same instants, so one of them stands for all.

    the role of each rank ──► the kind of its messages, and the classes at their other ends ──► split ──► … until nothing splits

A role says what ranks do; a class says when, too. Ranks of a role begin together. They stay together as long as all of
them send and receive equal messages, over equal links, to and from ranks that stay together. Such a division of the ranks is
an *equitable partition*. It is found as graphs are compared: begin with the roles, and split a class whose ranks see
different things (color refinement, Weisfeiler and Leman 1968).

Each message of a class stands for one of each of its ranks. That needs as many ranks at the other end, and ports that no third
rank uses. Where a program does not allow that, `NotAlike` says why, and all ranks replay.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from minitorch_dist.distributed.schedules import batched_overtaking
from minitorch_dist.distributed.schedules.links import Links
from minitorch_dist.sim.fast.payloadless import Rows
from minitorch_dist.sim.topologies import Rails
from minitorch_dist.tensors.core.base import Array
from mtd.planning.fold import acts
from mtd.planning.fold.rank_number import Table
from mtd.planning.fold.trace import OperationTrace
from transports.virtual.topology import Topology, TwoLevel, Uniform

SAME_NODE, OTHER_NODE = 0, 1  # the two kinds of ways of a message
MOST: Final = 1 << 22  # acts of one collective whose ranks are compared


class NotAlike(Exception):
    """Ranks of this program do not fall into classes; the text says why."""


class Places:
    """The place of each rank in a network, as far as it decides the way of a message."""

    def __init__(self, topology: Topology, size: int) -> None:
        ranks = np.arange(size)
        if isinstance(topology, Rails) and not topology.spines:
            self.node, self.rail = np.divmod(ranks, topology.gpus)
        elif isinstance(topology, TwoLevel) and topology.nic != "per_node":
            self.node, self.rail = ranks // topology.gpus, np.zeros(size, np.int64)
        elif isinstance(topology, Uniform):
            self.node = self.rail = np.zeros(size, np.int64)
        else:
            raise NotAlike(f"messages of several ranks share links on {topology}")

    def kind(self, src: Any, dst: Any) -> Array:
        """The kind of way between ranks, or between arrays of them."""
        far = self.node[src] != self.node[dst]
        if np.any(far & (self.rail[src] != self.rail[dst])):
            raise NotAlike("messages from rail to rail pass the port of a third GPU")
        return np.where(far, OTHER_NODE, SAME_NODE)

    def pattern(self, ranks: Table) -> bytes:
        """Which of these ranks share a node, and which a rail: equal for groups that lie alike."""
        found = []
        for where in (self.node, self.rail):
            _, first, inverse = np.unique(where[ranks], return_index=True, return_inverse=True)
            found.append(first[inverse].tobytes())
        return b"".join(found)


@dataclass(frozen=True)
class CollectiveOfClasses:
    """One kind of collective among classes: the acts of one rank of each. `ways` are the kinds of its messages' ways."""

    rows: Rows
    ways: list[int]


class RankClasses:
    """`of[rank]` is the class of a rank, and `first[number]` the rank that stands for a class."""

    def __init__(
        self,
        size: int,
        topology: Topology,
        trace_of: Callable[[int], OperationTrace],
        peer: Callable[[acts.NotedMessage, int], int],
        apart: Callable[[int], Hashable],
    ) -> None:
        """Ranks are of different classes from the start if they differ in their trace or in what `apart` says."""
        self.size, self.trace_of, self.peer = size, trace_of, peer
        self.places = Places(topology, size)
        self._scripts: dict[Any, batched_overtaking.Script] = {}
        self._compared: dict[Any, list[Hashable]] = {}
        self._made: dict[Any, CollectiveOfClasses] = {}
        self._pattern = cache(lambda ranks: self.places.pattern(np.array(ranks)))  # of groups
        self._seen_in: dict[Any, dict[int, Hashable]] = {}  # by collective and group: of each rank
        self.of, self.first = _numbered([(id(trace_of(rank)), apart(rank)) for rank in range(size)])
        self._calls = {id(trace): (list(_kinds(trace)), list(_messages(trace))) for trace in map(trace_of, self.first)}
        self._tables = {
            (id(message), rank): self._peer(message, rank)
            for rank in range(size)
            for message in self._calls[id(trace_of(rank))][1]
        }
        self._messages = {id(m): m for _, messages in self._calls.values() for m in messages}
        while True:
            of, first = _numbered([(int(self.of[r]), *self._sees(r)) for r in range(size)])
            if len(first) == len(self.first):
                break
            if len(first) > size // 2:
                raise NotAlike(f"{len(first)} of {size} ranks differ in their messages")
            self.of, self.first = of, first
            self._compared.clear()
            self._seen_in.clear()
        self._check_messages()

    # ------------------------------------------------------------------------ what a rank sees

    def group(self, index: int, rank: int) -> tuple[int, ...]:
        """The ranks of this rank's group with that number."""
        trace = self.trace_of(rank)
        return trace.parts[index][int(trace.part_of[index][rank])]

    def _sees(self, rank: int) -> Iterator[Hashable]:
        kinds, messages = self._calls[id(self.trace_of(rank))]
        for kind in kinds:
            yield self._seen(kind, self.group(kind.group, rank), rank)
        for message in messages:
            other = self._tables[id(message), rank]
            if self.of[other] == self.of[rank]:
                raise NotAlike("ranks that do the same send to each other")
            yield int(self.of[other]), int(self.places.kind(rank, other))

    def _peer(self, message: acts.NotedMessage, rank: int) -> int:
        return self.group(message.group, rank)[self.peer(message, rank)]

    def _seen(self, kind: acts.CallKind, ranks: tuple[int, ...], rank: int) -> Hashable:
        """A collective as this rank sees it: the classes of its group, and its own acts."""
        name = self._key(kind), ranks
        found = self._seen_in.get(name)
        if found is None:
            members = np.array(ranks)
            key = name[0], self.of[members].tobytes(), self._pattern(ranks)
            compared = self._compared.get(key)
            if compared is None:
                compared = self._compared[key] = self._compare(kind, members)
            words = [(key[1], key[2], word) for word in compared]
            found = self._seen_in[name] = dict(zip(ranks, words, strict=True))
        return found[rank]

    def _key(self, kind: acts.CallKind) -> Hashable:
        return kind.schedule, kind.root, kind.vector.sizes, kind.vector.itemsize

    def _script(self, kind: acts.CallKind, size: int) -> batched_overtaking.Script:
        key = self._key(kind), size
        found = self._scripts.get(key)
        if found is None:
            nbytes = np.array(kind.vector.sizes, np.int64) * kind.vector.itemsize
            found = batched_overtaking.Script(kind.schedule, nbytes, Links(), size, kind.root)
            if len(found.kind) > MOST:
                raise NotAlike(f"{kind.said} has {len(found.kind)} acts")
            self._scripts[key] = found
        return found

    def _compare(self, kind: acts.CallKind, members: Table) -> list[Hashable]:
        """The acts of each member, in words that are equal for ranks that do the same. Their places in the group, if
        one message cannot stand for those of a class."""
        script, classes = self._script(kind, len(members)), self.of[members]
        ways = self.places.kind(members[script.source], members[script.to])
        number = _send_numbers(script)
        is_send = script.kind == batched_overtaking.SEND
        is_wait = script.kind == batched_overtaking.WAIT
        message = np.where(is_send | is_wait, script.what, 0)
        if not len(script.source):
            return [0] * len(members)
        other = np.where(is_send, classes[script.to[message]], classes[script.source[message]])
        what = np.where(is_send, script.nbytes[message], number[message])
        words = np.stack([script.kind, other, what, ways[message]])
        words[1:, ~(is_send | is_wait)] = 0
        ends = [*script.begin[1:].tolist(), len(script.kind)]
        found: list[Hashable] = [
            words[:, begin:end].tobytes() for begin, end in zip(script.begin.tolist(), ends, strict=True)
        ]
        by_class: dict[int, Hashable] = {}
        is_stable = all(by_class.setdefault(c, word) == word for c, word in zip(classes.tolist(), found, strict=True))
        counts = np.bincount(classes)
        if is_stable and np.any(counts[classes[script.source]] != counts[classes[script.to]]):
            return list(range(len(members)))
        return found

    def _check_messages(self) -> None:
        """Each message of a class goes to one class, from one rank to one rank, and back the same way."""
        to: dict[tuple[int, int], dict[int, int]] = {}
        back: dict[tuple[int, int], dict[int, int]] = {}
        for (number, rank), other in self._tables.items():
            message = self._messages[number]
            ends = int(self.of[rank]), int(self.of[other])
            table = to if message.is_send else back
            pair = ends if message.is_send else ends[::-1]
            if table.setdefault(pair, {}).setdefault(rank, other) != other:
                raise NotAlike("a rank sends to two ranks that do the same")
        for pair, receives in back.items():
            sends = to.get(pair, {})
            if {(src, dst) for dst, src in receives.items()} != set(sends.items()):
                raise NotAlike("ranks that do the same do not send to ranks that do the same")

    # --------------------------------------------------------------------- for those who replay

    def members(self, index: int, rank: int) -> list[int]:
        """The classes in a group of this rank, each once."""
        return sorted(set(self.of[np.array(self.group(index, rank))].tolist()))

    def collective(self, kind: acts.CallKind, rank: int) -> CollectiveOfClasses:
        """One kind of collective in the group of this rank, with one seat for each class."""
        ranks = np.array(self.group(kind.group, rank))
        classes = self.of[ranks]
        key = self._key(kind), classes.tobytes(), self._pattern(self.group(kind.group, rank))
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._make(kind, ranks, classes)
        return found

    def _make(self, kind: acts.CallKind, ranks: Table, classes: Table) -> CollectiveOfClasses:
        script = self._script(kind, len(ranks))
        number = _send_numbers(script)
        seats, first = np.unique(classes, return_index=True)
        seat_of = np.searchsorted(seats, classes)
        sends = np.bincount(script.source, minlength=len(ranks))[first]
        base = np.concatenate([[0], np.cumsum(sends)])
        rows = Rows([], [], [], [0] * int(base[-1]), [0] * int(base[-1]), [0] * int(base[-1]))
        ways = [0] * int(base[-1])
        ends = [*script.begin[1:].tolist(), len(script.kind)]
        for member in first.tolist():
            rows.begin.append(len(rows.kind))
            for at in range(int(script.begin[member]), ends[member]):
                act, what = int(script.kind[at]), int(script.what[at])
                if act in (batched_overtaking.SEND, batched_overtaking.WAIT):
                    source, to = int(script.source[what]), int(script.to[what])
                    name = int(base[seat_of[source]] + number[what])
                    if act == batched_overtaking.SEND:
                        rows.source[name], rows.to[name] = int(seat_of[source]), int(seat_of[to])
                        rows.nbytes[name] = int(script.nbytes[what])
                        ways[name] = int(self.places.kind(ranks[source], ranks[to]))
                    what = name
                rows.kind.append(act)
                rows.what.append(what)
        return CollectiveOfClasses(rows, ways)

    def way(self, src: int, dst: int) -> int:
        """The kind of way of messages between two classes, one by one."""
        rank = self.first[src]
        for message in self._calls[id(self.trace_of(rank))][1]:
            other = self._tables[id(message), rank]
            if message.is_send and self.of[other] == dst:
                return int(self.places.kind(rank, other))
        raise AssertionError(f"class {src} sends nothing to class {dst}")

    def __repr__(self) -> str:
        return f"<RankClasses: {len(self.first)} for {self.size} ranks>"


def _send_numbers(script: batched_overtaking.Script) -> Table:
    """Of each message: how many its sender has sent before."""
    order = script.what[script.kind == batched_overtaking.SEND]  # by sender, in the order of its acts
    number = np.empty(len(order), np.int64)
    counts = np.bincount(script.source, minlength=len(script.begin)) if len(order) else np.zeros(1, np.int64)
    starts = np.cumsum(counts) - counts
    number[order] = np.arange(len(order)) - np.repeat(starts, counts)
    return number


def _numbered(words: Sequence[Hashable]) -> tuple[Table, list[int]]:
    """Equal words as numbers, in the order in which they come; and where each comes first."""
    numbers: dict[Hashable, int] = {}
    first: list[int] = []
    of = np.empty(len(words), np.int64)
    for place, word in enumerate(words):
        number = numbers.setdefault(word, len(numbers))
        if number == len(first):
            first.append(place)
        of[place] = number
    return of, first


def _kinds(trace: OperationTrace) -> Iterator[acts.CallKind]:
    """Each kind of collective that the trace has, once."""
    seen: set[Any] = set()
    for act in trace.acts:
        if isinstance(act, acts.ObjectsExchanged):
            raise NotAlike("the program exchanges objects")
        if isinstance(act, acts.CollectiveBegun):
            kind = act.kind
            key = kind.group, kind.schedule, kind.root, kind.vector.sizes, kind.vector.itemsize
            if kind.schedule.collective == "all_to_all" and len({*kind.vector.sizes}) > 1:
                raise NotAlike("the program calls all_to_all with parts of several sizes")
            if key not in seen:
                seen.add(key)
                yield kind


def _messages(trace: OperationTrace) -> Iterator[acts.NotedMessage]:
    """One of the messages with each other end, in each direction."""
    seen: set[Any] = set()
    for act in trace.acts:
        if isinstance(act, acts.NotedMessage):
            key = act.is_send, act.group, act.peer, None if act.peers is None else id(act.peers)
            if key not in seen:
                seen.add(key)
                yield act
