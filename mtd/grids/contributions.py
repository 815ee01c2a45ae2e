"""Whose contributions each rank holds while somebody's own code runs, unchanged: a `mtd.grids.grid`.

    filled(all_reduce, "all_reduce", 3)       a run of 3 ranks, from the first step to the last
    of_schedule(ring.all_reduce, 3)           what a schedule does, from its replay

Every rank gives numbers of which each sum tells what is in it (`labels`). The simulator tells of each message that is sent and
received. Then the rank's tensor is read, and what has changed in it is a step of the grid (`fill_history`).
"""

from __future__ import annotations

import inspect
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.mail import wire
from minitorch_dist.distributed.mail.receives import PostedReceive
from minitorch_dist.distributed.schedules import proof
from minitorch_dist.distributed.schedules.links import COUNTING
from minitorch_dist.distributed.schedules.replay import Replay
from minitorch_dist.distributed.schedules.schedule import ROOTED, Schedule
from minitorch_dist.sim.stage import SimulationStage
from minitorch_dist.tensors.core import base
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.testing.costs import ROUNDS
from minitorch_dist.testing.strictness import strict
from minitorch_dist.testing.trials import OPS
from mtd.grids.fill_history import FillHistory, SentCells
from mtd.grids.grid import Grid
from mtd.grids.grid_cells import WRONG
from mtd.grids.labels import KINDS, UNREADABLE, Holding, SumLabels, WinnerLabels

PLACED: Final = ("reduce_scatter", "scatter", "gather")  # whose partial results lie in tensors of their own
EVENTS: Final = 20_000  # of a run, before it counts as one that never ends
IN_PLACE: Final = ("all_reduce", "broadcast", "reduce")
Window = Callable[[], Sequence[tuple[int, float | Holding]]]  # (cell, the number there, or what is in it)


class Onlooker:
    """A recorder that reads what its rank holds, at every event (see `distributed.mail.recorder`)."""

    sees_messages = True

    def __init__(self, run: WatchedRun, rank: int, before: Any) -> None:
        self.run, self.rank, self.before = run, rank, before
        self.gauge: Callable[[], int] = lambda: -1
        self.now = run.now
        self.inbox = run.inboxes.setdefault(rank, [])

    def look(self, *_: Any) -> None:
        self.run.look(self.rank)

    issued = began = ended = posted = computed = look

    def sent(self, doing: Any, to: int, step: int, nbytes: int, since: int, error: Any = None) -> None:
        self.look()
        key = self.rank, to, doing.group, doing.sequence, step
        self.run.leaves(key, doing.fingerprint.dtype, doing.site)

    def received(self, doing: Any, receive: PostedReceive) -> None:
        if receive.error is None:
            step = wire.MATCH.unpack(receive.match)[2]
            self.inbox += self.run.comes((receive.sender, self.rank, doing.group, doing.sequence, step))
        self.look()

    def arriving(self, target: Any, sink: Any, src: int, header: bytes, nbytes: int) -> Any:
        return sink

    @contextmanager
    def waiting(self, doing: Any, source: int | None) -> Any:
        self.look()
        yield
        is_operation = isinstance(getattr(doing, "fingerprint", None), wire.Fingerprint)
        if is_operation and doing.sequence != wire.POINT_TO_POINT:
            self.look()

    def close(self) -> None:
        if self.before is not None:
            self.before.close()


class WatchedRun(FillHistory):
    """The history of a run. It attaches to `sim.run(prepared=…)`.

    With `places`, what a rank sends is taken for what it holds of that element: partial sums may lie in tensors of its own.
    """

    def __init__(
        self, labels: SumLabels, due: Sequence[Sequence[Holding | None]], places: bool = False, rows: Sequence[str] = ()
    ) -> None:
        super().__init__(due, isinstance(labels, WinnerLabels), rows)
        self.labels, self.places = labels, places
        self.windows: dict[int, Window] = {}  # by rank: how its cells are read
        self.inboxes: dict[int, list[SentCells]] = {}  # by rank: what it has received
        self._under_way: defaultdict[Any, deque[SentCells]] = defaultdict(deque)
        self._latest: dict[int, bytes] = {}
        self.now: Callable[[], int] = lambda: 0

    def __call__(self, stage: SimulationStage) -> None:
        self.now = stage.clock.now
        stage.medium.witness = self._witness
        stage.entered.append(self._enter)

    def _enter(self, world: Any) -> None:
        world.mailbox.recorder = Onlooker(self, world.rank, world.mailbox.recorder)

    def _witness(self, kind: str, rank: int, *what: Any) -> None:
        if kind == "send":
            self._latest[rank] = bytes(what[3])

    def look(self, rank: int) -> None:
        """Read its window."""
        for cell, found in self.windows[rank]() if rank in self.windows else ():
            near = self.near(rank, cell)
            after = found if isinstance(found, tuple) else self.labels.read(float(found), near)
            self.change(self.now(), rank, cell, after, self.inboxes.get(rank, ()))

    def leaves(self, key: Any, dtype: Any, where: str) -> None:
        source, to = key[:2]
        load = self._latest.pop(source, b"")
        numbers: Any = [] if dtype is None or dtype.kind != "f" else np.frombuffer(load, dtype)
        sent = SentCells(source, to, [self.labels.read(float(number)) for number in numbers], where)
        self._under_way[key].append(sent)
        for held in sent.cells if self.places else ():
            if held and held[0][0] != UNREADABLE:
                cell = dict(held).get(source, held[0][1])
                self.change(self.now(), source, cell, held, self.inboxes.get(source, ()))

    def comes(self, key: Any) -> list[SentCells]:
        waiting = self._under_way[key]
        found = [waiting.popleft()] if waiting else []
        self.arrivals += [(self.now(), sent) for sent in found]
        return found


