"""Training the digits, on one rank or on many, whole or in parts; all ends with the same weights.

train       DDP with buckets that overlap with backward (19; or 17, 18), and a checkpoint after each step (29)
zero        each rank keeps a part of the optimizer's memory (21)
fsdp        … of the gradients, and of the parameters (21)
pipeline    … or some of the layers; micro-batches go through them in the order of lesson 27 (or 26, 34)
tensor      … or some columns and rows of each layer, and its rows of each batch between them (31)
experts     another model: twelve small layers, of which each picture visits two; ranks share them out (32)
"""

import os
import signal

import numpy as np

from .. import (
    buckets,
    cut,
    experts,
    generations,
    golden,
    one_f_one_b,
    overlap,
    replicas,
    sharded,
    stages,
    zero_bubble,
)
from . import distributed as dist, exact, nn, orders, processes, tensors

CAP = 0.004  # MiB of a bucket: small, so that there are several
MICROBATCHES = 4
EXPERTS = 12

DDP = {
    "17": replicas.DistributedDataParallel,
    "18": lambda module: buckets.DistributedDataParallel(module, CAP),
    "19": lambda module: overlap.DistributedDataParallel(module, CAP),
}


def steps(here, options, data, model, optimizer, begin=0):
    """Train on this rank's share of each batch. The caller gets the number of each step that is done."""
    for step in range(begin, options["steps"]):
        mine = exact.batch(data, step).share(here.rank, here.size)
        optimizer.zero_grad()
        (exact.loss(model(mine.x), mine.y) * here.size).backward()  # the ranks' mean is taken
        optimizer.step()
        yield step


def train(here, options):
    """Data parallel. Every rank begins with weights of its own, and takes rank 0's."""
    model, data = exact.Model(seed=1 + here.rank), exact.digits()
    shared = DDP[options["ddp"]](model)
    optimizer = golden.SGD(shared.parameters(), lr=exact.RATE, momentum=exact.MOMENTUM)
    found = here.store.load()
    begin = resume(model, optimizer, generations.Checkpoint(*found))
    for step in steps(here, options, data, shared, optimizer, begin):
        told(here, options, step, model, data)
        die(here, options, step)
        if here.rank == 0:
            state = [*exact.weights(model), *(velocity(optimizer, p) for p in model.parameters())]
            here.store.save(
                here.generation, step, np.concatenate([array.ravel() for array in state])
            )
    return exact.finished(model, data)


def velocity(optimizer, p):
    return optimizer.state[p]["momentum_buffer"].array


def resume(model, optimizer, checkpoint):
    """At which step to begin: the one after the checkpoint's, whose weights and velocities are taken over."""
    begin = generations.first_step(checkpoint)
    if begin > 0:
        parameters = model.parameters()
        held = tensors.Tensor(checkpoint.weights).split([p.numel() for p in parameters] * 2)
        for p, weights, speed in zip(parameters, held, held[len(parameters) :]):
            p.detach().copy_(weights.view_as(p))
            optimizer.state[p]["momentum_buffer"] = speed.view_as(p).clone()
    return begin


def told(here, options, step, model, data):
    if here.rank == 0 and (step + 1) % options["every"] == 0:
        with tensors.no_grad():
            now = exact.loss(model(data.x), data.y).item()
        processes.say(f"step {step + 1:>3}   loss {now:.6f}")


def die(here, options, step):
    """End this rank where --kill says so, in the first generation only."""
    if options["kill"] == [here.rank, step + 1] and here.generation == 1:
        os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)


def train_zero(here, options):
    model, data = exact.Model(seed=1 + here.rank), exact.digits()
    optimizer = sharded.ZeroRedundancyOptimizer(
        model.parameters(), golden.SGD, lr=exact.RATE, momentum=exact.MOMENTUM
    )
    for step in steps(here, options, data, model, optimizer):
        told(here, options, step, model, data)
    return exact.finished(model, data)


def train_fsdp(here, options):
    data, layers = exact.digits(), exact.layers(seed=1 + here.rank)
    units = [sharded.FullyShardedDataParallel(layer) for layer in (layers[0], layers[2])]
    model = nn.Sequential(units[0], layers[1], units[1])
    optimizer = golden.SGD(model.parameters(), lr=exact.RATE, momentum=exact.MOMENTUM)
    for _ in steps(here, options, data, model, optimizer):
        pass  # the weights are in parts, so there is no loss to tell
    whole = exact.Model()
    parameters = iter(whole.parameters())
    for unit in units:
        unit.gather()
        for part in unit.parts:
            next(parameters).detach().copy_(part.window.detach())
    return exact.finished(whole, data)


ORDERS = {
    "26": (stages.gpipe, stages.Stage),
    "27": (one_f_one_b.one_forward_one_backward, one_f_one_b.Stage),
    "34": (zero_bubble.zero_bubble, zero_bubble.Stage),
}


