"""Lesson 18: one batch in pieces is one batch; gradients travel once, in few messages."""

import math

import buckets

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.optim import SGD
from minitorch_dist.testing import check_same_as_one_rank, exact
from minitorch_dist.testing.costs import ROUNDS
from mtd.course import MeasuredCost, lamp, training_contents

BATCHES = (32, 16, 32)  # powers of two, so that a mean is exact
CAPS = {"each gradient by itself": 0.0, "100 bytes": 100 / buckets.MIB, "25 MB": 25}


@lamp("assign")
def assignments():
    """Which parameters are in which bucket, for several caps and two types."""
    sizes = (3, 1, 4, 1, 5, 9, 2, 6)
    parameters = [torch.zeros(size, dtype=torch.float64) for size in sizes]
    for cap, wanted in {
        0: [[6], [2], [9], [5], [1], [4], [1], [3]],
        64: [[6, 2], [9], [5, 1, 4], [1, 3]],
        72: [[6, 2, 9], [5, 1, 4], [1, 3]],
        1000: [[6, 2, 9, 5, 1, 4, 1, 3]],
    }.items():
        found = [[p.numel() for p in bucket] for bucket in buckets.assign(parameters, cap)]
        assert found == wanted, (
            f"parameters of {', '.join(map(str, sizes))} numbers, 8 bytes each, in buckets of {cap} bytes: "
            f"yours hold {found}, expected {wanted}"
        )
    halves = [p.float() for p in parameters]
    found = [[p.numel() for p in bucket] for bucket in buckets.assign(halves, 32)]
    assert found == [[6, 2], [9], [5, 1, 4], [1, 3]], (
        f"the same numbers as float32, 4 bytes each, in buckets of 32 bytes: yours hold {found}"
    )
    assert buckets.assign([], 8) == [], "no parameters are no buckets"


@lamp("pack")
def packed():
    """One vector, zeros where a gradient is missing, and the type of the parameters."""
    for dtype in (torch.float32, torch.float64):
        for there in ((True, True, True), (True, False, True), (False, False, False)):
            bucket = [torch.zeros(shape, dtype=dtype) for shape in ((2, 2), (3,), ())]
            for p, number, is_there in zip(bucket, (1.0, 2.0, 3.0), there, strict=True):
                p.grad = torch.full_like(p, number) if is_there else None
            wanted = [1.0 * there[0]] * 4 + [2.0 * there[1]] * 3 + [3.0 * there[2]]
            flat = buckets.pack(bucket)
            assert flat.tolist() == wanted and flat.dtype == dtype, (
                f"a bucket's parameters are {dtype}, of shapes (2, 2), (3) and (), and their gradients "
                f"{', '.join(str(None if p.grad is None else p.grad.tolist()) for p in bucket)}: "
                f"pack gives {flat.tolist()}, which are {flat.dtype}, expected {wanted}"
            )


@lamp("average")
def averages():
    """After backward each rank has the average of all gradients, also of those that some rank lacks."""
    on_all(unused)


@lamp("pieces")
def adds_up():
    """The gradients of all pieces of a batch are added up, and then averaged."""
    on_all(in_pieces)


def on_all(part):
    for size in (1, 2, 3, 5):
        try:
            sim.run(part, size)
        except dist.DistError as error:
            raise AssertionError(f"{size} ranks, {part.__doc__}: {error}") from error


@lamp("correct")
def right():
    """1 to 6 ranks and 1 to 4 pieces end with the weights of one rank and one piece, bit for bit."""
    for count in range(1, 5):
        cap = list(CAPS)[count % len(CAPS)]
        try:
            check_same_as_one_rank(train(count, CAPS[cap]), batches=BATCHES, alone=alone)
        except AssertionError as error:
            raise AssertionError(
                f"each share in {count} pieces, buckets of {cap}: {error}"
            ) from None


def in_pieces():
    """each with 3 pieces of a batch"""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = buckets.DistributedDataParallel(nn.Linear(1, 1, bias=False))
    model.module.weight.data.zero_()
    optimizer = SGD(model.parameters(), lr=0.0)
    x = torch.ones(1, 1)
    pieces = [(x, -x * size * (rank + 1) * tens / 2) for tens in (1, 10, 100)]
    for number in range(2):
        buckets.step(model, optimizer, pieces, size)
        found, wanted = model.module.weight.grad.item(), 111 * size * (size + 1) / 2
        ranks = ", ".join(f"{111 * size * (each + 1)} on rank {each}" for each in range(size))
        assert found == wanted, (
            f"{size} ranks with 3 pieces each. Their gradients are 1, 10 and 100, times {size} (rank + 1) (together {ranks}). "
            f"After step {number + 1} p.grad is {found:g} on rank {rank}, and the average is {wanted:g}"
        )


class Choosing(nn.Module):
    """Rank r uses the first r + 1 of its weights only."""

    def __init__(self, count):
        super().__init__()
        self.weights = nn.ParameterList([torch.ones(2, dtype=torch.float64) for _ in range(count)])

    def forward(self, x):
        return sum(weight * x for weight in self.weights[: dist.get_rank() + 1])


