"""Lesson 26: the weights of one rank, each micro-batch once through each stage, and no more idle than must be."""

import stages

from minitorch_dist.distributed.pipelining.orders import Pipe, faults
from minitorch_dist.distributed.pipelining.pictures import drawn
from mtd.course import MeasuredCost, lamp, pipelines, training_contents

PIPES = [Pipe(ranks, m) for ranks in (1, 2, 3, 5) for m in (1, 3, 4)]


@lamp("exactly once")
def once():
    """Each micro-batch once forward and once backward through each stage; for 1 to 6 stages, 1 to 7 micro-batches."""
    for ranks in range(1, 7):
        for count in range(1, 8):
            pipe = Pipe(ranks, count)
            for fault in faults(pipelines.orders_of(stages.gpipe, pipe), pipe):
                raise AssertionError(f"stages: {ranks}, micro-batches: {count}: {fault}")


@lamp("correct")
def right():
    """1, 2, 3 and 5 stages end with the weights of one rank, bit for bit; 37 samples, then 23."""
    for ranks, count, *_ in PIPES:
        pipelines.trained(stages.Stage, stages.gpipe, ranks, count)
    for pipe in PIPES:
        left = [rank.left for rank in pipelines.timed(stages.Stage, stages.gpipe, pipe).ranks]
        assert not any(map(any, left)), (
            f"stages: {pipe.ranks}, micro-batches: {pipe.microbatches}: after a step the stages hold the graphs of {left} "
            "micro-batches, and nobody needs a graph after its backward"
        )


@lamp("never stuck")
def stuck():
    """Every send waits for its receive."""
    for ranks in (2, 3, 5):
        pipelines.trained(stages.Stage, stages.gpipe, ranks, 4, strictly=True)


@lamp("in the library", star=2)
def plugged():
    """Your order, carried out by the library's own pipeline."""
    pipelines.in_the_library(stages.gpipe, 3, 4)


@lamp("bubble", star=3)
def bubble():
    """Equal stages, free messages: of M+S-1 slots S-1 are idle, and no order of these can do better."""
    worst = max(
        (pipelines.timed(stages.Stage, stages.gpipe, p) for p in PIPES if p.ranks > 1), key=over
    )
    return MeasuredCost(worst.total, least(worst.pipe), unit=" ms")


def least(pipe):
    return 3 * (pipe.microbatches + pipe.ranks - 1)


def over(found):
    return found.total / least(found.pipe)


def idle_percent():
    found = pipelines.timed(stages.Stage, stages.gpipe, Pipe(4, 8))
    return 100 * found.idle / found.total


def held_by_the_first():
    return pipelines.timed(stages.Stage, stages.gpipe, Pipe(4, 8)).held[0]


def contents():
    """Three stages, three micro-batches."""
    return training_contents.microbatches(stages.Stage, stages.gpipe)


def picture():
    """Measured: 3 stages, 4 micro-batches; a cell is 1 ms, in brackets backward."""
    found = pipelines.timed(stages.Stage, stages.gpipe, Pipe(3, 4))
    part = f"{found.idle} of {found.total} ms idle: (S-1)/(M+S-1) = 2/6"
    return "\n".join(
        [drawn(found.timing), "", "digits: forward   (digits): backward   ·: bubble", part]
    )
