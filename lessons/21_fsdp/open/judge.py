"""A step of training on small accelerators: each answer is trained by the library's FSDP in virtual time."""

from dataclasses import dataclass

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from minitorch_dist.optim import Adam
from minitorch_dist.utils.checkpoint import checkpoint
from mtd.course.contest import NotAdmitted
from mtd.course.layers import SlowIdentity

ABOUT = "a step of training under a cap of memory: time ÷ what no answer can beat"
COLUMN = "memory"
UNIT = "kB on the rank that holds most"
PROOF = """A rank always holds at least a P-th of all parameters and of Adam's two numbers for each. While a layer goes
backward, the numbers in its middle, the gradient of its output and one of its matrices' are there. The activations of all
layers before it are there too, but of those that compute forward again. The others must fit into what the cap leaves, and at
best those are kept that take longest. Backward takes twice as long as forward. After it the first layer's gradients have to be summed up: at least (P-1)/P of them leave a rank. And in a step
2(P-1)/P of all parameters must pass each port: gradients once, and either gradients or parameters once more."""
KINDS = ("NO_SHARD", "SHARD_GRAD_OP", "FULL_SHARD")
WIDTH, BATCH, STEPS = 32, 256, 2


@dataclass(frozen=True)
class Task:
    """The argument of an answer. Sizes in bytes."""

    name: str
    ranks: int
    hidden: tuple[int, ...]  # numbers in the middle of each layer
    ms: tuple[int, ...]  # of each layer's forward; its backward takes twice as long
    cap: int  # bytes of an accelerator
    latency: float  # ms of a message without bytes
    per_byte: float  # ms

    @property
    def parameters(self):
        """Bytes, of each layer."""
        return tuple(2 * WIDTH * hidden * 8 for hidden in self.hidden)

    @property
    def activations(self):
        """Bytes that each layer's backward reads: its input, and the numbers in its middle."""
        return tuple(BATCH * (WIDTH + hidden) * 8 for hidden in self.hidden)

    @property
    def input(self):
        """Bytes that go into each layer."""
        return BATCH * WIDTH * 8


@dataclass(frozen=True)
class Outcome:
    time: float  # ms
    memory: float
    said: str


RACES = (
    Task("slow network", 4, (64,) * 8, (2,) * 8, 1_700_000, 0.02, 1e-4),
    Task("long layers", 4, (32, 64, 128, 128, 64, 32), (2, 4, 9, 9, 4, 2), 1_450_000, 0.02, 8e-6),
    Task("heavy ends", 3, (192, 32, 32, 32, 32, 192), (3, 4, 4, 4, 4, 3), 2_050_000, 0.02, 2e-5),
)  # fmt: skip


def least(task):
    """Milliseconds; PROOF says why."""
    share = (task.ranks - 1) / task.ranks
    again = sum(task.ms) - most_kept(task)
    computing = 3 * sum(task.ms) + again
    last = task.latency + share * task.parameters[0] * task.per_byte
    return max(computing + last, 2 * share * sum(task.parameters) * task.per_byte)


def most_kept(task):
    """The most milliseconds of layers whose activations fit, one layer after another (a knapsack)."""
    room = task.cap - 3 * sum(task.parameters) / task.ranks
    best = {0: 0}  # by milliseconds: the least bytes kept of the layers so far
    for size, ms, mine in zip(task.activations, task.ms, task.parameters, strict=True):
        best = {
            total: used for total, used in best.items() if used + size + mine / 2 <= room
        }  # while this layer goes backward, its numbers are there, and the gradient of its second matrix
        for total, used in sorted(best.items(), reverse=True):
            best[total + ms] = min(best.get(total + ms, used + size), used + size)
    return max((total for total, used in best.items() if used <= room), default=0)


