"""Lesson 21: trains as one rank does, bit for bit, where a rank holds a P-th and one layer more."""

from collections import Counter

import sharded
from replicas import loss

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import SGD, Adam
from minitorch_dist.testing import check_replicas_equal, check_same_as_one_rank, exact
from mtd.course import MeasuredCost, lab, lamp, real_wires, training_contents
from mtd.course.layers import SquareLayer

BATCHES = (32, 16, 4, 32)
RATE = 2.0**-4
SIZES = (1, 2, 3, 5)


def told(grad):
    return None if grad is None else grad.tolist()


def shard_of(part, values):
    """This rank's part of a vector like `whole`."""
    length = len(part.shard)
    padded = [*values] + [0.0] * (dist.get_world_size() * length)
    return padded[dist.get_rank() * length :][:length]


def near(found, wanted):
    if found is None or wanted is None:
        return found is wanted
    return all(abs(a - b) <= 1e-6 * max(abs(b), 1) for a, b in zip(found, wanted, strict=True))


def held(unit):
    """Bytes of wholes."""
    return sum(part.whole.untyped_storage().nbytes() for part in unit.parts)


class Sums(nn.Module):
    """Its weights times x, added up: the gradient of each weight is x. Those that `uses` leaves out get none."""

    def __init__(self, count=3):
        super().__init__()
        self.weights = nn.ParameterList([torch.full((2,), n + 1.0) for n in range(count)])
        self.uses = range(count)

    def forward(self, x):
        return sum(self.weights[number] * x for number in self.uses)


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
        wanted, found = shard_of(part, [so_far * n for n in range(1, 7)]), told(part.shard.grad)
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
    module = Sums()
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
    optimizer = sharded.ZeroRedundancyOptimizer(model.parameters(), Adam, lr=RATE)
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
    optimizer = Adam(model.parameters(), lr=RATE)
    for batch in batches:
        exact.step(model, optimizer, batch, scale=1 / batch.samples)
    return model


# ------------------------------------------------------------------------------------------------ FSDP


class WithoutEnd(sharded.FullyShardedDataParallel):
    """So that the steps before `backward_ends` can be judged alone."""

    def backward_ends(self):
        pass


@lamp("forward")
def forward():
    """Every rank computes with rank 0's parameters, and nothing stays whole."""
    for size in SIZES:
        sim.run(evaluates, size)


def evaluates():
    layer = Sums()
    for weight in layer.weights:
        weight.data.mul_(dist.get_rank() + 1.0)
    unit = sharded.FullyShardedDataParallel(layer)
    for mode in (torch.no_grad(), torch.enable_grad()):
        with mode:
            found = unit(torch.ones(2)).tolist()
        grads = [told(part.shard.grad) for part in unit.parts]
        assert found == [6.0, 6.0] and not held(unit) and grads == [None] * 3, (
            f"{lab.ranks(dist.get_world_size())}: an evaluation gives {found}, expected 6 and 6. Afterwards {held(unit)} bytes are "
            f"whole, expected 0, and the shards' gradients are {grads}, expected None"
        )


@lamp("average")
def average():
    """Each shard has its part of the unit's gradients; the whole gradients and the parameters are gone."""
    for size in SIZES:
        sim.run(averages, size)


def averages():
    """The gradients are P (rank + 1); weight 1 is frozen."""
    size = dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    unit.parts[1].shard.requires_grad_(False)
    unit.gather()
    for number in (0, 2):
        unit.parts[number].window.grad = torch.full((2,), size * (dist.get_rank() + 1.0))
    unit.average()
    says(unit, [size * (size + 1) / 2, None, size * (size + 1) / 2], "after average(),")


def says(unit, values, when):
    """A unit has these gradients of weights of two numbers, and nothing is whole."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for number, (part, value) in enumerate(zip(unit.parts, values, strict=True)):
        wanted = None if value is None else shard_of(part, [value] * 2)
        found = told(part.shard.grad)
        assert near(found, wanted), (
            f"{lab.ranks(size)}, {when} shard.grad of weight {number} is {found} on rank {rank}, and its part of the "
            f"average is {wanted}"
        )
    whole = [told(part.window.grad) for part in unit.parts]
    assert not held(unit), (
        f"{lab.ranks(size)}, {when} {held(unit)} bytes are still whole, expected 0"
    )
    assert not any(whole), (
        f"{lab.ranks(size)}, {when} whole gradients are left: {whole}, expected None"
    )


@lamp("backward")
def backward():
    """Computed with the parameters of forward; several backwards add up, and a unit may be used twice in one forward."""
    for size in SIZES:
        sim.run(goes_back, size)


def goes_back():
    """The gradients are 1, 10 and 100 times P (rank + 1); then one of w·w·x."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = WithoutEnd(Sums())
    for tens in (1.0, 10.0, 100.0):
        x = torch.full((2,), tens * size * (rank + 1), requires_grad=True)
        unit(x).sum().backward()
        assert x.grad.tolist() == [6.0, 6.0], (
            f"{lab.ranks(size)}: after backward the gradient of rank {rank}'s input is {x.grad.tolist()}, expected 6 and 6. "
            "It was computed with memory that had been given back, or with other numbers than those of forward"
        )
        so_far = {1.0: 1, 10.0: 11, 100.0: 111}[tens] * size * (size + 1) / 2
        says(
            unit,
            [so_far] * 3,
            f"after backwards by 1, 10, 100 up to {tens:g}, times {size} (rank + 1),",
        )
    unit = WithoutEnd(Sums(1))
    unit(unit(torch.full((2,), size * (rank + 1.0)))).sum().backward()
    says(unit, [size * (size + 1.0)], "a unit that is used twice in one forward:")


