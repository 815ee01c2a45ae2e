"""The tools of the checks of pipelines: a model of five operations, and stages that take time.

trained(Stage, gpipe, 3, 4)            two batches must end with the weights of one rank; if not, which
                                       micro-batch is missing, or counted twice
orders_of(gpipe, Pipe(3, 4))           of all ranks; AssertionError if one is not a list of actions
timed(Stage, gpipe, Pipe(3, 4))        every stage busy for 1 ms forward and 2 ms backward; what it holds
score(order, Pipe(3, 4))               an order on paper: time and memory, and the least there can be

A `Stage` is what lesson 26 makes: Stage(layers, columns), with step(order, microbatches, loss) and `held`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.autograd.function import Function
from minitorch_dist.distributed.pipelining import PipelineScheduleSingle, PipelineStage, orders
from minitorch_dist.distributed.pipelining.microbatch import split_tensor
from minitorch_dist.distributed.pipelining.timing import ActionSpan, Timing, times
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.nn.parameter import Parameter
from minitorch_dist.optim import SGD
from minitorch_dist.tensors.core.base import Array
from minitorch_dist.tensors.dtypes import float64
from minitorch_dist.tensors.makers.creation import ones
from minitorch_dist.tensors.tensor import Tensor
from minitorch_dist.testing import exact
from minitorch_dist.testing.strictness import plainly, strict

BATCHES = (37, 23)  # samples; few numbers of micro-batches divide them
FREE = sim.uniform("0s", "1000TB/s")  # a message takes a picosecond, for none is less
LONG = {orders.F: 1, orders.B: 2, orders.I: 1, orders.W: 1}  # milliseconds that a stage takes


class Layers(Module):
    """Some of the five operations of `exact.Model`: x·w1, +b1, relu, ·w2, +b2."""

    def __init__(self, first: int, stop: int) -> None:
        super().__init__()
        whole = exact.Model()
        self.names = ("w1", "b1", "relu", "w2", "b2")[first:stop]
        for name in self.names:
            if name != "relu":
                setattr(self, name, getattr(whole, name))

    def forward(self, x: Tensor) -> Tensor:
        for name in self.names:
            if name == "relu":
                x = x.relu()
            else:
                x = x @ getattr(self, name) if name[0] == "w" else x + getattr(self, name)
        return x


COLUMNS = (2, 16, 16, 16, 1)  # that each operation takes in


def orders_of(make: Callable[[int, orders.Pipe], Any], pipe: orders.Pipe) -> list[Any]:
    """The order of each rank. AssertionError, in words, if one is not a list of Action(stage, F or B, micro-batch)."""
    found = []
    for rank in range(pipe.ranks):
        order = make(rank, pipe)
        where = f"{make.__name__}({rank}, Pipe({pipe.ranks}, {pipe.microbatches}))"
        assert isinstance(order, list | tuple), f"{where} is {order!r}, expected a list of actions"
        for one in order:
            assert isinstance(one, orders.Action), f"{where} has {one!r} in it, expected an Action"
            numbers = isinstance(one.stage, int) and isinstance(one.microbatch, int)
            said = ", ".join(map(_told, one))
            assert numbers and isinstance(one.kind, orders.ActionKind), (
                f"{where} has Action({said}): a stage, then F or B, then a micro-batch"
            )
        found.append(order)
    return found


def _told(part: object) -> str:
    return part.value if isinstance(part, orders.ActionKind) else repr(part)


def layers(part: int, parts: int) -> tuple[Layers, int]:
    """A stage's share of the operations, and how many columns come in."""
    first, stop = (len(COLUMNS) * end // parts for end in (part, part + 1))
    return Layers(first, stop), COLUMNS[first]


Taken = dict[str, list[Array]]  # each parameter after each batch, before it is rounded


@cache
def golden() -> Taken:
    """The weights of one rank that takes each batch whole."""
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    with exact.watched() as seen:
        for seed, count in enumerate(BATCHES):
            exact.step(model, optimizer, exact.data(count, seed))
    return _by_name(model, seen)


def _by_name(model: Module, seen: list[list[Array]]) -> Taken:
    names = [name for name, _ in model.named_parameters()]
    return {name: [step[number] for step in seen] for number, name in enumerate(names)}


def microbatches(seed: int, count: int) -> list[tuple[Any, Any]]:
    """A batch in `count` parts."""
    parts = [split_tensor(t, count) for t in exact.data(BATCHES[seed], seed)]
    return list(zip(*parts, strict=True))


def trained(stage: Any, make: orders.Make, ranks: int, count: int, strictly: bool = False) -> None:
    """Two batches through the stages; AssertionError if the weights are not the golden ones.

    `strictly`: sends wait for their receives.
    """

    def program() -> tuple[Taken, dict[str, Array]]:
        rank, pipe = dist.get_rank(), orders.Pipe(ranks, count)
        model, columns = layers(rank, ranks)
        mine = stage(model, columns)

        def step(seed: int) -> None:
            mine.step(make(rank, pipe), microbatches(seed, count), exact.loss)

        return _trained(model, step)

    try:
        with strict() if strictly else nullcontext() as sends:
            results = sim.run(program, ranks).results
        forgotten = sends.forgotten() if sends is not None else []
        assert not forgotten, (
            f"{_where(ranks, count)}: {forgotten[0]}; until it is waited for (or `is_completed`) its tensor may be read"
        )
    except sim.Deadlock as error:
        raise AssertionError(f"{_where(ranks, count)}: {plainly(str(error))}") from error
    _judge(results, ranks, count)


def in_the_library(make: orders.Make, ranks: int, count: int) -> None:
    """The same with an order of one's own in `distributed.pipelining`."""
    own = type("Own", (PipelineScheduleSingle,), {"make": staticmethod(make)})

    def program() -> tuple[Taken, dict[str, Array]]:
        rank = dist.get_rank()
        model, _ = layers(rank, ranks)
        stage = PipelineStage(model, rank, ranks, "cpu")
        schedule = own(stage, count, loss_fn=exact.loss, scale_grads=False)

        def step(seed: int) -> None:
            samples = exact.data(BATCHES[seed], seed)
            schedule.step(*([samples.x] if rank == 0 else []), target=samples.y)

        return _trained(model, step)

    _judge(sim.run(program, ranks).results, ranks, count)


def _trained(model: Layers, step: Callable[[int], None]) -> tuple[Taken, dict[str, Array]]:
    """The weights after each batch, and the gradients after the first."""
    named, first = dict(model.named_parameters()), {}
    with exact.watched() as seen:
        for seed in range(len(BATCHES)):
            for p in named.values():
                p.grad = None
            step(seed)
            if seed == 0:
                first = {n: p.grad.array.copy() for n, p in named.items() if p.grad is not None}
            if named:
                SGD(named.values(), lr=exact.RATE).step()
            exact.snap(named.values())
    return _by_name(model, seen), first


def _judge(results: Any, ranks: int, count: int) -> None:
    weights: Taken = {}
    gradients: dict[str, Array] = {}
    for some, first in results:
        weights.update(some)
        gradients.update(first)
    where = _where(ranks, count)
    for name in golden():
        if name not in gradients:
            raise AssertionError(f"{where} {name} gets no gradient at all")
    counted = _counted(gradients, count)
    for name, each in counted.items():
        wrong = [k for k, c in enumerate(each) if abs(c - 1) > 1e-6]
        if wrong:
            said = ", ".join(f"micro-batch {k} {round(each[k], 3) + 0.0:g} times" for k in wrong)
            raise AssertionError(f"{where} the gradient of {name} has {said}, where each should be in it once")
    for name, wanted in golden().items():
        for number, (found, one) in enumerate(zip(weights[name], wanted, strict=True), 1):
            if not exact.same([found], [one]):
                after = f"{number} batch{'es' * (number > 1)}"
                raise AssertionError(f"{where} {name} differs from that of one rank after {after}")


def _where(ranks: int, count: int) -> str:
    return f"with {ranks} stage{'s' * (ranks > 1)} and {count} micro-batch{'es' * (count > 1)}"


def _counted(found: dict[str, Array], count: int) -> dict[str, list[float]]:
    """How often each micro-batch is in each gradient: the solution of found = Σ times · its own."""
    model = exact.Model()
    parts: dict[str, list[Array]] = {name: [] for name in golden()}
    for x, y in microbatches(0, count):
        for p in model.parameters():
            p.grad = None
        exact.loss(model(x), y).backward()
        for name, p in model.named_parameters():
            assert p.grad is not None
            parts[name].append(p.grad.array.copy())
    times = {}
    for name, each in parts.items():
        columns = np.stack([part.reshape(-1) for part in each], axis=1)
        if columns.shape[0] >= count:
            solved = np.linalg.lstsq(columns, found[name].reshape(-1), rcond=None)[0]
            times[name] = [float(t) for t in solved]
    return times


# ------------------------------------------------------------------------------------------- time


class _Busy(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, backward: int) -> Tensor:
        sim.compute(LONG[orders.F] / 1000)
        ctx.save_for_backward(x)
        ctx.duration = backward / 1000
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        sim.compute(ctx.duration)
        return grad, None


class TimedWork(Module):
    """Takes 1 ms forward and 2 ms backward, and counts what of it is still in memory."""

    noted: Mapping[str, orders.ActionKind] = {"forward": orders.F, "backward": orders.B}  # a stage's methods

    def __init__(self) -> None:
        super().__init__()
        self.w = Parameter(ones(1, dtype=float64))
        self.look: Callable[[], None] | None = None  # called before it begins
        self._kept: list[weakref.ref[Array]] = []  # for the backward
        self._made: list[weakref.ref[Array]] = []  # for the next stage

    def forward(self, x: Any) -> Any:
        if self.look is not None:
            self.look()
        kept = x * self.w
        made = _Busy.apply(self.computed(kept), LONG[[*self.noted.values()][1]])
        self._kept.append(weakref.ref(kept.array))
        self._made.append(weakref.ref(made.array))
        return made

    def computed(self, x: Tensor) -> Tensor:
        """Of what is kept."""
        return x

    def kept(self) -> list[float]:
        """The inputs that it still keeps for a backward."""
        return [array.item() for one in self._kept if (array := one()) is not None]

    def in_memory(self) -> int:
        """Micro-batches."""
        return max(sum(one() is not None for one in refs) for refs in (self._kept, self._made))


class MeasuredStep(NamedTuple):
    """One rank's step."""

    spans: list[ActionSpan]
    held: list[int]  # micro-batches in memory after each of them
    left: list[int]  # of those the ones that are there after the step


@dataclass(frozen=True)
class TimedOrder:
    """The time of a step. `timing` is as of an order on paper, but measured."""

    pipe: orders.Pipe
    ranks: list[MeasuredStep]

    @property
    def timing(self) -> Timing:
        return Timing([rank.spans for rank in self.ranks])

    @property
    def held(self) -> list[int]:
        """The most micro-batches in memory at once, by stage."""
        return [max(rank.held) for rank in self.ranks]

    @property
    def total(self) -> int:
        """In ms."""
        return self.timing.total

    @property
    def idle(self) -> int:
        """Of the rank that is idle least, in ms."""
        return self.total - max(self.timing.busy(rank) for rank in range(self.pipe.ranks))


def timed(
    stage: Any, make: orders.Make, pipe: orders.Pipe, net: Any = FREE, work: type[TimedWork] = TimedWork
) -> TimedOrder:
    """Run one step of equal stages in virtual time. Messages are free unless `net` says what they cost."""

    def noted(name: str, kind: orders.ActionKind) -> Callable[..., None]:
        def call(self: Any, k: int, *rest: Any) -> None:
            if kind is orders.W:
                sim.compute(LONG[kind] / 1000)
            getattr(stage, name)(self, k, *rest)
            end = round(sim.now() * 1000)
            self.measured.spans.append(ActionSpan(orders.Action(self.rank, kind, k), end - LONG[kind], end))
            self.measured.held.append(self.layers.in_memory())

        return call

    Watched = type("Watched", (stage,), {name: noted(name, kind) for name, kind in work.noted.items()})

    def program() -> MeasuredStep:
        mine = Watched(work(), 1)
        measured = mine.measured = MeasuredStep([], [], [])
        data: list[Any] = [(ones(1, 1, dtype=float64), None)] * pipe.microbatches
        mine.step(make(dist.get_rank(), pipe), data, lambda out, target: out.sum())
        measured.left.append(mine.layers.in_memory())
        return measured

    return TimedOrder(pipe, sim.run(program, pipe.ranks, net=net).results)


LEVELS = "▁▂▃▄▅▆▇█"


def silhouettes(found: TimedOrder, most: int) -> list[str]:
    """For each rank how much it holds in each ms, three characters wide, as `drawn` is; █ is `most`."""
    rows = []
    for rank in found.ranks:
        held = [0] * found.total
        for span, count in zip(rank.spans, rank.held, strict=True):
            last = span.action.kind is orders.B  # what a backward frees it holds until its end
            begin = span.end if last else span.begin
            held[begin:] = [count] * (found.total - begin)
        rows.append("".join(3 * (LEVELS[count * 8 // most - 1] if count else " ") for count in held))
    return rows


# ------------------------------------------------------------------------------------- the contest


class OrderScore(NamedTuple):
    """How good an order is, and how good one can be. Less is better, time first."""

    time: int  # ms
    memory: int  # micro-batches on the rank that holds most
    least_time: int
    least_memory: int


def score(make: orders.Make, pipe: orders.Pipe) -> OrderScore:
    """Judge an order on paper; ValueError says what is wrong with one that cannot be carried out.

    A backward may be in parts (I, 1 ms, what the stage before waits for, and W, 1 ms, what nobody waits
    for). The least time is that of the last stage, if it never idles once it has begun.
    """
    every = orders.everyones(make, pipe)
    for fault in orders.faults(every, pipe):
        raise ValueError(fault)
    found = times(every, pipe, LONG)
    busy = (LONG[orders.F] + LONG[orders.B]) * pipe.local * pipe.microbatches
    least = busy + LONG[orders.F] * (pipe.ranks - 1)
    return OrderScore(found.total, max(map(found.in_flight, range(pipe.ranks))), least, 1)