def play(function, task):
    units = read(function(task), task)
    try:
        net = sim.uniform(f"{task.latency}ms", f"{1000 / task.per_byte:.0f}B/s")
        report = sim.run(program, task.ranks, (task, units), net=net, memory=task.cap, shapes=True)
    except cuda.OutOfMemoryError as error:
        raise NotAdmitted(
            f"an accelerator has {task.cap:,} bytes, and that is too little: {str(error).splitlines()[0]}"
        ) from error
    ms = round(max(ms for ms, _ in report.results), 6)
    memory = max(peak for _, peak in report.results)
    return Outcome(ms, round(memory / 1000, 1), f"{ms:.3f} ms, {memory:,} of {task.cap:,} bytes")


def read(answer, task):
    """The units: number of layers, kind, whether it computes again; NotAdmitted if they are no such things."""
    try:
        units = [(int(count), str(kind), bool(again)) for count, kind, again in answer]
    except (TypeError, ValueError) as error:
        raise NotAdmitted(
            f"an answer is a list of (number of layers, kind, computes again). Yours cannot be read: {error}"
        ) from error
    total = sum(count for count, _, _ in units)
    if total != len(task.ms) or any(count < 1 for count, _, _ in units):
        raise NotAdmitted(
            f"together the units have {total} layers, and the model has {len(task.ms)}; each unit needs at least one"
        )
    for _, kind, _ in units:
        if kind not in KINDS:
            raise NotAdmitted(f"there is no kind {kind!r}; there are {', '.join(KINDS)}")
    return units


class Layer(nn.Module):
    """Two matrices, and the time that they would take on a real accelerator."""

    def __init__(self, hidden, ms):
        super().__init__()
        self.up = nn.Parameter(torch.ones(WIDTH, hidden, dtype=torch.float64) / WIDTH)
        self.down = nn.Parameter(torch.ones(hidden, WIDTH, dtype=torch.float64) / hidden)
        self.ms = ms

    def forward(self, x):
        sim.compute(self.ms / 1000)
        return SlowIdentity.apply(x @ self.up @ self.down, f"{2 * self.ms}ms")


class Again(nn.Module):
    """Layers that remember their input only."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, x):
        return checkpoint(self.layers, x, use_reentrant=False)


def wrapped(task, units):
    """The model of the answer, on this rank's accelerator."""
    device, made, at = torch.device("cuda", 0), [], 0
    for count, kind, again in units:
        layers = nn.Sequential(*[Layer(task.hidden[n], task.ms[n]) for n in range(at, at + count)])
        unit = Again(layers) if again else layers
        how = {"device_id": device, "forward_prefetch": True}
        made.append(FullyShardedDataParallel(unit, sharding_strategy=ShardingStrategy[kind], **how))
        at += count
    return FullyShardedDataParallel(nn.Sequential(*made), **how)


def program(task, units):
    """Two steps; the milliseconds and the peak of the second one."""
    model = wrapped(task, units)
    optimizer = Adam(model.parameters(), lr=0.01)
    x = torch.ones(BATCH, WIDTH, dtype=torch.float64, device="cuda")
    for _ in range(STEPS):
        dist.barrier()
        cuda.reset_peak_memory_stats()
        begun = sim.now()
        step(model, optimizer, x)
    return 1000 * (sim.now() - begun), cuda.max_memory_allocated()


def step(model, optimizer, x):
    """Returns the loss."""
    optimizer.zero_grad()
    loss = model(x).square().sum() / len(x)
    loss.backward()
    optimizer.step()
    return loss.detach()


# ------------------------------------------------------------------------------------ simple answers


def all_shards(task):
    """Each layer a unit, divided; everything is computed again."""
    return [(1, "FULL_SHARD", True)] * len(task.ms)


def some_kept(task):
    """As before, but a quarter of the layers, the last ones, remember."""
    count = len(task.ms)
    return [(1, "FULL_SHARD", layer < count - count // 4) for layer in range(count)]


SIMPLE = {"divide, compute again": all_shards, "a quarter remembers": some_kept}
