"""Lesson 21: trains as one rank does, bit for bit, where a rank holds a P-th and one layer more."""

from collections import Counter

import sharded
from replicas import loss

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.optim import SGD, Adam
from minitorch_dist.testing import check_replicas_equal, check_same_as_one_rank, exact
from mtd.course import MeasuredCost, lab, lamp, real_wires, training_contents
from mtd.course.loading import beside

units = beside(__file__, "units")
costs = beside(__file__, "costs")

BATCHES = (32, 16, 4, 32)
SIZES = (1, 2, 3, 5)


# --------------------------------------------------------------------------------------- the two halves


@lamp("shards")
def shards():
    """Equal, all numbers in them, and no longer than they must be."""
    for shape, size, wanted in (
        ((12,), 3, 4),
        ((2, 5), 3, 4),
        ((1, 10), 4, 3),
        ((2,), 5, 1),
        ((3, 2), 5, 2),
        ((7, 1), 1, 7),
        ((), 2, 1),
    ):
        found = sharded.shard_length(torch.Size(shape), size)
        assert found == wanted, (
            f"a parameter of shape {shape} on {lab.ranks(size)}: shards of {found} numbers, expected {wanted}"
        )


@lamp("reduce")
def reduce():
    """Each rank has its part of the average, of one backward and of several."""
    for size in SIZES:
        sim.run(halves, size)


def halves():
    """Rank r's gradients are 1, 10 and 100 times P (r + 1)."""
    rank, size = dist.get_rank(), dist.get_world_size()
    part = sharded.ShardedParameter(nn.Parameter(torch.zeros(2, 3)))
    so_far = 0
    for tens in (1, 10, 100):
        grad = torch.arange(1.0, 7.0).view(2, 3) * (tens * size * (rank + 1))
        part.reduce(grad)
        so_far += tens * size * (size + 1) / 2
        wanted, found = (
            units.shard_of(part, [so_far * n for n in range(1, 7)]),
            units.told(part.shard.grad),
        )
        assert found == wanted, (
            f"{lab.ranks(size)} reduce gradients of {size} (rank + 1) times [[1, 2, 3], [4, 5, 6]]"
            f"{', and then of ten and a hundred times as much' * (tens > 1)}. Then shard.grad of rank {rank} is {found}, and its "
            f"part of the averages{' of all backwards' * (tens > 1)} is {wanted}"
        )


@lamp("gather")
def gather():
    """The whole is back, with what lies in the shards now."""
    for size in SIZES:
        sim.run(gathers, size)


def gathers():
    """A step has added 10 to each shard, and the whole was freed."""
    rank, size = dist.get_rank(), dist.get_world_size()
    part = sharded.ShardedParameter(nn.Parameter(torch.arange(1.0, 7.0).view(2, 3)))
    part.free()
    part.shard.detach().add_(10.0)
    part.gather()
    found = part.window.flatten().tolist()
    assert found == [*range(11, 17)], (
        f"{lab.ranks(size)}: after gather rank {rank}'s window has {found}, and the shards have 11 to 16"
    )


# ------------------------------------------------------------------------------------------------ ZeRO


@lamp("ZeRO")
def zero():
    """The steps of one rank, bit for bit with Adam; of gradients that came in pieces; frozen parameters stay as they are."""
    for size in SIZES:
        sim.run(steps_between, size)
    check_same_as_one_rank(train_zero, batches=BATCHES, alone=alone)