@lamp("unused", star=2)
def unused():
    """A parameter that a rank does not need counts as 0 there, the rest is averaged, and nothing stays whole."""
    for size in SIZES:
        for alike in (True, False):
            sim.run(leaves_one_out, size, (alike,))


def leaves_one_out(alike):
    """All ranks leave out weight 1; or each rank another one."""
    size = dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    unused_by = [1 if alike else each % 3 for each in range(size)]
    unit.module.uses = [number for number in range(3) if number != unused_by[dist.get_rank()]]
    for _ in range(2):
        unit.zero_grad()
        unit(torch.ones(2) * 2).sum().backward()
        shares = [2 * sum(out != number for out in unused_by) / size for number in range(3)]
        says(unit, shares, f"where rank r does not use weight number {unused_by},")


@lamp("frozen", star=2)
def frozen():
    """A frozen parameter gets no gradient and does not move, beside trained ones and in a unit of its own; it may thaw."""
    for size in SIZES:
        sim.run(thaws, size)


def thaws():
    """Three units of three weights. Of the first, weight 0 is frozen, of the second, all; they thaw, and are frozen again."""
    rank, size = dist.get_rank(), dist.get_world_size()
    layers = [Sums() for _ in range(3)]
    for p in [layers[0].weights[0], *layers[1].weights]:
        p.requires_grad_(False)
    units = [sharded.FullyShardedDataParallel(layer) for layer in layers]
    frozen = [units[0].parts[0], *units[1].parts]
    for is_frozen in (True, False, True):
        for part in frozen:
            part.shard.requires_grad_(not is_frozen)
        for unit in units:
            unit.zero_grad()
        nn.Sequential(*units)(torch.full((2,), size * (rank + 1.0))).sum().backward()
        value = 36 * size * (size + 1) / 2
        for number, unit in enumerate(units):
            values = [None if is_frozen and part in frozen else value for part in unit.parts]
            some = "weight 0 of unit 0 and all of unit 1 are"
            says(
                unit,
                values,
                f"{some} {'frozen' if is_frozen else 'trained again'}: of unit {number}",
            )


@lamp("norm", star=2)
def norm():
    """The norm of all gradients, and not of a rank's shards."""
    for size in (*SIZES, 8):
        sim.run(clips, size)


def clips():
    """A gradient of 3 and one of -4, each in a few places, beside a parameter without any."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    for part, value in zip(unit.parts, (3.0, -4.0)):
        part.shard.grad = torch.tensor(shard_of(part, [value] * 2))
    found = sharded.clip_grad_norm_(unit.parameters(), 1.0)
    wanted = 50**0.5
    assert abs(found - wanted) < 1e-6, (
        f"{lab.ranks(size)} with shards of the gradients [3, 3] and [-4, -4]. Their norm is {found:g} by clip_grad_norm_ on rank "
        f"{rank}, and that of all together is {wanted:g}"
    )
    for part, value in zip(unit.parts, (3.0, -4.0)):
        clipped, due = told(part.shard.grad), shard_of(part, [value / wanted] * 2)
        assert near(clipped, due), (
            f"{lab.ranks(size)}, a norm of {wanted:g} clipped to 1: shard.grad of rank {rank} is {clipped}, expected {due}"
        )


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
        trained(model, Adam(model.parameters(), lr=RATE), shares)
        for unit in model:
            unit.gather()
        return [part.window.detach() for unit in model for part in unit.parts]

    return program


# ------------------------------------------------------------------------------------- what it costs

LAYERS, SIDE = 8, 24
LAYER = SIDE * SIDE * 8  # bytes


def built(way):
    """Layers on this rank's accelerator, units of them, the model, and Adam."""
    layers = [SquareLayer(SIDE).to("cuda") for _ in range(LAYERS)]
    units = [*map(sharded.FullyShardedDataParallel, layers)] if way == "FSDP" else layers
    model = nn.Sequential(*units)
    if way == "DDP":
        model = DistributedDataParallel(model, gradient_as_bucket_view=True)
    if way == "ZeRO":
        adam = sharded.ZeroRedundancyOptimizer(model.parameters(), Adam, lr=RATE)
    else:
        adam = Adam(model.parameters(), lr=RATE)
    return layers, units, model, adam


def step(model, adam):
    adam.zero_grad()
    model(torch.ones(1, SIDE, dtype=torch.float64, device="cuda")).sum().backward()
    adam.step()


