"""Grids of what a learner's training holds: values and gradients, shards, micro-batches.

replicas(DistributedDataParallel)                whose weights, buffers and gradients the ranks have (17)
gradients(DistributedDataParallel, step)         whose numbers are in each gradient, and when (18, 19)
halves(ZeroRedundancyOptimizer)                  where each part of a gradient is averaged, and what steps with it (21)
shards(FullyShardedDataParallel)                 whose shards of each unit a rank has (21)
microbatches(Stage, gpipe, 3, 4)                 which micro-batches a stage has computed, and what is in its gradient (26, 27)

Each rank's numbers are labels (see `mtd.grids.labels`), and the gradient of each layer is one, too. So the learner's own code
runs, and what it adds up can be read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.pipelining import orders
from minitorch_dist.optim import SGD
from mtd.course.layers import SlowIdentity
from mtd.course.pipelines import FREE, TimedWork
from mtd.grids.contributions import WatchedRun
from mtd.grids.grid import Grid
from mtd.grids.labels import UNREADABLE, AverageLabels, Holding, SumLabels

HALF = 10**9 // 2  # picoseconds: a step of a grid is half a millisecond
NET = sim.uniform("100us", "1000TB/s")  # so all messages of one average are in one step


class TrainingRun(WatchedRun):
    """A watched run, in virtual time."""

    def __call__(self, stage: Any) -> None:
        super().__call__(stage)
        clock = stage.clock
        self.now = lambda: -(-clock.now() // HALF)

    def play(self, title: str, heads: list[str], program: Callable[[], Any], net: Any = NET) -> Grid:
        """Run it on as many ranks as there are rows. If it fails, its grid ends there."""
        notes = []
        try:
            sim.run(program, len(self.due), net=net, prepared=self, limit=10.0)
        except Exception as error:
            notes.append(f"The run ended here, with {type(error).__name__}.")
        for rank in self.windows:
            self.look(rank)
        return self.grid(title, heads=heads, named=in_ms, of="", is_over=not notes, notes=notes)


def in_ms(step: int) -> str:
    return f"{step / 2:g} ms"


class LabelledLayer(nn.Module):
    """A layer that adds 0, and whose gradient is given. It takes 1 ms forward and 2 ms backward, and looks at what there
    is before both."""

    def __init__(self, weight: Any, gradient: Any, look: Callable[[], None], is_used: bool = True) -> None:
        super().__init__()
        self.look, self.is_used = look, is_used
        self.weight = nn.Parameter(weight.clone())
        self.gradient = gradient

    def forward(self, x: Any) -> Any:
        nothing = (self.weight - self.weight.detach()) * self.gradient
        self.look()
        sim.compute("1ms")
        return SlowIdentity.apply(x + nothing.sum() if self.is_used else x + 0, "2ms", self.look)


def everyone(size: int, cell: int, times: int = 1) -> Holding:
    return tuple((rank, cell) for rank in range(size) for _ in range(times))


class GradientRun(TrainingRun):
    """A model of layers whose gradients are labels. Before the cells of the gradients there may be `first` others."""

    def __init__(self, layers: int, size: int, first: int = 0, pieces: int = 1) -> None:
        self.layers, self.size, self.others = layers, size, first
        self.averages = [everyone(size, first + at, pieces) for at in range(layers)]
        due = [[*(((0, cell),) for cell in range(first)), *self.averages] for _ in range(size)]
        super().__init__(AverageLabels(size, first + layers), due)

    def own(self, rank: int) -> Any:
        """The numbers that a rank gives."""
        return torch.tensor(self.labels.of(rank, range(self.others + self.layers)))

    def model(self, rank: int, weight: Any, unused: int | None = None) -> Any:
        own, look = self.own(rank), partial(self.look, rank)
        layers = [LabelledLayer(weight, own[self.others + at], look, at != unused) for at in range(self.layers)]
        return nn.Sequential(*layers)

    def show(self, rank: int, model: Any, held: list[Holding], others: Callable[[], list[float]]) -> None:
        """From now on: what `others` reads, and the gradients."""

        def window() -> list[tuple[int, float]]:
            grads = [layer.weight.grad for layer in model]
            return [*enumerate([*others(), *(0.0 if grad is None else grad.item() for grad in grads)])]

        self.begin(rank, held + [()] * self.layers)
        self.windows[rank] = window

    @property
    def names(self) -> list[str]:
        return [f"g{at}" for at in range(self.layers)]


def one_backward(model: Any, x: Any) -> None:
    model(x).sum().backward()


ZERO = torch.zeros(1, dtype=torch.float64)
ABOUT = "3 ranks: whose numbers are in each gradient, averaged (a is rank 0)"


def gradients(
    wrap: Callable[[Any], Any], step: Callable[[Any, Any], None] = one_backward, layers: int = 4, pieces: int = 1
) -> Grid:
    """One `step(model, x)` of a wrapped model, with so many `pieces` of a batch. Rank 1 does not use the last layer."""
    run = GradientRun(layers, 3, pieces=pieces)
    without = tuple(one for one in run.averages[-1] if one[0] != 1)
    run.due = [[*run.averages[:-1], without]] * 3

    def program() -> None:
        rank = dist.get_rank()
        model = run.model(rank, ZERO, layers - 1 if rank == 1 else None)
        run.show(rank, model, [], list)
        wrapped = wrap(model)
        dist.barrier()
        step(wrapped, ZERO)
        run.look(rank)

    return run.play(ABOUT, run.names, program)


def replicas(wrap: Callable[[Any], Any], step: Callable[[Any, Any], None] = one_backward) -> Grid:
    """Whose weights, buffers and gradients the ranks have; before the second forward, of an evaluation, each has its own buffers."""
    run = GradientRun(2, 3, first=4)

    def program() -> None:
        rank = dist.get_rank()
        own = run.own(rank)
        model = run.model(rank, own[:1])
        model.frozen = nn.Parameter(own[1:2].clone(), requires_grad=False)
        model.register_buffer("buffer", own[2:3].clone())
        model.register_buffer("temporary", own[3:4].clone(), persistent=False)
        kept = [model[0].weight, model.frozen, model.buffer, model.temporary]
        layers = model[:2]
        run.show(rank, layers, [((rank, cell),) for cell in range(4)], lambda: [one.item() for one in kept])
        wrapped = wrap(model)
        run.look(rank)
        dist.barrier()
        step(wrapped, ZERO)
        run.look(rank)
        for cell, buffer in enumerate(kept[2:], 2):
            buffer.copy_(own[cell : cell + 1])
        run.look(rank)
        with torch.no_grad():
            wrapped.eval()(ZERO)

    title = "3 ranks: whose weight (w), frozen weight (f), buffers (b, t), gradients"
    return run.play(title, ["w", "f", "b", "t", *run.names], program)


def halves(zero: Callable[..., Any], size: int = 3) -> Grid:
    """A step of ZeRO: whose gradients are in a rank's part of the average, and in each part of the weight after the step."""
    labels = AverageLabels(size, size)
    everyones = [everyone(size, part) for part in range(size)]
    run = TrainingRun(labels, [[*everyones, ()] for _ in range(size)])

    def program() -> None:
        rank = dist.get_rank()
        look = partial(run.look, rank)
        own = torch.tensor([labels.of(rank, [at // 2])[0] for at in range(2 * size - 1)])
        layer = LabelledLayer(own * 0, own, look)

        class WatchedSGD(SGD):
            def step(self, closure: Any = None) -> Any:
                look()
                sim.compute("1ms")
                return super().step()

        optimizer = zero(layer.parameters(), WatchedSGD, lr=1.0)

        def window() -> list[Any]:
            grad = optimizer.parts[0].shard.grad
            weights = [(part, -layer.weight[2 * part].item()) for part in range(size)]
            return [*weights, (size, 0.0 if grad is None else grad[0].item())]

        run.begin(rank, [()] * (size + 1))
        run.windows[rank] = window
        one_backward(layer, ZERO)
        optimizer.step()
        run.look(rank)

    title = f"{size} ranks: whose gradients are in the parts of a weight (w), and in its gradient (g), averaged"
    return run.play(title, [*(f"w{part}" for part in range(size)), "g"], program)


def shards(wrap: Callable[[Any], Any], units: int = 2, size: int = 3, steps: int = 1) -> Grid:
    """So many steps of units that are wrapped alone: whose shards a rank has of each, and the gradient of its own shard."""
    labels = AverageLabels(size, 2 * units)
    averages = [everyone(size, units + unit) for unit in range(units)]
    run = TrainingRun(labels, [[*(((rank, unit),) for unit in range(units)), *averages] for rank in range(size)])

    def program() -> None:
        rank = dist.get_rank()
        wrapped: list[Any] = []
        for unit in range(units):
            values = torch.tensor([labels.of(at // 2, [unit])[0] for at in range(2 * size - 1)])
            own = torch.full((2 * size - 1,), labels.of(rank, [units + unit])[0], dtype=torch.float64)
            wrapped.append(wrap(LabelledLayer(values * (rank == 0), own, partial(run.look, rank))))

        def window() -> list[Any]:
            grads = [one.parts[0].shard.grad for one in wrapped]
            held = [(unit, held_of(one, labels)) for unit, one in enumerate(wrapped)]
            return held + [(units + unit, 0.0 if grad is None else grad[0].item()) for unit, grad in enumerate(grads)]

        run.begin(rank, [((rank, unit),) for unit in range(units)] + [()] * units)
        run.windows[rank] = window
        for _ in range(steps):
            for one in wrapped:
                one.parts[0].shard.grad = None
            one_backward(nn.Sequential(*wrapped), ZERO)

    title = f"{size} ranks: whose shards of each unit (u) a rank has, and gradients (g) of its own"
    return run.play(title, [f"{kind}{unit}" for kind in "ug" for unit in range(units)], program)


def held_of(unit: Any, labels: SumLabels) -> Holding:
    """The shards of a unit that are in memory here, two numbers each, the last one padded with a zero."""
    part = unit.parts[0]
    numbers = part.whole.tolist() if part.whole.untyped_storage().nbytes() else part.shard.tolist()
    found = dict.fromkeys(one for number in numbers for one in labels.read(number))
    return tuple(one for one in found if one[0] != UNREADABLE)  # memory that is not filled yet


def microbatches(stage: Any, make: orders.Make, ranks: int = 3, count: int = 3) -> Grid:
    """One step of equal stages: which micro-batches each holds until their backward, and which are in its gradient."""
    labels = SumLabels(count, 1)
    run = TrainingRun(
        labels, [[None, everyone(count, 0)] for _ in range(ranks)], rows=[f"stage {rank}" for rank in range(ranks)]
    )

    def program() -> None:
        rank, pipe = dist.get_rank(), orders.Pipe(ranks, count)
        work = TimedWork()
        mine = stage(work, 1)

        def window() -> list[Any]:
            held = tuple(sorted(one for number in work.kept() for one in labels.read(number)))
            return [(0, held), (1, 0.0 if work.w.grad is None else work.w.grad.item())]

        run.windows[rank] = window
        work.look = partial(run.look, rank)
        data = [(torch.tensor(labels.of(k, [0])).view(1, 1), None) for k in range(count)]
        mine.step(make(rank, pipe), data, lambda out, target: out.sum())
        run.look(rank)

    title = f"{ranks} stages: micro-batches that each holds, and those in its gradient (a is 0)"
    return run.play(title, ["held", "grad"], program, FREE)