def unused():
    """of which rank r does not use the weights after its first r + 1"""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = buckets.DistributedDataParallel(Choosing(size), bucket_cap_mb=0)
    model(torch.ones(2, dtype=torch.float64)).sum().backward()
    for number, weight in enumerate(model.module.weights):
        wanted = (size - number) / size
        found = "None" if weight.grad is None else f"{weight.grad[0].item():g}"
        assert weight.grad is not None and abs(weight.grad[0].item() - wanted) < 1e-6, (
            f"{size} ranks. Weight {number} has a gradient of 1 on ranks {number} to {size - 1}, and none on the others. "
            f"Rank {rank} has {found} after backward, and the average is {wanted:g}"
        )


def pieces_of(share, count):
    return [(piece.x, piece.y) for piece in share.shares(count)]


def train(count, cap):
    def program(shares):
        model = buckets.DistributedDataParallel(exact.Model(), bucket_cap_mb=cap)
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for share, total in zip(shares, BATCHES, strict=True):
            buckets.step(model, optimizer, pieces_of(share, count), total)
            exact.snap(model.parameters())
        return model.module

    return program


def alone(batches):
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in batches:
        exact.step(model, optimizer, batch, scale=1 / batch.samples)
    return model


# ------------------------------------------------------------------------------------- what it costs

LAYERS, SIDE = 6, 12  # of 12·12 float64 each


def steps(count, pieces, cap):
    """So many steps; the first begins with rank 0's values."""
    model = buckets.DistributedDataParallel(
        nn.Sequential(
            *[nn.Linear(SIDE, SIDE, bias=False, dtype=torch.float64) for _ in range(LAYERS)]
        ),
        bucket_cap_mb=cap,
    )
    optimizer = SGD(model.parameters(), lr=0.1)
    x = torch.ones(1, SIDE, dtype=torch.float64)
    for _ in range(count):
        buckets.step(model, optimizer, [(x, x)] * pieces, pieces * dist.get_world_size())


def a_step(size, pieces, cap, net=ROUNDS):
    """The cost of the second of two steps: bytes of the rank that sends most, and time."""
    one, two = (sim.run(steps, size, (count, pieces, cap), net=net) for count in (1, 2))
    sent = [max(rank.bytes_sent for rank in report.ranks) for report in (one, two)]
    return sent[1] - sent[0], two.time - one.time


def gradient_bytes():
    return LAYERS * SIDE * SIDE * 8


@lamp("bytes")
def bytes_of_a_step():
    """However many pieces a batch has, and however it is divided into buckets, each rank sends 2 (P-1)/P of the gradients."""
    found = [
        MeasuredCost(
            a_step(size, pieces, cap)[0], float(bounds.least_bytes("all_reduce", size, gradient_bytes())), unit=" bytes",
            where=f"{size} ranks, a step of {pieces} pieces with {gradient_bytes()} bytes of gradients",
        )
        for size, pieces, cap in ((2, 1, 25), (3, 4, 0), (4, 3, 25))
    ]  # fmt: skip
    return max(found, key=lambda cost: cost.ratio)


@lamp("rounds")
def rounds():
    """2 (P-1) messages follow each other for each *bucket*."""
    found = []
    for size, pieces, layers in ((2, 1, 1), (4, 3, 2), (4, 2, LAYERS)):
        cap = layers * SIDE * SIDE * 8 / buckets.MIB
        count = math.ceil(LAYERS / layers)
        where = f"{size} ranks, {count} bucket{'s' * (count > 1)}, a step of {pieces} pieces"
        found.append(
            MeasuredCost(
                a_step(size, pieces, cap)[1], 2 * (size - 1) * count, unit=" rounds", where=where
            )
        )
    return max(found, key=lambda cost: cost.ratio)


def rounds_one_by_one():
    return a_step(4, 1, 0)[1]


def percent_without_sync():
    """Of the bytes of averaging after each of 4 pieces."""
    return 100 * a_step(4, 4, 25)[0] / (4 * a_step(4, 1, 25)[0])


def contents():
    """Two pieces of a batch, four gradients in two buckets; the error of each sample is 1."""

    def wrap(model):
        return buckets.DistributedDataParallel(model, bucket_cap_mb=16 / buckets.MIB)

    def step(model, x):
        buckets.step(model, SGD(model.parameters(), lr=0.0), [(x, x - 1)] * 2, 6)

    return training_contents.gradients(wrap, step, pieces=2)


def picture():
    """Time of a step's rings, by the size of the buckets: latency, and what the bytes take."""
    lines = [
        f"4 ranks, {LAYERS} gradients of {SIDE * SIDE * 8} bytes, links of 20 us and 10 MB/s",
        "",
    ]
    lines += [f"{'bucket':>8}  {'rings':>5}  {'time':>6}", ""]
    for layers in (1, 2, 3, 6):
        cap, rings = layers * SIDE * SIDE * 8, math.ceil(LAYERS / layers)
        latency, whole = (
            a_step(4, 1, cap / buckets.MIB, net)[1] / 1e6
            for net in (sim.uniform("20us", "1000GB/s"), NET)
        )
        bars = "░" * round(latency / 40) + "▓" * round((whole - latency) / 40)
        lines.append(f"{cap:>6} B  {rings:>5}  {whole / 1000:>3.1f} ms  {bars}")
    return "\n".join(
        [*lines, "", "░ latency: 2(P-1) messages for each ring   ▓ bytes: the same for all"]
    )


NET = sim.uniform("20us", "10MB/s")