def steps(count, way):
    _, _, model, adam = built(way)
    for _ in range(count):
        step(model, adam)
    dist.barrier()  # what is still being sent is still held
    return cuda.memory_allocated()


def run(size, way, count=2, memory="1GB"):
    return sim.run(steps, size, (count, way), memory=memory)


def room(size):
    """Parameters, gradients and Adam's two in shards. One layer's parameters whole, and its gradient three times: as it is
    computed, as it is added up, and in one vector."""
    return 4 * LAYERS * LAYER / size + 4 * LAYER


@lamp("memory")
def memory():
    """After a step of ZeRO: parameters and gradients whole, Adam's two numbers in shards. At the peak of two steps of FSDP: shards
    of everything, one layer whole, and its gradient."""
    found = []
    for size in (2, 4):
        where = f"{size} ranks, {LAYERS} layers of {LAYER} bytes"
        after, due = max(run(size, "ZeRO").results), (2 + 2 / size) * LAYERS * LAYER
        found.append(MeasuredCost(after, due, 1.03, " bytes", f"{where}, after two steps of ZeRO"))
        peak = max(rank.peak_bytes for rank in run(size, "FSDP").ranks)
        where += ", at the peak of two steps of FSDP"
        found.append(MeasuredCost(peak, room(size), 1.03, " bytes", where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("fits", star=3)
def fits():
    """It trains where the library's DDP runs out of memory."""
    cap = int(1.03 * room(4))
    try:
        run(4, "DDP", memory=cap)
    except cuda.OutOfMemoryError:
        pass
    else:
        raise ValueError("DDP fits as well: this check is wrong")
    try:
        run(4, "FSDP", memory=cap)
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
    found = [cost_of_a_step(size, way) for size in (2, 4) for way in HALVES]
    return max(found, key=lambda cost: cost.ratio)


HALVES = {"ZeRO": 2, "FSDP": 3}


def cost_of_a_step(size, way):
    one, two = (run(size, way, count).ranks for count in (1, 2))
    sent = max(b.bytes_sent - a.bytes_sent for a, b in zip(one, two, strict=True))
    where = f"{size} ranks, a step of {way} with {LAYERS * LAYER} bytes of parameters"
    due = HALVES[way] * (size - 1) * LAYERS * LAYER / size
    return MeasuredCost(sent, due, unit=" bytes", where=where)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


def numbers_of_zero():
    """For each parameter, on one of 4 ranks; to two digits."""
    return round(max(run(4, "ZeRO").results) / (LAYERS * LAYER), 2)


def percent_more_than_ddp():
    return 100 * (cost_of_a_step(4, "FSDP").found / (2 * 3 / 4 * LAYERS * LAYER) - 1)


def layers_at_the_peak():
    """Of parameters alone, on each of 4 ranks: a forward without gradients."""

    def program():
        _, _, model, _ = built("FSDP")
        dist.barrier()  # nothing of the first broadcasts is held any more
        cuda.reset_peak_memory_stats()
        with torch.no_grad():
            model(torch.ones(1, SIDE, dtype=torch.float64, device="cuda"))
        return cuda.max_memory_allocated() / LAYER

    return round(
        max(sim.run(program, 4, memory="1GB").results)
    )  # the activation is a small part of a layer


def held_during_a_step(way):
    """Bytes on one of 4 ranks in a second step: before each layer and within it, in forward and in backward."""

    def program():
        layers, units, model, adam = built(way)
        held = []

        def look(*_):
            held.append(cuda.memory_allocated())

        def between(module, inputs, output):
            output.register_hook(look)  # called as its turn comes, before the unit's own
            look()

        for unit, layer in zip(units, layers, strict=True):
            layer.register_forward_hook(between)
            unit.register_forward_pre_hook(look)
            layer.weight.register_hook(look)
        for _ in range(2):
            held.clear()
            step(model, adam)
        return list(held)

    return sim.run(program, 4, memory="1GB").results[0]


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
    ddp, fsdp = held_during_a_step("DDP"), held_during_a_step("FSDP")
    lines = [
        f"4 ranks, {LAYERS} layers, Adam: what one rank holds in a step, counted in layers",
        "",
    ]
    for level in (4 * LAYERS, None, *range(12, 0, -1)):
        if level is None:
            lines.append("   :")
            continue
        edge = (level - 0.5) * LAYER
        bars = (
            "▓▓" if mine >= edge else "░░" if other >= edge else "  "
            for mine, other in zip(fsdp, ddp, strict=True)
        )
        lines.append(f"{level:>4} {''.join(bars)}".rstrip())
    turns = [f"f{number}" for number in range(LAYERS)] + [
        f"b{number}" for number in reversed(range(LAYERS))
    ]
    lines.append("     " + "".join(f"{turn:4}" for turn in turns).rstrip())
    about = "▓ your FSDP   ░ DDP   f: before a layer and in it, forward   b: backward"
    return "\n".join([*lines, "", about])
