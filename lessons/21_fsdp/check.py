"""Lesson 21: trains as one rank does, bit for bit, where a rank holds a P-th and one layer more."""

from collections import Counter

import sharded
from replicas import loss

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import Adam
from minitorch_dist.testing import check_same_as_one_rank, exact
from mtd.course import MeasuredCost, lab, lamp, real_wires, training_contents
from mtd.course.layers import SquareLayer

BATCHES = (32, 16, 4, 32)
RATE = 2.0**-4


@lamp("correct")
def right():
    """First each part alone; then 1 to 6 ranks, as one unit and as two, with Adam, end with the weights of one rank, bit for bit."""
    lengths()
    for size in (1, 2, 3, 5):
        sim.run(gathers, size)
        sim.run(averages, size)
    for units in (1, 2):
        try:
            check_same_as_one_rank(train(units), batches=BATCHES, alone=alone)
        except AssertionError as error:
            raise AssertionError(f"{units} unit{'s' * (units > 1)}: {error}") from None


def lengths():
    for count, size, wanted in (
        (12, 3, 4),
        (10, 3, 4),
        (10, 4, 3),
        (2, 5, 1),
        (6, 5, 2),
        (7, 1, 7),
    ):
        found = sharded.shard_length(count, size)
        assert found == wanted, (
            f"{count} numbers on {size} ranks: shards of {found}, expected {wanted}"
        )


def gathers():
    """After gather each rank has rank 0's first values, whatever it began with."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = nn.Linear(2, 3)
    for first, p in ((1, module.weight), (7, module.bias)):
        p.data.copy_(
            torch.arange(float(first), float(first + p.numel())).view(p.shape) + 100 * rank
        )
    unit = sharded.FullyShardedDataParallel(module)
    unit.gather()
    found = [
        value for window in (module.weight, module.bias) for value in window.flatten().tolist()
    ]
    assert found == [*range(1, 10)], (
        f"{size} ranks: after gather rank {rank}'s parameters are {found}, and rank 0's were 1 to 9"
    )
    unit.free()


def averages():
    """Rank r's gradients are P (r + 1), twice; after backward a rank has its shard, and its part of the average."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(nn.Linear(2, 3))
    for step in range(2):
        unit.zero_grad()
        x = torch.full((1, 2), rank + 1.0, requires_grad=True)
        (size * unit(x).sum()).backward()
        assert not x.grad.isnan().any(), (
            f"{size} ranks: after backward {step + 1} the gradient of rank {rank}'s input is {x.grad.tolist()}: "
            "it was computed with parameters whose memory had been given back"
        )
        length, wanted = len(unit.shard), size * (size + 1) / 2
        expected = (
            [wanted] * 6 + [1.0 * size] * 3 + [0.0] * size * length
        )  # the weight, the bias, padding
        expected = expected[rank * length : (rank + 1) * length]
        found = None if unit.shard.grad is None else unit.shard.grad.tolist()
        assert found == expected, (
            f"{lab.ranks(size)} with gradients of {size} to {size * size} in the weight and {size} in the bias. After backward {step + 1} "
            f"shard.grad of rank {rank} is {found}, and its part of the average is {expected}"
        )


# ------------------------------------------------------------- backwards that are not like all others


class Sums(nn.Module):
    """Its weights times x, added up: the gradient of each weight is x. Those that `uses` leaves out get none."""

    def __init__(self, count=3):
        super().__init__()
        self.weights = nn.ParameterList([torch.full((2,), n + 1.0) for n in range(count)])
        self.uses = range(count)

    def forward(self, x):
        return sum(self.weights[number] * x for number in self.uses)


def shard_of(unit, values):
    """This rank's part of a vector like `whole`."""
    length = len(unit.shard)
    padded = [*values] + [0.0] * (dist.get_world_size() * length)
    return padded[dist.get_rank() * length :][:length]


def told(grad):
    return None if grad is None else grad.tolist()


