"""Lesson 20: the same steps as one Adam, bit for bit, with a P-th of its memory, for the bytes of an all_reduce."""

import math

import replicas
import zero

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.cuda import ledger
from minitorch_dist.optim import SGD, Adam, AdamW
from minitorch_dist.testing import check_replicas_equal, check_same_as_one_rank, exact
from mtd.course import MeasuredCost, lamp, training_contents

BATCHES = (32, 16, 4, 32)
RATE = 2.0**-4


@lamp("correct")
def right():
    """First each part alone; then Adam on 1 to 6 ranks, stages 1 and 2, ends with the weights of one rank, bit for bit."""
    for size in (1, 2, 3, 5):
        sim.run(owners, size)
        sim.run(gradients, size)
        sim.run(values, size)
    for stage in (1, 2):
        try:
            check_same_as_one_rank(train(stage), batches=BATCHES, alone=alone)
        except AssertionError as error:
            raise AssertionError(f"stage {stage}: {error}") from None


class Mixed(nn.Module):
    """Twelve small vectors, and P-1 matrices of one row, each as large as all of them together."""

    def __init__(self, size, unit=1):
        super().__init__()
        shapes = [(unit,)] * 12 + [(1, 12 * unit)] * (size - 1)
        self.weights = nn.ParameterList([torch.full(shape, 1.0) for shape in shapes])

    def forward(self, x):
        return sum((number + 1) * (weight * x).sum() for number, weight in enumerate(self.weights))


def owners():
    """Each parameter in one list; all ranks with the same lists."""
    size = dist.get_world_size()
    parameters = list(Mixed(size).parameters())
    parts = zero.partition(parameters, size)
    assert len(parts) == size, f"{size} ranks: partition returned {len(parts)} lists"
    number = {id(p): n for n, p in enumerate(parameters)}
    found = [[number[id(p)] for p in part] for part in parts]
    held = sorted(n for part in found for n in part)
    assert sorted({*held}) == [*range(len(parameters))], (
        f"{size} ranks: {found}: a parameter of 0 to {len(parameters) - 1} has no owner"
    )
    every = [None] * size
    dist.all_gather_object(every, found)
    assert every == [found] * size, (
        f"{size} ranks: rank {dist.get_rank()} has the parts {found}, and others have {every}"
    )


