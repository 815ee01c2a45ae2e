"""The same layers on one accelerator and on many: memory, bytes and time of a step."""

import sharded

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import Adam
from mtd.course import MeasuredCost
from mtd.course.layers import SquareLayer

RATE = 2.0**-4

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


HALVES = {"ZeRO": 2, "FSDP": 3}


def cost_of_a_step(size, way):
    one, two = (run(size, way, count).ranks for count in (1, 2))
    sent = max(b.bytes_sent - a.bytes_sent for a, b in zip(one, two, strict=True))
    where = f"{size} ranks, a step of {way} with {LAYERS * LAYER} bytes of parameters"
    due = HALVES[way] * (size - 1) * LAYERS * LAYER / size
    return MeasuredCost(sent, due, unit=" bytes", where=where)


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