def held(unit):
    return unit.whole.untyped_storage().nbytes()


@lamp("accumulates", star=2)
def accumulates():
    """Backwards add up until somebody clears the gradient, and a module may be used twice in one forward."""
    for size in (1, 2, 3, 5):
        sim.run(in_three_pieces, size)
        sim.run(used_twice, size)


def in_three_pieces():
    """Gradients of 1, 10 and 100; then cleared to None, or to zeros, and once more."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    for to_none in (None, True, False):
        if to_none is not None:
            unit.zero_grad(set_to_none=to_none)
        for tens in (1.0, 10.0, 100.0):
            unit(torch.full((2,), tens * size * (rank + 1))).sum().backward()
        found, wanted = told(unit.shard.grad), shard_of(unit, [111 * size * (size + 1) / 2] * 6)
        assert found == wanted, (
            f"{lab.ranks(size)}. The gradients of three backwards are 1, 10 and 100, times {size} (rank + 1). Here shard.grad of rank "
            f"{rank} is {found}, and its part of the averages' sum is {wanted}"
        )


def used_twice():
    """x goes through the same unit twice: the gradient of w is that of w·w·x."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums(1))
    unit(unit(torch.full((2,), size * (rank + 1.0)))).sum().backward()
    found, wanted = told(unit.shard.grad), shard_of(unit, [size * (size + 1.0)] * 2)
    assert found == wanted and not held(unit), (
        f"{lab.ranks(size)}, a unit that is used twice in one forward: shard.grad of rank {rank} is {found}, and its "
        f"part of the average is {wanted}; {held(unit)} bytes are still whole"
    )


@lamp("unused", star=2)
def unused():
    """A parameter that a step does not need has a gradient of 0, the rest is averaged, and nothing stays whole."""
    for size in (1, 2, 3, 5):
        for alike in (True, False):
            sim.run(leaves_one_out, size, (alike,))
        sim.run(evaluates, size)


def leaves_one_out(alike):
    """All ranks leave out weight 1; or each rank another one."""
    rank, size = dist.get_rank(), dist.get_world_size()
    unit = sharded.FullyShardedDataParallel(Sums())
    unused_by = [1 if alike else each % 3 for each in range(size)]
    unit.module.uses = [number for number in range(3) if number != unused_by[rank]]
    for step in range(2):
        unit.zero_grad()
        unit(torch.ones(2) * 2).sum().backward()
        shares = [2 * sum(out != number for out in unused_by) / size for number in range(3)]
        wanted = shard_of(unit, [share for share in shares for _ in range(2)])
        found = told(unit.shard.grad)
        is_right = found is not None and all(abs(a - b) < 1e-6 for a, b in zip(found, wanted))
        assert is_right and not held(unit), (
            f"{lab.ranks(size)}, of a unit's three weights rank r does not use number {unused_by}. After backward "
            f"{step + 1} shard.grad of rank {rank} is {found}, and its part of the average is {wanted}; "
            f"{held(unit)} bytes are still whole, expected 0"
        )


def evaluates():
    """A forward without gradients, and one without a backward, leave nothing whole."""
    unit = sharded.FullyShardedDataParallel(Sums())
    for mode in (torch.no_grad(), torch.enable_grad()):
        with mode:
            found = unit(torch.ones(2)).tolist()
        assert found == [6.0, 6.0] and not held(unit) and unit.shard.grad is None, (
            f"an evaluation gives {found}, expected 6 and 6; afterwards {held(unit)} bytes are whole, and "
            f"shard.grad is {told(unit.shard.grad)}, expected None"
        )


@lamp("frozen units", star=2)
def frozen():
    """A frozen unit gets no gradient and hands on that of its input; it may thaw between two steps."""
    for size in (1, 2, 3, 5):
        sim.run(thaws, size)


