"""Lesson 19: the same gradients as before, whatever the network does, in the time of the longer of the two."""

from contextlib import suppress

import buckets
import overlap

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.optim import SGD
from minitorch_dist.testing import check_same_as_one_rank, exact
from mtd.course import MeasuredCost, lab, lamp, training_contents
from mtd.course.layers import SquareLayer

SIZES = (1, 2, 3, 5)
BATCHES = (32, 16, 32)
SLOW = sim.uniform("1ms", "100kB/s")


@lamp("order", star=3)
def order():
    """A bucket is launched as soon as it and all before it are full, and none overtakes another."""
    for arrivals in ((0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2), (2, 0, 3, 1), (1, 3, 2)):
        sim.run(launches, 1, (arrivals,))


def launches(arrivals):
    """One rank, four buckets of one gradient each, which arrive in this order; one may be missing."""
    model = Noting(Branches(4), bucket_cap_mb=0)
    model(torch.ones(4), [3 - bucket for bucket in reversed(arrivals)]).sum().backward()
    wanted, full = [[]], set()
    for bucket in arrivals:
        full.add(bucket)
        launched = sum(map(len, wanted))
        wanted.append([each for each in range(launched, 4) if full >= {*range(launched, each + 1)}])
    assert model.noted == wanted[1:], (
        f"buckets become full in the order {', '.join(map(str, arrivals))}. At these moments buckets {model.noted} are launched, "
        f"expected {wanted[1:]}"
    )


class Noting(overlap.DistributedDataParallel):
    """Notes for each gradient that arrives which buckets are launched then, while what follows may still be to be written."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        self.noted, self.is_over = [], False

    def arrived(self, number, p):
        self.noted.append([])
        super().arrived(number, p)

    def launch(self, bucket):
        if not self.is_over:
            self.noted[-1].append(next(n for n, each in enumerate(self.buckets) if each is bucket))
        try:
            super().launch(bucket)
        except NotImplementedError:
            self.sent.append((None, None))

    def reduce(self):
        self.is_over = True
        with suppress(NotImplementedError):
            super().reduce()


@lamp("launch", star=3)
def launch():
    """It returns at once, and the network sends the bucket's gradients while the program goes on."""
    for size in (2, 3):
        nbytes = 2 * 6 * 6 * 8
        sent = max(rank.bytes_sent for rank in sim.run(launched, size, (2,), net=SLOW).ranks)
        sent -= max(rank.bytes_sent for rank in sim.run(launched, size, (0,), net=SLOW).ranks)
        least = float(bounds.least_bytes("all_reduce", size, nbytes))
        assert sent >= least, (
            f"{size} ranks: two buckets of {nbytes // 2} bytes were launched. A second later {sent} bytes have been sent, and "
            f"an all_reduce of both sends {least:g}"
        )


def launched(count):
    layers = [nn.Linear(6, 6, bias=False, dtype=torch.float64) for _ in range(2)]
    model = overlap.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=0)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    model.sent = []
    dist.barrier()
    for number, bucket in enumerate(model.buckets[:count]):
        begun = sim.now()
        model.launch(bucket)
        assert sim.now() == begun, (
            f"{dist.get_world_size()} ranks on a slow network: launch of bucket {number} returns after "
            f"{1000 * (sim.now() - begun):g} ms, expected at once"
        )
    sim.compute("1s")


@lamp("average")
def average():
    """When backward returns, all gradients are the ranks' averages, even where no bucket left before its end."""
    for size in SIZES:
        sim.run(slowly, size, (AtTheEnd,), net=SLOW)


class AtTheEnd(overlap.DistributedDataParallel):
    """Launches nothing while gradients arrive."""

    def arrived(self, number, p):
        pass


@lamp("correct")
def right():
    """1 to 6 ranks, each share in 1 or 3 pieces, end with the weights of one rank, bit for bit."""
    for size in SIZES:
        sim.run(averages, size)
        sim.run(keeps_nothing, size, memory="1MB")
    for count in (1, 3):
        check_same_as_one_rank(train(count), batches=BATCHES, alone=alone)


def train(count):
    def program(shares):
        model = overlap.DistributedDataParallel(exact.Model(), bucket_cap_mb=100 / buckets.MIB)
        optimizer = SGD(model.parameters(), lr=exact.RATE)
        for share, total in zip(shares, BATCHES, strict=True):
            pieces = [(piece.x, piece.y) for piece in share.shares(count)]
            buckets.step(model, optimizer, pieces, total)
            exact.snap(model.parameters())
        return model.module

    return program


