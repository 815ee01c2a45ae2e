"""Lesson 17: P ranks train as one, bit for bit; replicas stay equal; and no byte but those of the gradients."""

import itertools

import replicas

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.distributed.schedules import bounds
from minitorch_dist.optim import SGD, AdamW
from minitorch_dist.testing import check_replicas_equal, check_same_as_one_rank, exact
from mtd.course import MeasuredCost, lab, lamp, real_wires, training_contents
from mtd.course.layers import SquareLayer

SIZES = (1, 2, 3, 5)
BATCHES = (32, 16, 4, 32)  # powers of two: a mean is exact; of 4 samples some of 6 ranks have none


@lamp("start")
def starts_as_rank_0():
    """The ranks begin with rank 0's parameters, frozen ones as well, and with its buffers, whether these are saved or not."""
    for size in SIZES:
        sim.run(begins_with_rank_0, size)


def begins_with_rank_0():
    model = replicas.DistributedDataParallel(exact.Model(seed=1 + dist.get_rank()))
    said("before the first step", model)
    module = RunningMean()
    replicas.DistributedDataParallel(module)
    said("the frozen parameter before the first forward", [module.frozen])
    said("the running mean before the first forward", [module.mean])
    said("the buffer that is not saved, before the first forward", [module.seen])


@lamp("average")
def average():
    """After backward each rank has the average of all ranks' gradients."""
    for size in SIZES:
        sim.run(gradients, size)


def gradients():
    """Rank r's gradient is P (r + 1), twice, so the average is exact, whether one divides before or after the sum."""
    rank, size = dist.get_rank(), dist.get_world_size()
    model = replicas.DistributedDataParallel(nn.Linear(2, 3, bias=False))
    for step in range(2):
        model.zero_grad()
        forward(model, torch.full((1, 2), size * (rank + 1.0))).sum().backward()
        found, wanted = model.module.weight.grad, size * (size + 1) / 2
        assert found.eq(wanted).all(), (
            f"{size} ranks whose gradients are all {', '.join(str(size * each) for each in range(1, size + 1))}: after backward {step + 1} "
            f"rank {rank} has {found[0, 0].item():g} in p.grad[0, 0], and the average is {wanted:g}"
        )


def forward(model, x):
    """Of the module alone, while what the wrapper does before it is still to be written."""
    try:
        return model(x)
    except NotImplementedError:
        return model.module(x)


@lamp("buffers", star=2)
def buffers():
    """Each forward pass begins with rank 0's buffers, in training, in evaluation, and without gradients."""
    for size in SIZES:
        sim.run(with_running_mean, size)


class RunningMean(nn.Module):
    """Remembers what it has seen, as a BatchNorm does."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.frozen = nn.Parameter(torch.ones(2) * dist.get_rank(), requires_grad=False)
        self.register_buffer("mean", torch.ones(2) * dist.get_rank())
        self.register_buffer("seen", torch.tensor(dist.get_rank()), persistent=False)  # not saved
        self.found = []

    def forward(self, x):
        self.found.append([self.mean.clone(), self.seen.clone()])
        self.mean += 0.5 * (x.mean(0) - self.mean)
        self.seen += len(x) + dist.get_rank()
        return (x - self.mean) * self.weight


def with_running_mean():
    module = RunningMean()
    model = replicas.DistributedDataParallel(module)
    kinds = (
        "training",
        "training",
        "evaluation",
        "evaluation without gradients",
        "training without gradients",
    )
    for step, kind in enumerate(kinds):
        model.train(not kind.startswith("evaluation"))
        with torch.set_grad_enabled("without" not in kind):
            model(torch.ones(4, 2) * (10 * dist.get_rank() + step))
    for step, (kind, (mean, seen)) in enumerate(zip(kinds, module.found, strict=True)):
        said(f"the running mean with which forward {step + 1} ({kind}) begins", [mean])
        said(f"the buffer that is not saved, with which forward {step + 1} ({kind}) begins", [seen])


@lamp("loss")
def mean_of_all():
    """The average of the ranks' losses is the mean over all samples, however these are shared."""
    for size in SIZES:
        sim.run(losses, size)


