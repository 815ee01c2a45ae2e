"""A pipeline of unequal layers: each answer is carried out by ranks in virtual time, with real messages."""

from dataclasses import dataclass
from itertools import accumulate

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim
from minitorch_dist.distributed.pipelining import orders
from minitorch_dist.distributed.pipelining.orders import Action, ActionKind, B, F, I, Pipe, W
from mtd.course.contest import NotAdmitted

ABOUT = "pipelines of unequal layers: time of a step ÷ what no pipeline can beat"
COLUMN = "memory"
UNIT = "MB held by the rank that holds most"
PROOF = """Let a rank's lowest layer be l. It has nothing to do until one micro-batch has gone through the layers before l.
The ranks' lowest layers differ, so together the ranks wait at least for those of layers 0, 1, …, P-1. The rest of their
time must be enough for all the work. Besides, layer l alone needs M times its own work, after the layers before it. And
one micro-batch needs all forwards and all backwards to its input."""
LINK = "10us"  # of a message


@dataclass(frozen=True)
class Task:
    """The argument of an answer. Layers are counted from 0."""

    name: str
    ranks: int
    microbatches: int
    forward: tuple[int, ...]  # ms, of each layer; I and W take as long each, and B twice
    megabytes: tuple[int, ...]  # that a layer keeps of a micro-batch from its forward to its B or W
    cap: int  # megabytes that a rank may keep


@dataclass(frozen=True)
class Outcome:
    time: float  # ms
    memory: float
    said: str


RACES = (
    Task("heavy head", 4, 8, (1, 2, 2, 2, 2, 2, 2, 2, 2, 7), (1, 2, 2, 2, 2, 2, 2, 2, 2, 7), 30),
    Task("wide middle", 4, 8, (1, 1, 2, 3, 5, 6, 5, 3, 2, 1, 1), (6, 5, 4, 3, 2, 2, 2, 3, 4, 5, 6), 44),
    Task("little memory", 3, 12, (3, 2, 4, 1, 3, 2, 4, 1, 2), (4, 4, 4, 4, 4, 4, 4, 4, 4), 36),
)  # fmt: skip


def least(task):
    """Milliseconds that no right answer can beat; PROOF says why."""
    before = [0, *accumulate(task.forward)]
    work = 3 * task.microbatches * sum(task.forward)
    together = (work + sum(before[: task.ranks])) / task.ranks
    one_layer = max(
        before[layer] + 3 * task.microbatches * each for layer, each in enumerate(task.forward)
    )
    return max(together, one_layer, 2 * sum(task.forward))


# ------------------------------------------------------------------------------ is the answer right?


def play(function, task):
    """The time of a step and the memory of the fullest rank; NotAdmitted if it is no right pipeline."""
    stages, order = read(function(task), task)
    memory = max(held(order[rank], stages, task) for rank in range(task.ranks))
    if memory > task.cap:
        full = max(range(task.ranks), key=lambda rank: held(order[rank], stages, task))
        raise NotAdmitted(
            f"rank {full} keeps {memory} MB of activations at once, and it has {task.cap}"
        )
    return Outcome(measured(stages, order, task), memory, f"{measured(stages, order, task):g} ms")


def read(answer, task):
    """The stages, each as its rank and its layers, and each rank's actions; NotAdmitted where they are no such things."""
    try:
        stages, order = answer
        stages = [(int(rank), int(count)) for rank, count in stages]
        order = [[Action(int(s), ActionKind(k), int(m)) for s, k, m in each] for each in order]
    except (TypeError, ValueError) as error:
        raise NotAdmitted(
            "an answer is (stages, orders): a list of (rank, number of layers), and for each rank a list of "
            f"Action(stage, kind, microbatch). Yours cannot be read: {error}"
        ) from error
    total = sum(count for _, count in stages)
    if total != len(task.forward) or any(count < 1 for _, count in stages):
        raise NotAdmitted(
            f"together the stages have {total} layers, and the model has {len(task.forward)}; each stage needs at least one"
        )
    if any(not 0 <= rank < task.ranks for rank, _ in stages) or len(order) != task.ranks:
        raise NotAdmitted(f"there are ranks 0 to {task.ranks - 1}, and each has a list of actions")
    homes = [rank for rank, _ in stages]
    for fault in orders.faults(order, Homes(task, homes)):
        raise NotAdmitted(fault)
    ends = [0, *accumulate(count for _, count in stages)]
    return [(rank, range(a, b)) for (rank, _), a, b in zip(stages, ends, ends[1:])], order