# ------------------------------------------------------------------------------ a collective


@dataclass(frozen=True)
class FillCase:
    """One run of a collective: each rank has `count` elements, or so many for each rank."""

    collective: str = "all_reduce"
    size: int = 3
    count: int = 1
    root: int = 0
    op: str = "sum"
    is_strict: bool = False  # sends wait for their receives
    seed: int = 0  # of another order of arrival

    @property
    def cells(self) -> int:
        """Of each rank's row."""
        return self.count if self.collective in IN_PLACE else self.size * self.count

    def chunk(self, rank: int, cell: int) -> int:
        """Of a schedule of this collective, the chunk in which a cell of this rank lies."""
        if self.collective in IN_PLACE:
            return cell
        part = cell // self.count
        return part * self.size + rank if self.collective == "all_to_all" else part

    def due(self, rank: int, cell: int) -> Holding | None:
        """The contents that a cell has to have in the end; None where nobody asks."""
        chunk, given = self.chunk(rank, cell), (self.collective, self.size, self.size**2 * self.count, self.root)
        if not proof.ends(*given)[rank, chunk]:
            return None
        element = {"all_gather": cell % self.count, "all_to_all": rank * self.count + cell % self.count}
        parts = [int(one) for one in np.flatnonzero(proof.due(*given)[chunk])]
        parts = parts[:1] if self.op in ("max", "min") and self.collective in proof.REDUCING else parts
        return tuple((one, element.get(self.collective, cell)) for one in parts)

    def at_first(self, rank: int, cell: int) -> Holding:
        """The contents of a cell before anything happens; cells of an output have none."""
        starts = proof.starts(self.collective, self.size, self.size**2 * self.count, self.root)
        is_there = self.collective not in ("all_gather", "all_to_all") and starts[rank, self.chunk(rank, cell)]
        return ((rank, cell),) if is_there else ()

    def tensors(self, labels: SumLabels, rank: int) -> list[Any]:
        """The arguments: one tensor, or an output and an input."""
        whole, shape = (self.size, self.count), (-1,)
        first = rank * self.count if self.collective == "gather" else 0
        given = self.count if self.collective in ("all_gather", "gather") else self.cells
        own = labels.of(rank, range(first, first + given))
        if self.collective in ("broadcast", "scatter") and rank != self.root:
            own = np.zeros_like(own)
        tensor = base.new(Tensor, own.reshape(whole if self.collective == "scatter" else shape))
        if self.collective in IN_PLACE:
            return [tensor]
        output = np.zeros(self.count if self.collective in ("reduce_scatter", "scatter") else self.cells)
        return [base.new(Tensor, output.reshape(whole if self.collective == "gather" else shape)), tensor]

    def window(self, array: base.Array, rank: int) -> Window:
        """Reads a rank's cells. Of what lies in tensors of its own, only the result can be seen."""
        first = rank * self.count if self.collective in ("reduce_scatter", "scatter") else 0
        if self.collective not in PLACED:
            return lambda: [*enumerate(array.ravel())]
        is_seen = self.collective != "gather" or rank == self.root
        return lambda: [(first + at, number) for at, number in enumerate(array.ravel()) if number and is_seen]

    def __str__(self) -> str:
        return f"{self.size} rank{'s' * (self.size > 1)}{f', {self.op}' if self.op != 'sum' else ''}"


def filled(
    function: Callable[..., Any], collective: str = "all_reduce", size: int = 3, count: int | None = None, **how: Any
) -> Grid:
    """Run `function` on `size` ranks, and show whose contributions they hold. `how` is more of a FillCase."""
    count = (size + 1 if collective in IN_PLACE else 1) if count is None else count
    case, grids = FillCase(collective, size, count, **how), []
    for kind in KINDS[case.op]:
        with suppress(ValueError):  # so few bits are not always enough
            grids.append(_filled(function, case, kind(size, case.cells)))
        if grids and grids[-1].fault is None:
            return grids[-1]
    if not grids:
        raise ValueError(f"{case} with {case.cells} elements are too many to tell apart; take fewer elements")
    return grids[0]