def alone(batches):
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in batches:
        exact.step(model, optimizer, batch, scale=1 / batch.samples)
    return model


class Branches(nn.Module):
    """Each rank computes its branches in another order, and leaves out one that the next one does not."""

    def __init__(self, count):
        super().__init__()
        self.weights = nn.ParameterList([torch.ones(4) for _ in range(count)])

    def forward(self, x, order):
        return sum(self.weights[number] * x * (number + 1) for number in order)


def averages():
    """Rank r's branches come in turned order, without branch r; known averages after each of 2 steps."""
    rank, size = dist.get_rank(), dist.get_world_size()
    count = 5
    order = [(rank + turn) % count for turn in range(1, count)]
    model = overlap.DistributedDataParallel(Branches(count), bucket_cap_mb=0)
    for step in range(2):
        model.zero_grad()
        model(torch.full((4,), rank + 1.0), order).sum().backward()
        for number, weight in enumerate(model.module.weights):
            wanted = (
                sum((each + 1.0) * (number + 1) for each in range(size) if each != number) / size
            )
            found = None if weight.grad is None else weight.grad[0].item()
            assert found is not None and abs(found - wanted) < 1e-5, (
                f"{size} ranks whose gradients arrive in different orders (here that of weight "
                f"{', '.join(map(str, reversed(order)))}; {rank} is not used): after backward {step + 1} rank {rank} has "
                f"{found} in weight {number}'s gradient, and the average is {wanted:g}"
            )


def keeps_nothing():
    """After each of 3 steps the accelerator holds the parameters and one vector of gradients for each bucket."""
    rank, size = dist.get_rank(), dist.get_world_size()
    layers = [nn.Linear(8, 8, bias=False).to("cuda") for _ in range(4)]
    model = overlap.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=0)
    for step in range(3):
        model.zero_grad()
        model(torch.ones(1, 8, device="cuda")).sum().backward()
        found, wanted = cuda.memory_allocated(), 2 * 4 * 8 * 8 * 4
        assert found <= wanted, (
            f"{lab.ranks(size)}: after backward {step + 1} rank {rank} holds {found} bytes, and its parameters and gradients "
            f"have {wanted}. What keeps the rest alive?"
        )


@lamp("never stuck")
def any_schedule():
    """Messages late, in any order, sends that wait: 12 seeds, and the averages are the same."""
    for seed in range(12):
        try:
            sim.run(averages, 3, seed=seed, hardships="ojrw")
        except dist.DistError as error:
            raise AssertionError(f"3 ranks, seed {seed}: {error}") from error


@lamp("frozen")
def frozen():
    """On a slow network: what was launched is left alone until its wait has returned, and nothing is read before."""
    for size in (2, 3):
        sim.run(slowly, size, (overlap.DistributedDataParallel,), net=SLOW)


def slowly(wrapper):
    """Layer k's gradient is that of all ranks, while 3 buckets are under way."""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = wrapper(
        nn.Sequential(*[SquareLayer(4, "0s", "1ms") for _ in range(4)]), bucket_cap_mb=0
    )
    for number, layer in enumerate(model.module):
        layer.weight.data.fill_(2.0**-2 * (number + 1))
    model(torch.full((1, 4), rank + 1.0, dtype=torch.float64)).sum().backward()
    for number, layer in enumerate(model.module):
        wanted = 24 / (number + 1) * (size + 1) / 2  # of all: x · 4! · (1/4)³ · 4³ / (k + 1)
        found = layer.weight.grad
        assert (found - wanted).abs().max().item() < 1e-9, (
            f"{size} ranks on a slow network: when backward returns, rank {rank} has {found.flatten()[0].item():g} in the gradient "
            f"of layer {number}, and the average is {wanted:g}. Was a vector read, or written to, before its wait returned?"
        )


# ------------------------------------------------------------------------------------- what it takes

LAYERS, SIDE = 4, 32
NBYTES = SIDE * SIDE * 8


def time_of_backward(computing, sending, layers=1, size=2, order=nn.Sequential):
    """Milliseconds of a backward of 4 layers, of so many ms each, whose gradients take so many ms each to sum up."""

    def program():
        model = order(*[SquareLayer(SIDE, "0s", f"{computing}ms") for _ in range(LAYERS)])
        model = overlap.DistributedDataParallel(model, bucket_cap_mb=layers * NBYTES / buckets.MIB)
        output = model(torch.ones(1, SIDE, dtype=torch.float64)).sum()
        dist.barrier()
        begun = sim.now()
        output.backward()
        return sim.now() - begun

    rate = bounds.least_bytes("all_reduce", size, NBYTES) * 1000 / sending
    return 1000 * max(sim.run(program, size, net=sim.uniform("0s", f"{float(rate)}B/s")).results)