def gradients():
    """Rank r's gradient of parameter k is P (r + 1)(k + 1)."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = Mixed(size)
    optimizer = zero.ZeroRedundancyOptimizer(module.parameters(), Adam, lr=RATE)
    model = zero.ShardedDataParallel(module, optimizer.owner)
    (model(torch.ones(1)) * (size * (rank + 1.0))).backward()
    for number, p in enumerate(module.parameters()):
        owner, wanted = optimizer.owner[p], (number + 1) * size * (size + 1) / 2
        found = None if p.grad is None else p.grad.flatten()[0].item()
        if rank == owner:
            assert found == wanted, (
                f"{size} ranks with gradients of {number + 1} times {size} (rank + 1): its owner, rank {rank}, has {found} "
                f"after backward, and the average is {wanted:g}"
            )


def values():
    """After each step all ranks have all new values."""
    module = Mixed(dist.get_world_size())
    optimizer = zero.ZeroRedundancyOptimizer(module.parameters(), Adam, lr=RATE)
    model = replicas.DistributedDataParallel(module)
    for step in range(2):
        optimizer.zero_grad()
        model(torch.ones(1)).backward()
        optimizer.step()
        try:
            check_replicas_equal(module)
        except AssertionError as error:
            raise AssertionError(
                f"{dist.get_world_size()} ranks, after step {step + 1}: {error}"
            ) from None


@lamp("norm", star=2)
def norm():
    """The norm of all gradients, and not of a rank's part, nor of every rank's: of stages 1 and 2, and of other powers."""
    for size in (1, 2, 3, 5, 8):
        for stage in (1, 2):
            for norm_type in (2.0, 1.0, math.inf):
                sim.run(clips, size, (stage, norm_type))


def clips(stage, norm_type):
    """A gradient has a 3 or a 4 in it, on its owner or on all ranks."""
    rank, size = dist.get_rank(), dist.get_world_size()
    parameters = list(Mixed(size).parameters())
    owner = zero.ZeroRedundancyOptimizer(parameters, Adam, lr=RATE).owner
    for number, p in enumerate(parameters):
        if stage == 1 or owner[p] == rank:
            p.grad = torch.zeros_like(p)
            p.grad.view(-1)[0] = (3.0, -4.0)[number % 2]
    values = [(3.0, 4.0)[number % 2] for number in range(len(parameters))]
    power = 1.0 if math.isinf(norm_type) else norm_type
    summed = sum(value**power for value in values) ** (1 / power)
    wanted = 4.0 if math.isinf(norm_type) else summed
    found = zero.clip_grad_norm_(parameters, 1.0, norm_type)
    where = f"stage {stage}, {size} rank{'s' * (size > 1)}, {len(parameters)} gradients with a 3 or a -4 in each"
    assert abs(found - wanted) < 1e-9, (
        f"{where}, {'each on its owner' if stage == 2 else 'all on every rank'}. The norm of type {norm_type:g} is "
        f"{found:g} by clip_grad_norm_ on rank {rank}, and that of all together is {wanted:g}"
    )
    for number, p in enumerate(parameters):
        clipped = None if p.grad is None else p.grad.abs().max().item()
        assert clipped is None or abs(clipped - values[number] / wanted) < 1e-6, (
            f"{where}, clipped to 1: gradient {number} is {clipped:g} on rank {rank}, expected {values[number] / wanted:g}"
        )


@lamp("accumulates", star=2)
def accumulates():
    """Averages of several backwards add up; a frozen parameter has no gradient and does not move."""
    for size in (1, 2, 3, 5):
        for stage in (1, 2):
            sim.run(in_three_pieces, size, (stage,))


def in_three_pieces(stage):
    """Gradients of 1, 10 and 100 times number + 1 and rank + 1. Weight 0 is frozen, thaws, and is frozen again."""
    rank, size = dist.get_rank(), dist.get_world_size()
    module = Mixed(size)
    parameters = list(module.parameters())
    parameters[0].requires_grad_(False)
    optimizer = zero.ZeroRedundancyOptimizer(parameters, AdamW, lr=RATE)
    wrapped = (
        replicas.DistributedDataParallel(module)
        if stage == 1
        else zero.ShardedDataParallel(module, optimizer.owner)
    )
    for is_frozen in (True, False, True):
        parameters[0].requires_grad_(not is_frozen)
        optimizer.zero_grad()
        for tens in (1.0, 10.0, 100.0):
            (wrapped(torch.ones(1)) * (tens * size * (rank + 1))).backward()
        for number, p in enumerate(parameters):
            has = stage == 1 or optimizer.owner[p] == rank
            is_trained = number > 0 or not is_frozen
            wanted = 111 * (number + 1) * size * (size + 1) / 2 if has and is_trained else None
            found = None if p.grad is None else p.grad.flatten()[0].item()
            assert found == wanted, (
                f"stage {stage}, {size} rank{'s' * (size > 1)}, three backwards. The gradients are 1, 10 and 100, times {size} "
                f"(rank + 1) and {number + 1}{'' if is_trained else '; the parameter is frozen'}. Rank {rank} has {found} in that of "
                f"parameter {number}, expected {wanted}"
            )
        before = parameters[0].tolist()
        optimizer.step()
        assert is_frozen == (parameters[0].tolist() == before), (
            f"stage {stage}: a step moved a frozen parameter, or did not move one that is trained again"
        )


def train(stage):
    def program(shares):
        module = exact.Model()
        optimizer = zero.ZeroRedundancyOptimizer(module.parameters(), Adam, lr=RATE)
        wrapped = {
            1: replicas.DistributedDataParallel,
            2: lambda module: zero.ShardedDataParallel(module, optimizer.owner),
        }
        model = wrapped[stage](module)
        for share, total in zip(shares, BATCHES, strict=True):
            optimizer.zero_grad()
            replicas.loss(model(share.x), share.y, total).backward()
            optimizer.step()
            exact.snap(module.parameters())
        return module

    return program


def alone(batches):
    model = exact.Model()
    optimizer = Adam(model.parameters(), lr=RATE)
    for batch in batches:
        exact.step(model, optimizer, batch, scale=1 / batch.samples)
    return model


# -------------------------------------------------------------------------------------- what it costs

UNIT = 256


def steps(count, stage):
    """The memory of a rank's accelerator after so many steps: bytes of parameters, gradients, and the optimizer's."""
    size = dist.get_world_size()
    module = Mixed(max(size, 2), UNIT).to("cuda")
    if stage:
        optimizer = zero.ZeroRedundancyOptimizer(module.parameters(), Adam, lr=RATE)
    else:
        optimizer = Adam(module.parameters(), lr=RATE)
    if stage == 2:
        model = zero.ShardedDataParallel(module, optimizer.owner)
    else:
        model = replicas.DistributedDataParallel(module)
    x = torch.ones(1, device="cuda")
    for _ in range(count):
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()
    dist.barrier()  # what is still being sent is still held
    held = ledger.snapshot("cuda").by_category
    return [held[name] for name in ("parameter", "gradient", "optimizer")]


def held(size, stage):
    """By rank."""
    return sim.run(steps, size, (1, stage), memory="1GB").results


@lamp("memory")
def memory():
    """Stage 2: gradients and Adam's memory of the rank that has most: a P-th of all (and a few bytes for counting steps)."""
    found = []
    for size in (2, 3, 5):
        whole = sum(p.nbytes for p in Mixed(size, UNIT).parameters())
        most = max(gradient + optimizer for _, gradient, optimizer in held(size, 2))
        where = f"{size} ranks, gradients and Adam's memory of {whole} bytes of parameters"
        found.append(MeasuredCost(most, 3 * whole / size, 1.02, unit=" bytes", where=where))
    return max(found, key=lambda cost: cost.ratio)