def _filled(function: Callable[..., Any], case: FillCase, labels: SumLabels) -> Grid:
    ranks, cells = range(case.size), range(case.cells)
    due = [[case.due(r, c) for c in cells] for r in ranks]
    run = WatchedRun(labels, due, places=case.collective in PLACED)
    named: dict[str, Any] = {"op": OPS[case.op][0]} if case.op != "sum" else {}
    if case.collective in ROOTED:
        named |= dict.fromkeys({"src", "dst", "root"} & {*inspect.signature(function).parameters}, case.root)
    given: dict[int, tuple[Any, Any]] = {}

    def program() -> None:
        rank = dist.get_rank()
        tensors = case.tensors(labels, rank)
        given[rank] = tensors[-1].array.copy(), tensors[-1].array
        run.begin(rank, [case.at_first(rank, cell) for cell in cells])
        run.windows[rank] = case.window(tensors[0].array, rank)
        result = function(*tensors, **named)
        if isinstance(result, Tensor):  # it may return what it does not write
            run.windows[rank] = case.window(result.array, rank)
        run.look(rank)

    order: dict[str, Any] = {"seed": case.seed, "hardships": "oja"} if case.seed else {"net": ROUNDS}
    notes: list[str] = []
    try:
        with strict() if case.is_strict else nullcontext():
            sim.run(program, case.size, events=EVENTS, prepared=run, **order)
    except Exception as error:
        notes.append(f"The run ended here, with {type(error).__name__}.")
    for rank in ranks:
        run.look(rank)
    is_over = not notes
    if case.collective not in IN_PLACE:
        changed = [rank for rank, (before, now) in sorted(given.items()) if (before != now).any()]
        notes += [f"{WRONG} The tensor given to rank {rank} is not what it was." for rank in changed[:1]]
    name = getattr(function, "__name__", case.collective)
    title = f"{name}, {case}: whose numbers are where (a is rank 0)"
    return run.grid(title, is_over=is_over, names_elements=case.collective == "all_to_all", notes=notes)


# -------------------------------------------------------------------------------- a schedule


def of_schedule(schedule: Schedule, size: int, root: int | None = None, note: str = "") -> Grid:
    """The contents of each chunk, rank by rank. It is drawn from a replay, so it shows what happens and not what was meant."""
    history = _of_labels(schedule, size, root or 0)
    labels = _WatchedLabels(schedule, size, root or 0, history)
    labels.replay = Replay(schedule, size, size, root=root, links=COUNTING, contents=labels)
    labels.replay.run()
    title, heads = f"{schedule}, {size} rank{'s' * (size != 1)}", [*map(str, range(schedule.total(size)))]
    return history.grid(title, of="chunk", heads=heads, notes=[note] * bool(note))


def _of_labels(schedule: Schedule, size: int, root: int) -> FillHistory:
    """The results that are expected, and the contents at first."""
    total, name = schedule.total(size), schedule.collective
    parts, where = proof.due(name, size, total, root), proof.ends(name, size, total, root)
    ranks, chunks = range(size), range(total)
    counts = [tuple((int(rank), chunk) for rank in np.flatnonzero(parts[chunk])) for chunk in chunks]
    due = [[counts[chunk] if where[rank, chunk] else None for chunk in chunks] for rank in ranks]
    history = FillHistory(due)
    begin = proof.starts(name, size, total, root)
    for rank in ranks:
        history.begin(rank, [((rank, chunk),) if begin[rank, chunk] else () for chunk in chunks])
    return history


class _WatchedLabels(proof.Labels):
    """Labels that tell a history of each change."""

    replay: Replay

    def __init__(self, schedule: Schedule, size: int, root: int, history: FillHistory) -> None:
        super().__init__(schedule, size, root)
        self.history = history

    def put(self, rank: int, chunks: list[int], message: Any, source: int, reduce: bool) -> None:
        super().put(rank, chunks, message, source, reduce)
        sent = SentCells(source, rank, [_holding(label) for label in message[0]], "")
        self.history.arrivals.append((self.replay.finish[rank], sent))
        for chunk in chunks:
            self._changed(rank, chunk, [sent])

    def combine(self, rank: int, into: int, of: int, reduce: bool) -> None:
        super().combine(rank, into, of, reduce)
        self._changed(rank, into, [])

    def _changed(self, rank: int, chunk: int, inbox: list[SentCells]) -> None:
        if chunk < self.total:
            held = self.held[rank].get(chunk)
            after = () if held is None else _holding((held, self.origin[rank][chunk]))
            self.history.change(self.replay.finish[rank], rank, chunk, after, inbox)


def _holding(label: tuple[Any, int]) -> Holding:
    counts, origin = label
    return tuple((rank, origin) for rank, times in enumerate(counts) for _ in range(int(times)))