class Late(zero_bubble.Product):
    """A layer of the digits, whose weight's gradient is computed later than that of its input."""

    def __init__(self, whole):
        super().__init__(nn.Parameter(whole.weight.detach().T.clone()))
        self.bias = whole.bias  # trained as it is
        self.__dict__["whole"] = whole  # whose weight takes the result: no module of this one

    def forward(self, x):
        product = zero_bubble.Later.apply(x, exact.rounded(self.weight), self)
        return product + exact.rounded(self.bias)


def train_pipeline(here, options):
    """Ranks beyond the third have no layer, and hand on what they get."""
    data, model = exact.digits(), exact.Model()
    layers = list(model._modules.values())
    places = [number * min(here.size, 3) // 3 for number in range(3)]
    mine = [layer for layer, place in zip(layers, places) if place == here.rank]
    inputs = [64, exact.HIDDEN, exact.HIDDEN, 10]
    columns = inputs[sum(place < here.rank for place in places)]
    if options["schedule"] == "34":
        mine = [layer if isinstance(layer, nn.ReLU) else Late(layer) for layer in mine]
    schedule, Stage = ORDERS[options["schedule"]]
    stage = Stage(nn.Sequential(*mine), columns)
    order = schedule(here.rank, orders.Pipe(here.size, MICROBATCHES))
    optimizer = golden.SGD(stage.layers.parameters(), lr=exact.RATE, momentum=exact.MOMENTUM)
    for step in range(options["steps"]):
        pieces = [exact.batch(data, step).share(k, MICROBATCHES) for k in range(MICROBATCHES)]
        optimizer.zero_grad()
        stage.step(order, pieces, exact.loss)
        optimizer.step()
    for layer in mine:
        if isinstance(layer, Late):
            layer.whole.weight.detach().copy_(layer.weight.detach().T)
    for layer, place in zip(layers, places):
        for p in layer.parameters():
            dist.broadcast(p.detach(), src=place)
    return exact.finished(model, data)


class Columns(cut.Columns):
    def forward(self, x):
        return x @ exact.rounded(self.weight).T + exact.rounded(self.bias)


class Rows(cut.Rows):
    def forward(self, x):
        return x @ exact.rounded(self.weight).T


class CutModel(cut.MLP):
    """The model of the digits, whose layers round their weights."""

    def shared(self, p):
        return super().shared(exact.rounded(p))


def train_tensor(here, options):
    """Each rank has its columns and rows of the layers, and reads its share of each batch in between."""
    data, (first, _, second) = exact.digits(), exact.layers()
    model = CutModel(Columns(first), Rows(second), in_rows=True)
    optimizer = golden.SGD(model.parameters(), lr=exact.RATE, momentum=exact.MOMENTUM)
    for step in range(options["steps"]):
        mine = exact.batch(data, step).share(here.rank, here.size)
        optimizer.zero_grad()
        exact.loss(model(mine.x), mine.y).backward()
        optimizer.step()
    whole, mine = exact.Model(), [p.detach() for p in model.parameters()]
    weights = [
        cut.all_rows(mine[0]),
        cut.all_rows(mine[1]),
        cut.all_rows(mine[2].T.contiguous()).T,
        mine[3],
    ]
    for p, found in zip(whole.parameters(), weights):
        p.detach().copy_(found)
    return exact.finished(whole, data)


class Layers(experts.Experts):
    """Experts whose router rounds its weights, as their own layers do."""

    def scores(self, x):
        return x @ cut.Enter.apply(exact.rounded(self.router)).T


def sixteenths(scores):
    """Weights from 0 to 2. Their gradient is handed on as if nothing had been rounded."""
    near = np.clip(np.rint(scores.array * 16) / 16, 0, 2)
    return scores + tensors.Tensor(near - scores.array)


def train_experts(here, options):
    """Every rank has its share of each batch, and its share of the experts."""
    data, whole = exact.digits(), [exact.layers(10, seed)[0] for seed in range(EXPERTS)]
    router = exact.layers(EXPERTS, seed=99)[0].weight
    model = Layers(router, whole, 2, float(EXPERTS), sixteenths)
    optimizer = golden.SGD(model.parameters(), lr=exact.RATE, momentum=exact.MOMENTUM)
    for step in range(options["steps"]):
        mine = exact.batch(data, step).share(here.rank, here.size)
        optimizer.zero_grad()
        exact.loss(model(mine.x), mine.y).backward()
        optimizer.step()
    held = [exact.weights(layer) for layer in model.experts]
    every = [cut.all_rows(tensors.Tensor(np.stack(some))).array for some in zip(*held)]
    return exact.finished(model, data) | {"digest": exact.digest([model.router.array, *every])}


PROGRAMS = {
    "train": train,
    "zero": train_zero,
    "fsdp": train_fsdp,
    "pipeline": train_pipeline,
    "tensor": train_tensor,
    "experts": train_experts,
}