@lamp("bytes")
def bytes_of_a_step():
    """All ranks together send the parameters' bytes (P-1) times for the sums and (P-1) times for the new values; stage 1,
    which tells all ranks the sums, (P-1) times more."""
    found = [cost_of_a_step(size, stage) for size in (1, 2, 3, 5) for stage in (1, 2)]
    return max(found, key=lambda cost: cost.ratio)


def cost_of_a_step(size, stage):
    one, two = (sim.run(steps, size, (count, stage), memory="1GB").bytes_sent for count in (1, 2))
    whole = sum(p.nbytes for p in Mixed(max(size, 2), UNIT).parameters())
    where = f"stage {stage}, {size} ranks, all messages of a step with {whole} bytes of parameters"
    due = {1: 3, 2: 2}[stage] * (size - 1) * whole
    return MeasuredCost(two - one, due, unit=" bytes", where=where)


def numbers_plain():
    return numbers(0)


def numbers_of_stage_2():
    return numbers(2)


def numbers(stage):
    """For each parameter, on the rank of 4 that has most; to two digits."""
    return round(
        max(map(sum, held(4, stage))) / sum(p.nbytes for p in Mixed(4, UNIT).parameters()), 2
    )


def contents():
    """Three gradients of three ranks: each average on its owner, who steps for its weight and sends that to all."""

    def optimizer(parameters):
        return zero.ZeroRedundancyOptimizer(parameters, SGD, lr=1.0)

    return training_contents.owned(zero.ShardedDataParallel, optimizer)


def picture():
    """The memory of each of three ranks after a step, measured."""
    whole = sum(p.nbytes for p in Mixed(3, UNIT).parameters())
    lines = [f"3 ranks, {whole} bytes of parameters, Adam; after a step", ""]
    for stage in range(3):
        for rank, parts in enumerate(held(3, stage)):
            bar = "".join(
                mark * round(16 * part / whole) for mark, part in zip("▓▒░", parts, strict=True)
            )
            name = f"stage {stage}" if rank == 0 else ""
            lines.append(f"{name:8} rank {rank} {bar}")
        lines.append("")
    return "\n".join(
        [*lines, f"{'':15} ▓ parameters   ▒ gradients   ░ Adam's two; stage 0 is lesson 17"]
    )