def thaws():
    """Three units of one weight; the middle one is frozen, then trained, then frozen again."""
    rank, size = dist.get_rank(), dist.get_world_size()
    layers = [Sums(1) for _ in range(3)]
    for p in layers[1].parameters():
        p.data *= 4
        p.requires_grad_(False)
    units = [sharded.FullyShardedDataParallel(layer) for layer in layers]
    for is_frozen in (True, False, True):
        units[1].shard.requires_grad_(not is_frozen)
        for unit in units:
            unit.zero_grad()
        nn.Sequential(*units)(torch.full((2,), size * (rank + 1.0))).sum().backward()
        for number, unit in enumerate(units):
            value = size * (size + 1) / 2 * (1 if number == 1 else 4)
            wanted = None if number == 1 and is_frozen else shard_of(unit, [value] * 2)
            found = told(unit.shard.grad)
            assert found == wanted and not held(unit), (
                f"{lab.ranks(size)}, three units, and number 1 is {'frozen' if is_frozen else 'trained again'}: "
                f"shard.grad of unit {number} is {found} on rank {rank}, expected {wanted}; {held(unit)} bytes are "
                "still whole, expected 0"
            )


class Hidden(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.w, self.b = model.w1, model.b1

    def forward(self, x):
        return (x @ self.w + self.b).relu()


class Output(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.w, self.b = model.w2, model.b2

    def forward(self, hidden):
        return hidden @ self.w + self.b


def train(units):
    def program(shares):
        whole = exact.Model(seed=1 + dist.get_rank())
        layers = [whole] if units == 1 else [Hidden(whole), Output(whole)]
        model = nn.Sequential(*[sharded.FullyShardedDataParallel(layer) for layer in layers])
        optimizer = Adam(model.parameters(), lr=RATE)
        for share, total in zip(shares, BATCHES, strict=True):
            optimizer.zero_grad()
            loss(model(share.x), share.y, total).backward()
            optimizer.step()
            exact.snap(model.parameters())
        for unit in model:
            unit.gather()
        return [window.detach() for unit in model for window in unit.windows]

    return program


def alone(batches):
    model = exact.Model()
    optimizer = Adam(model.parameters(), lr=RATE)
    for batch in batches:
        exact.step(model, optimizer, batch, scale=1 / batch.samples)
    return model


# ------------------------------------------------------------------------------------- what it costs

LAYERS, SIDE = 8, 24
LAYER = SIDE * SIDE * 8  # bytes


def steps(count, wrap):
    """Train a deep model on this rank's accelerator."""
    layers = [
        wrap(SquareLayer(SIDE).to("cuda")) for _ in range(LAYERS)
    ]  # each is divided before the next is made
    model = nn.Sequential(*layers)
    optimizer = Adam(model.parameters(), lr=RATE)
    x = torch.ones(1, SIDE, dtype=torch.float64, device="cuda")
    for _ in range(count):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def with_ddp(count):
    model = DistributedDataParallel(
        nn.Sequential(*[SquareLayer(SIDE) for _ in range(LAYERS)]).to("cuda"),
        gradient_as_bucket_view=True,
    )
    optimizer = Adam(model.parameters(), lr=RATE)
    for _ in range(count):
        model(torch.ones(1, SIDE, dtype=torch.float64, device="cuda")).sum().backward()
        optimizer.step()


def room(size):
    """Parameters, gradients and Adam's two in shards. One layer's parameters whole, and its gradient three times: as it is
    computed, as it is added up, and in one vector."""
    return 4 * LAYERS * LAYER / size + 4 * LAYER


@lamp("memory")
def memory():
    """The peak of two steps: shards of everything, one layer whole, and its gradient; activations are small here."""
    found = []
    for size in (2, 4):
        peak = max(
            rank.peak_bytes
            for rank in sim.run(
                steps, size, (2, sharded.FullyShardedDataParallel), memory="1GB"
            ).ranks
        )
        where = (
            f"{size} ranks, {LAYERS} layers of {LAYER} bytes, at the peak of two steps with Adam"
        )
        found.append(MeasuredCost(peak, room(size), 1.03, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("fits", star=3)
def fits():
    """It trains where the library's DDP runs out of memory."""
    cap = int(1.03 * room(4))
    try:
        sim.run(with_ddp, 4, (2,), memory=cap)
    except cuda.OutOfMemoryError:
        pass
    else:
        raise ValueError("DDP fits as well: this check is wrong")
    try:
        sim.run(steps, 4, (2, sharded.FullyShardedDataParallel), memory=cap)
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
    """Each rank sends 3 (P-1)/P of the model: gathered twice, and its gradients summed up once."""
    return max(map(cost_of_a_step, (2, 4)), key=lambda cost: cost.ratio)


def cost_of_a_step(size):
    one, two = (
        sim.run(steps, size, (count, sharded.FullyShardedDataParallel), memory="1GB").ranks
        for count in (1, 2)
    )
    sent = max(b.bytes_sent - a.bytes_sent for a, b in zip(one, two, strict=True))
    where = f"{size} ranks, a step with {LAYERS * LAYER} bytes of parameters"
    return MeasuredCost(sent, 3 * (size - 1) * LAYERS * LAYER / size, unit=" bytes", where=where)


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


def percent_more_than_ddp():
    return 100 * (cost_of_a_step(4).found / (2 * 3 / 4 * LAYERS * LAYER) - 1)


def layers_at_the_peak():
    """Of parameters alone, on each of 4 ranks: a forward without gradients."""

    def program():
        model = nn.Sequential(
            *[sharded.FullyShardedDataParallel(SquareLayer(SIDE).to("cuda")) for _ in range(LAYERS)]
        )
        dist.barrier()  # nothing of the first broadcasts is held any more
        cuda.reset_peak_memory_stats()
        with torch.no_grad():
            model(torch.ones(1, SIDE, dtype=torch.float64, device="cuda"))
        return cuda.max_memory_allocated() / LAYER

    return round(
        max(sim.run(program, 4, memory="1GB").results)
    )  # the activation is a small part of a layer


def held_during_a_step(whole, unit):
    """Bytes on one of 4 ranks in a second step: before each layer and within it, in forward and in backward."""

    def program():
        layers = [SquareLayer(SIDE).to("cuda") for _ in range(LAYERS)]
        held = []

        def look(*_):
            held.append(cuda.memory_allocated())

        def between(module, inputs, output):
            output.register_hook(look)  # called as its turn comes, before the unit's own
            look()

        for layer in layers:
            layer.register_forward_hook(between)
        units = [unit(layer) for layer in layers]
        for each, layer in zip(units, layers, strict=True):
            each.register_forward_pre_hook(look)
            layer.weight.register_hook(look)
        model = whole(nn.Sequential(*units))
        optimizer = Adam(model.parameters(), lr=RATE)
        for _ in range(2):
            held.clear()
            optimizer.zero_grad()
            model(torch.ones(1, SIDE, dtype=torch.float64, device="cuda")).sum().backward()
            optimizer.step()
        return list(held)

    return sim.run(program, 4, memory="1GB").results[0]


def contents():
    """Two units of three ranks: gathered, freed, gathered again, reduced. Two steps, where only the second goes wrong."""
    grids = [
        training_contents.shards(sharded.FullyShardedDataParallel, steps=steps) for steps in (1, 2)
    ]
    return next((grid for grid in grids if grid.words()), grids[0])


def picture():
    """The memory of a step: yours before the library's DDP, on one axis."""
    ddp = held_during_a_step(
        lambda model: DistributedDataParallel(model, gradient_as_bucket_view=True),
        lambda layer: layer,
    )
    fsdp = held_during_a_step(lambda model: model, sharded.FullyShardedDataParallel)
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
    return "\n".join(
        [
            *lines,
            "",
            "▓ your FSDP   ░ DDP   f: before a layer and in it, forward   b: backward",
        ]
    )