class Homes:
    """As a `Pipe`, for stages that may be on any rank."""

    def __init__(self, task, homes):
        self.homes, self.microbatches, self.stages = homes, task.microbatches, len(homes)

    def rank_of(self, stage):
        if not 0 <= stage < self.stages:
            raise NotAdmitted(f"there is no stage {stage}; the last one is {self.stages - 1}")
        return self.homes[stage]


def held(order, stages, task):
    """The most megabytes that a rank keeps at once."""
    now = most = 0
    for stage, kind, _ in order:
        size = sum(task.megabytes[layer] for layer in stages[stage][1])
        now += size * {F: 1, B: -1, I: 0, W: -1}[kind]
        most = max(most, now)
    return most


# ------------------------------------------------------------------------------------- how long it takes


def measured(stages, order, task):
    """Milliseconds of a step. Each message says which action it comes from, and the receiver looks."""
    last = len(stages) - 1

    def program():
        rank, sent = dist.get_rank(), []
        for stage, kind, number in order[rank]:
            before = stage - 1 if kind is F else stage + 1 if kind in (B, I) else None
            if before is not None and 0 <= before <= last and stages[before][0] != rank:
                label = torch.zeros(2)
                dist.recv(label, stages[before][0], tag=tag(kind is F, stage, number))
                assert label.tolist() == [before, number], (stage, kind, number, label)
            elif before is not None and 0 <= before <= last:
                done = {F: [F], B: [B, I], I: [B, I]}[kind]
                assert any((before, one, number) in computed[rank] for one in done), (
                    f"rank {rank}: {Action(stage, kind, number)} needs stage {before}, which is later in its own list"
                )
            work = sum(task.forward[layer] for layer in stages[stage][1])
            sim.compute((2 if kind is B else 1) * work / 1000)
            computed[rank].add((stage, kind, number))
            after = stage + 1 if kind is F else stage - 1 if kind in (B, I) else None
            if after is not None and 0 <= after <= last and stages[after][0] != rank:
                label = torch.tensor([float(stage), float(number)])
                to = stages[after][0]
                sent.append(dist.isend(label, to, tag=tag(kind is F, after, number)))
        ended = sim.now()
        for work in sent:
            work.wait()
        return ended

    def tag(is_forward, stage, number):
        return 2 * (stage * task.microbatches + number) + is_forward

    computed = [set() for _ in range(task.ranks)]
    try:
        ends = sim.run(program, task.ranks, net=sim.uniform(LINK, "1000TB/s")).results
    except sim.Deadlock as error:
        raise NotAdmitted(f"the ranks wait for each other: {str(error).splitlines()[0]}") from error
    except AssertionError as error:
        raise NotAdmitted(str(error)) from error
    return round(1000 * max(ends), 6)


# ------------------------------------------------------------------------------------ simple answers


def evenly(task, ranks):
    """As many layers for each rank as for the others, or one more."""
    ends = [len(task.forward) * rank // ranks for rank in range(ranks + 1)]
    return [(rank, end - begin) for rank, (begin, end) in enumerate(zip(ends, ends[1:]))]


def even_1f1b(task):
    """Equal numbers of layers, 1F1B."""
    pipe = Pipe(task.ranks, task.microbatches)
    return evenly(task, task.ranks), orders.everyones(orders.one_forward_one_backward, pipe)


def one_rank(task):
    """No pipeline: rank 0 does it all."""
    actions = [Action(0, kind, m) for m in range(task.microbatches) for kind in (F, B)]
    return [(0, len(task.forward))], [actions, *[[] for _ in range(task.ranks - 1)]]


SIMPLE = {"one rank": one_rank, "equal numbers, 1F1B": even_1f1b}