def steps_between():
    """Two steps of SGD by gradients of 1, 10 and 100 times P (rank + 1). Weight 0 is frozen in the first."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = units.Sums()
    frozen, *_ = module.weights
    frozen.requires_grad_(False)
    optimizer = sharded.ZeroRedundancyOptimizer(module.parameters(), SGD, lr=0.5)
    expected = [1.0, 2.0, 3.0]
    for step in range(2):
        optimizer.zero_grad()
        for tens in (1.0, 10.0, 100.0):
            module(torch.full((2,), tens * size * (rank + 1))).sum().backward()
        optimizer.step()
        expected = [
            value - 0.5 * 111 * size * (size + 1) / 2 * (step > 0 or number > 0)
            for number, value in enumerate(expected)
        ]
        found = [weight.tolist() for weight in module.weights]
        assert found == [[value] * 2 for value in expected], (
            f"{lab.ranks(size)}, three backwards with gradients of 1, 10 and 100 times {size} (rank + 1), a step of 0.5; the first weight "
            f"{'is frozen' if step == 0 else 'is trained again'}. After step {step + 1} rank {rank} has {found}, expected {expected}"
        )
        check_replicas_equal(module)
        frozen.requires_grad_(True)


def train_zero(shares):
    model = exact.Model(seed=1 + dist.get_rank())
    optimizer = sharded.ZeroRedundancyOptimizer(model.parameters(), Adam, lr=costs.RATE)
    return trained(model, optimizer, shares)


def trained(model, optimizer, shares):
    for share, total in zip(shares, BATCHES, strict=True):
        optimizer.zero_grad()
        loss(model(share.x), share.y, total).backward()
        optimizer.step()
        exact.snap(model.parameters())
    return model


def alone(batches):
    model = exact.Model()
    optimizer = Adam(model.parameters(), lr=costs.RATE)
    for batch in batches:
        exact.step(model, optimizer, batch, scale=1 / batch.samples)
    return model


# ------------------------------------------------------------------------------------------------ FSDP


@lamp("forward")
def forward():
    """Every rank computes with rank 0's parameters, and nothing stays whole."""
    for size in SIZES:
        sim.run(units.evaluates, size)


@lamp("average")
def average():
    """Each shard has its part of the unit's gradients; the whole gradients and the parameters are gone."""
    for size in SIZES:
        sim.run(units.averages, size)


@lamp("backward")
def backward():
    """Computed with the parameters of forward; several backwards add up, and a unit may be used twice in one forward."""
    for size in SIZES:
        sim.run(units.goes_back, size)


@lamp("unused", star=2)
def unused():
    """A parameter that a rank does not need counts as 0 there, the rest is averaged, and nothing stays whole."""
    for size in SIZES:
        for alike in (True, False):
            sim.run(units.leaves_one_out, size, (alike,))


@lamp("frozen", star=2)
def frozen():
    """A frozen parameter gets no gradient and does not move, beside trained ones and in a unit of its own; it may thaw."""
    for size in SIZES:
        sim.run(units.thaws, size)


@lamp("norm", star=2)
def norm():
    """The norm of all gradients, and not of a rank's shards."""
    for size in (*SIZES, 8):
        sim.run(units.clips, size)


class Part(nn.Module):
    """A layer of the exact model."""

    def __init__(self, w, b, is_last):
        super().__init__()
        self.w, self.b, self.is_last = w, b, is_last

    def forward(self, x):
        found = x @ self.w + self.b
        return found if self.is_last else found.relu()


@lamp("correct")
def right():
    """1 to 6 ranks, as one unit and as two, with Adam, end with the weights of one rank, bit for bit."""
    for units in (1, 2):
        try:
            check_same_as_one_rank(train(units), batches=BATCHES, alone=alone)
        except AssertionError as error:
            raise AssertionError(f"{units} unit{'s' * (units > 1)}: {error}") from None


def train(units):
    def program(shares):
        whole = exact.Model(seed=1 + dist.get_rank())
        layers = [Part(whole.w1, whole.b1, False), Part(whole.w2, whole.b2, True)]
        model = nn.Sequential(
            *map(sharded.FullyShardedDataParallel, [whole] if units == 1 else layers)
        )
        trained(model, Adam(model.parameters(), lr=costs.RATE), shares)
        for unit in model:
            unit.gather()
        return [part.window.detach() for unit in model for part in unit.parts]

    return program


# ------------------------------------------------------------------------------------- what it costs


