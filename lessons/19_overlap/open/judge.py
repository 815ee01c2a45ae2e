"""A backward pass whose gradients cross slow links: each answer is run by ranks in virtual time."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.schedules.choice import known
from minitorch_dist.sim import nets
from mtd import estimates
from mtd.course.contest import NotAdmitted

ABOUT = "a backward pass and its all_reduces: time ÷ what nothing can beat"
COLUMN = "memory"
UNIT = "MB of gradients in the largest bucket"
PROOF = """Take any moment when a gradient becomes ready. The bytes that become ready then or later have not left before
it. To sum them up, take the nodes for ranks: each element is sent between nodes at least 2(N-1) times (lesson 15). So
some network card sends at least 2(N-1)/N of these bytes, in one message or more. Where each of a node's g ranks has a
card, it is a g-th of that. The bound is the largest such sum, over all these moments."""
PLAIN = ("ring", "rabenseifner", "recursive_doubling", "binomial", "hierarchical")
PRICED = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # bytes in the price list


@dataclass(frozen=True)
class Task:
    """The arguments of an answer. Layers are counted in the order in which backward finishes them."""

    name: str
    nodes: int
    per_node: int  # ranks
    nbytes: tuple[int, ...]  # of each layer's gradients
    ms: tuple[float, ...]  # that backward computes for each layer
    net: str
    prices: dict[str, dict[int, float]] = field(default_factory=dict)  # ms, by algorithm and bytes


@dataclass(frozen=True)
class Outcome:
    time: float  # ms
    memory: float
    said: str


KB, MB = 10**3, 10**6
TOWER = (40 * KB, 2 * MB, 2 * MB, 2 * MB, 1 * MB, 1 * MB, 400 * KB, 200 * KB, 60 * KB, 8 * KB)
TOWER_MS = (0.3, 0.8, 0.8, 0.8, 1.0, 1.0, 1.5, 1.5, 1.5, 1.0)
EVEN = (300 * KB,) * 12
BOTTOM = (100 * KB, 20 * KB, 300 * KB, 20 * KB, 300 * KB, 20 * KB, 300 * KB, 20 * KB, 1 * MB)
RACES = (
    Task("one card for a node", 2, 4, TOWER, TOWER_MS, "two_level:nodes=2,gpus=4,intra=2us/50GB/s,inter=30us/10Gb/s,nic=per_node"),
    Task("a card for each rank", 2, 4, EVEN, (0.25,) * 12, "two_level:nodes=2,gpus=4,intra=2us/50GB/s,inter=120us/5Gb/s"),
    Task("three nodes", 3, 2, BOTTOM, (0.5, 0.2, 1.0, 0.2, 1.0, 0.2, 1.0, 0.2, 0.5), "two_level:nodes=3,gpus=2,intra=2us/50GB/s,inter=100us/10Gb/s,nic=per_node"),
)  # fmt: skip


@cache
def topology(task_net):
    return nets.read(task_net).topology


def algorithm(name, task):
    """As `dist.all_reduce(tensor, algorithm=…)` takes it."""
    return f"hierarchical:per_node={task.per_node}" if name == "hierarchical" else name


@cache
def price_list(net, ranks, per_node):
    """Milliseconds of an all_reduce alone, by algorithm and bytes."""
    found = {}
    for name in PLAIN:
        schedule = known("all_reduce")[name]
        if name == "hierarchical":
            schedule = schedule.with_options(per_node=per_node)
        found[name] = {
            n: estimates.time_of(schedule, ranks, n, topology(net)) / 10**9 for n in PRICED
        }
    return found


def least(task):
    """Milliseconds; PROOF says why."""
    link = topology(task.net).inter
    cards = 1 if topology(task.net).nic == "per_node" else task.per_node
    found = 0.0
    for layer, ready in enumerate(accumulate(task.ms)):
        nbytes = sum(task.nbytes[layer:])
        sent = 2 * (task.nodes - 1) * nbytes / task.nodes / cards
        found = max(found, ready + (link.latency + float(link.per_byte) * sent) / 10**9)
    return found


def play(function, task):
    ranks = task.nodes * task.per_node
    prices = price_list(task.net, ranks, task.per_node)
    given = Task(task.name, task.nodes, task.per_node, task.nbytes, task.ms, task.net, prices)
    chosen = read(function(given), task)
    largest = max(sum(task.nbytes[layer] for layer in layers) for layers, _ in chosen)
    time = measured(chosen, task, shapes=True)
    return Outcome(
        time, largest / MB, f"{time:.3f} ms in {len(chosen)} bucket{'s' * (len(chosen) > 1)}"
    )


def read(answer, task):
    """The buckets; NotAdmitted if they are no right ones."""
    try:
        chosen = [([int(layer) for layer in layers], name) for layers, name in answer]
    except (TypeError, ValueError) as error:
        raise NotAdmitted(
            f"an answer is a list of (layers, algorithm). Yours cannot be read: {error}"
        ) from error
    count = Counter(layer for layers, _ in chosen for layer in layers)
    for layer in range(len(task.nbytes)):
        if count[layer] != 1:
            raise NotAdmitted(
                f"layer {layer} is in {count[layer]} buckets, and each layer has to be in one"
            )
    strange = count.keys() - {*range(len(task.nbytes))}
    if strange:
        raise NotAdmitted(f"there is no layer {min(strange)}; they are 0 to {len(task.nbytes) - 1}")
    for layers, name in chosen:
        if name not in PLAIN:
            raise NotAdmitted(f"there is no all_reduce {name!r}; there are {', '.join(PLAIN)}")
        if not layers:
            raise NotAdmitted("a bucket is empty")
    return chosen


def measured(chosen, task, shapes=False):
    """Milliseconds of a backward pass. Without `shapes` the sums are looked at as well."""

    def program():
        rank, size = dist.get_rank(), dist.get_world_size()
        sent = []
        for layer, ms in enumerate(task.ms):
            sim.compute(ms / 1000)
            while len(sent) < len(chosen) and max(chosen[len(sent)][0]) <= layer:
                layers, name = chosen[len(sent)]
                flat = torch.full((sum(task.nbytes[one] for one in layers) // 4,), rank + 1.0)
                work = dist.all_reduce(flat, algorithm=algorithm(name, task), async_op=True)
                sent.append((flat, work))
        for flat, work in sent:
            work.wait()
            if not shapes:
                assert (flat == size * (size + 1) / 2).all(), f"rank {rank} has {flat}"
        return sim.now()

    ranks = task.nodes * task.per_node
    report = sim.run(program, ranks, net=topology(task.net), shapes=shapes)
    return round(1000 * max(report.results), 9)


# ------------------------------------------------------------------------------------ simple answers


def at_the_end(task):
    """No overlap: one bucket, which leaves when all is computed."""
    return [(range(len(task.nbytes)), "ring")]


def one_each(task):
    """A bucket for each layer."""
    return [([layer], "ring") for layer in range(len(task.nbytes))]


def of_a_megabyte(task):
    """As DistributedDataParallel does it: a bucket leaves when it has a megabyte."""
    made, now = [], []
    for layer, _ in enumerate(task.nbytes):
        now.append(layer)
        if sum(task.nbytes[one] for one in now) >= MB:
            made.append((now, "ring"))
            now = []
    return [*made, *([(now, "ring")] if now else [])]


SIMPLE = {
    "one bucket, ring": at_the_end,
    "a bucket a layer, ring": one_each,
    "1 MB buckets, ring": of_a_megabyte,
}