def losses():
    """4 samples, wrong by 0, 1, 2 and 3: the mean squared error is 3.5, however they are shared."""
    rank, size = dist.get_rank(), dist.get_world_size()
    ends = [4 * part // size for part in range(size + 1)]
    errors = torch.arange(4.0).reshape(4, 1)[ends[rank] : ends[rank + 1]]
    mean = replicas.loss(errors, torch.zeros_like(errors), 4).detach().reshape(1)
    dist.all_reduce(mean)
    mean /= size
    shares = ", ".join(str(end - begin) for begin, end in itertools.pairwise(ends))
    assert abs(mean.item() - 3.5) < 1e-5, (
        f"4 samples with squared errors of 0, 1, 4 and 9 on {size} ranks (shares of {shares}). The average of "
        f"the ranks' losses is {mean.item():g}, and the mean of the samples is 3.5"
    )


@lamp("correct")
def right():
    """1 to 6 ranks end with the weights of one rank that had all samples, bit for bit."""
    check_same_as_one_rank(train, batches=BATCHES, alone=alone)


def train(shares):
    model = replicas.DistributedDataParallel(exact.Model(seed=1 + dist.get_rank()))
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for share, total in zip(shares, BATCHES, strict=True):
        optimizer.zero_grad()
        replicas.loss(model(share.x), share.y, total).backward()
        optimizer.step()
        exact.snap(model.parameters())
    return model.module


def alone(batches):
    model = exact.Model()
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in batches:
        exact.step(model, optimizer, batch, scale=1 / batch.samples)
    return model


@lamp("replicas", star=2)
def stay_equal():
    """In ordinary numbers, where sums round: after every step each rank has the same bits as rank 0."""
    for size in SIZES:
        sim.run(with_adam, size)


def with_adam():
    rank = dist.get_rank()
    torch.manual_seed(rank)
    model = replicas.DistributedDataParallel(
        nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    )
    optimizer = AdamW(model.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        model(torch.rand(2, 3)).sum().backward()
        optimizer.step()
        said(f"after step {step + 1}", model)


def said(when, what):
    try:
        check_replicas_equal(what)
    except AssertionError as error:
        raise AssertionError(f"{dist.get_world_size()} ranks, {when}: {error}") from None


@lamp("bytes")
def bytes_of_a_step():
    """A step sends what an all_reduce of all gradients must, 2 (P-1)/P of them, from each rank."""
    return max((cost_of_a_step(size) for size in (2, 3, 4, 6)), key=lambda cost: cost.ratio)


def cost_of_a_step(size):
    """The second step's; the first begins with the values of rank 0."""
    one, two = (
        max(rank.bytes_sent for rank in sim.run(steps, size, (count,)).ranks) for count in (1, 2)
    )
    model = torch.ones(12 * 12 + 12).nbytes
    return MeasuredCost(two - one, float(bounds.least_bytes("all_reduce", size, model)), unit=" bytes",
                where=f"{size} ranks, a step with {model} bytes of gradients")  # fmt: skip


def steps(count):
    model = replicas.DistributedDataParallel(nn.Linear(12, 12))
    for _ in range(count):
        model(torch.ones(1, 12)).sum().backward()


@lamp("real wire", star=3, processes=True)
def real_wire():
    """Your file in three processes, over tcp, over a folder, over mqtt: each result is the simulator's, bit for bit."""
    real_wires.demand(__file__)


def bytes_of_four():
    return cost_of_a_step(4).found


def weight_of_a_sample():
    """How much more a sample of the smaller share weighs in a mean of means: 10 samples, 3 ranks."""
    shares = exact.data(10).shares(3)
    return max(share.samples for share in shares) / min(share.samples for share in shares)


def contents():
    """A step and an evaluation of three ranks, in which each sample's error is 1."""

    def step(model, x):
        replicas.loss(model(x), x - 1, 6).backward()

    return training_contents.replicas(replicas.DistributedDataParallel, step)


def picture():
    """Two ranks, two layers: rank 0's values to all; then a backward, with a ring for each gradient."""

    def program():
        model = replicas.DistributedDataParallel(
            nn.Sequential(*[SquareLayer(16, "1ms", "2ms") for _ in range(2)])
        )
        model(torch.ones(1, 16, dtype=torch.float64)).sum().backward()

    return lab.scene(program, 2, net=sim.uniform("10us", "2MB/s"))