@lamp("memory")
def memory():
    """After a step of ZeRO: parameters and gradients whole, Adam's two numbers in shards. At the peak of two steps of FSDP: shards
    of everything, one layer whole, and its gradient."""
    found = []
    for size in (2, 4):
        where = f"{size} ranks, {costs.LAYERS} layers of {costs.LAYER} bytes"
        after, due = (
            max(costs.run(size, "ZeRO").results),
            (2 + 2 / size) * costs.LAYERS * costs.LAYER,
        )
        found.append(MeasuredCost(after, due, 1.03, " bytes", f"{where}, after two steps of ZeRO"))
        peak = max(rank.peak_bytes for rank in costs.run(size, "FSDP").ranks)
        where += ", at the peak of two steps of FSDP"
        found.append(MeasuredCost(peak, costs.room(size), 1.03, " bytes", where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("fits", star=3)
def fits():
    """It trains where the library's DDP runs out of memory."""
    cap = int(1.03 * costs.room(4))
    try:
        costs.run(4, "DDP", memory=cap)
    except cuda.OutOfMemoryError:
        pass
    else:
        raise ValueError("DDP fits as well: this check is wrong")
    try:
        costs.run(4, "FSDP", memory=cap)
    except cuda.OutOfMemoryError as error:
        raise AssertionError(
            f"4 ranks with accelerators of {cap} bytes, where DDP does not fit: {in_short(error)}"
        ) from error


def in_short(error):
    """The memory that was asked for, and where most of the large tensors there were made; the whole table is long."""
    asked, *table = str(error).splitlines()
    places = Counter(line.split(" made at ")[1] for line in table if " made at " in line)
    ((place, many),) = places.most_common(1)
    return f"{asked}\n    {many} of the {places.total()} largest tensors that lay there were made at {place}"


@lamp("bytes")
def bytes_of_a_step():
    """Each rank sends 2 (P-1)/P of the model with ZeRO, as an all_reduce does; with FSDP 3 (P-1)/P: gathered twice."""
    found = [costs.cost_of_a_step(size, way) for size in (2, 4) for way in costs.HALVES]
    return max(found, key=lambda cost: cost.ratio)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


def numbers_of_zero():
    """For each parameter, on one of 4 ranks; to two digits."""
    return round(max(costs.run(4, "ZeRO").results) / (costs.LAYERS * costs.LAYER), 2)


def percent_more_than_ddp():
    return 100 * (
        costs.cost_of_a_step(4, "FSDP").found / (2 * 3 / 4 * costs.LAYERS * costs.LAYER) - 1
    )


def layers_at_the_peak():
    """Of parameters alone, on each of 4 ranks: a forward without gradients."""

    def program():
        _, _, model, _ = costs.built("FSDP")
        dist.barrier()  # nothing of the first broadcasts is held any more
        cuda.reset_peak_memory_stats()
        with torch.no_grad():
            model(torch.ones(1, costs.SIDE, dtype=torch.float64, device="cuda"))
        return cuda.max_memory_allocated() / costs.LAYER

    return round(
        max(sim.run(program, 4, memory="1GB").results)
    )  # the activation is a small part of a layer


def contents():
    """ZeRO's step, where it is wrong; else two units of three ranks: gathered, freed, gathered again, averaged. Two steps, where
    only the second goes wrong."""
    grids = [training_contents.halves(sharded.ZeroRedundancyOptimizer)]
    grids += [
        training_contents.shards(sharded.FullyShardedDataParallel, steps=steps) for steps in (1, 2)
    ]
    return next((grid for grid in grids if grid.words()), grids[1])


def picture():
    """The memory of a step: yours before the library's DDP, on one axis."""
    ddp, fsdp = costs.held_during_a_step("DDP"), costs.held_during_a_step("FSDP")
    lines = [
        f"4 ranks, {costs.LAYERS} layers, Adam: what one rank holds in a step, counted in layers",
        "",
    ]
    for level in (4 * costs.LAYERS, None, *range(12, 0, -1)):
        if level is None:
            lines.append("   :")
            continue
        edge = (level - 0.5) * costs.LAYER
        bars = (
            "▓▓" if mine >= edge else "░░" if other >= edge else "  "
            for mine, other in zip(fsdp, ddp, strict=True)
        )
        lines.append(f"{level:>4} {''.join(bars)}".rstrip())
    turns = [f"f{number}" for number in range(costs.LAYERS)] + [
        f"b{number}" for number in reversed(range(costs.LAYERS))
    ]
    lines.append("     " + "".join(f"{turn:4}" for turn in turns).rstrip())
    about = "▓ your FSDP   ░ DDP   f: before a layer and in it, forward   b: backward"
    return "\n".join([*lines, "", about])