def least(computing, sending):
    """All is computed and one bucket sent, or one is computed and all are sent."""
    return max(LAYERS * computing + sending, computing + LAYERS * sending)


class Crossed(nn.Module):
    """Has its last two layers' parameters in the other order: bucket 1 is full before bucket 0."""

    def __init__(self, *layers):
        super().__init__()
        *others, one, two = layers
        self.layers = nn.ModuleList([*others, two, one])

    def forward(self, x):
        *others, two, one = self.layers
        for layer in (*others, one, two):
            x = layer(x)
        return x


@lamp("time", star=3)
def time():
    """The longer of computing and sending, and one bucket more of the other. A bucket that waited for another follows at once."""
    found = [
        MeasuredCost(time_of_backward(c, s), least(c, s), 1 + 1e-6, unit=" ms",
             where=f"backward of {LAYERS} layers of {c} ms, whose gradients take {s} ms each to send")
        for c, s in ((10, 8), (10, 2), (5, 8))
    ]  # fmt: skip
    found.append(MeasuredCost(time_of_backward(10, 8, order=Crossed), 2 * 10 + LAYERS * 8, 1 + 1e-7, unit=" ms",
                 where=f"backward of {LAYERS} layers of 10 ms, of which the first fills bucket 1 and the second bucket 0; each "
                 f"bucket takes 8 ms to send"))  # fmt: skip
    return max(found, key=lambda cost: cost.ratio)


def in_one_bucket():
    return time_of_backward(10, 8, layers=LAYERS)


def in_four_buckets():
    return time_of_backward(10, 8)


def contents():
    """Four gradients in two buckets, which travel while backward goes on."""

    def wrap(model):
        return overlap.DistributedDataParallel(model, bucket_cap_mb=16 / buckets.MIB)

    return training_contents.gradients(wrap)


def picture():
    """Two ranks, measured: above what each computes, below what its network sends; a digit is a layer."""
    lines = ["4 layers of 10 ms, in as many buckets of 8 ms; '-' is 1 ms", ""]
    for rank, spans in enumerate(spans_of_backward(10, 8)):
        for name, mine in zip(("computes", "network"), spans, strict=True):
            lines.append(f"rank {rank} {name:>8}  {drawn(mine)}")
        lines.append("")
    return "\n".join(
        [*lines, f"{'':17}{time_of_backward(10, 8):g} ms; in one bucket {in_one_bucket():g}"]
    )


def drawn(spans):
    """[3---][2---] for two spans."""
    row = [" "] * 60
    for layer, (begin, end) in enumerate(spans):
        row[begin:end] = f"[{LAYERS - 1 - layer}".ljust(end - begin - 1, "-") + "]"
    return "".join(row).rstrip()


def spans_of_backward(computing, sending):
    """For each rank, in ms: when each layer was computed, and when its bucket was under way."""

    def program():
        model = nn.Sequential(*[SquareLayer(SIDE, "0s", f"{computing}ms") for _ in range(LAYERS)])
        model = overlap.DistributedDataParallel(model, bucket_cap_mb=NBYTES / buckets.MIB)
        output = model(torch.ones(1, SIDE, dtype=torch.float64)).sum()
        dist.barrier()
        begun, computed, launched, ended = sim.now(), [], [], {}

        def now():
            return round(1000 * (sim.now() - begun))

        for layer in reversed(model.module):
            layer.weight.register_post_accumulate_grad_hook(lambda _: computed.append(now()))
        launch = model.launch

        def watched(bucket):
            launched.append(now())
            launch(bucket)
            number, work = len(model.sent) - 1, model.sent[-1][1]
            work.get_future().add_done_callback(lambda _: ended.setdefault(number, now()))

        model.launch = watched
        output.backward()
        # One at a time: the next waits for the one before. An all_reduce that nobody waits for is still under way.
        ends = [0, *(ended.get(number, now()) for number in range(len(launched)))]
        begins = map(max, launched, ends)
        sent = list(zip(begins, ends[1:], strict=True))
        return [(end - computing, end) for end in computed], sent

    rate = NBYTES * 1000 / sending
    return sim.run(program, 2, net=sim.uniform("0s", f"{rate}B/s")).results
