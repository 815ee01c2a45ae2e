"""Lesson 27: as right and as fast as GPipe, and S-s micro-batches in memory instead of all."""

import math

import one_f_one_b

from minitorch_dist.distributed.pipelining.orders import Pipe, faults, gpipe
from minitorch_dist.distributed.pipelining.pictures import drawn
from mtd.course import MeasuredCost, lamp, pipelines, training_contents

PIPES = [Pipe(ranks, m) for ranks in (1, 2, 3, 5) for m in (1, 2, 4, 7)]


@lamp("exactly once")
def once():
    """Each micro-batch once forward and once backward through each stage; for 1 to 6 stages, 1 to 7 micro-batches."""
    for ranks in range(1, 7):
        for count in range(1, 8):
            pipe = Pipe(ranks, count)
            for fault in faults(
                pipelines.orders_of(one_f_one_b.one_forward_one_backward, pipe), pipe
            ):
                raise AssertionError(f"stages: {ranks}, micro-batches: {count}: {fault}")


@lamp("correct")
def right():
    """1, 2, 3 and 5 stages end with the weights of one rank, bit for bit."""
    for ranks, count, *_ in PIPES:
        pipelines.trained(one_f_one_b.Stage, one_f_one_b.one_forward_one_backward, ranks, count)


@lamp("never stuck")
def stuck():
    """Every send waits for its receive: if neighbours send to each other at once, that is a circle."""
    for ranks, count, *_ in PIPES:
        pipelines.trained(
            one_f_one_b.Stage, one_f_one_b.one_forward_one_backward, ranks, count, strictly=True
        )


@lamp("in the library", star=2)
def plugged():
    """Your order, carried out by the library's own pipeline; also with fewer micro-batches than stages."""
    for count in (2, 4):
        pipelines.in_the_library(one_f_one_b.one_forward_one_backward, 3, count)


def measured():
    return [
        pipelines.timed(one_f_one_b.Stage, one_f_one_b.one_forward_one_backward, pipe)
        for pipe in PIPES
    ]


@lamp("bubble", star=3)
def bubble():
    """Messages are free: no later than GPipe, 3 (M+S-1) ms."""
    worst = max(measured(), key=lambda found: found.total / least(found.pipe))
    return MeasuredCost(worst.total, least(worst.pipe), unit=" ms")


def least(pipe):
    return 3 * (pipe.microbatches + pipe.ranks - 1)


@lamp("memory")
def memory():
    """At most S-s micro-batches on stage s: its first one must come back before it may go on."""
    places = [(found, stage) for found in measured() for stage in range(found.pipe.ranks)]
    found, stage = max(
        places, key=lambda place: place[0].held[place[1]] / (place[0].pipe.ranks - place[1])
    )
    where = f"stage {stage} of {found.pipe.ranks}, {found.pipe.microbatches} in all"
    return MeasuredCost(
        found.held[stage], found.pipe.ranks - stage, unit=" micro-batches", where=where
    )


@lamp("contest", star=3, bonus=True)
def contest():
    """`own`, on paper, for 4 stages and 8 micro-batches: time beside the least that any order could take."""
    found = pipelines.score(one_f_one_b.own, Pipe(4, 8))
    return MeasuredCost(found.time, found.least_time, limit=math.inf)


def held_by_stage_0():
    return pipelines.timed(
        one_f_one_b.Stage, one_f_one_b.one_forward_one_backward, Pipe(4, 64)
    ).held[0]


def total_of_1f1b():
    return pipelines.timed(
        one_f_one_b.Stage, one_f_one_b.one_forward_one_backward, Pipe(4, 8)
    ).total


def contents():
    """Three stages, four micro-batches, in your order; two, where only that goes wrong."""
    order = one_f_one_b.one_forward_one_backward
    grids = [training_contents.microbatches(one_f_one_b.Stage, order, 3, count) for count in (4, 2)]
    return next((grid for grid in grids if grid.words()), grids[0])


def picture():
    """GPipe above, 1F1B below it, measured with your stage; under each rank what it holds."""
    pipe, lines = Pipe(3, 4), []
    for title, make in (("GPipe", gpipe), ("1F1B", one_f_one_b.one_forward_one_backward)):
        found = pipelines.timed(one_f_one_b.Stage, make, pipe)
        lines += [f"{title}: {found.total} ms, of which {found.idle} idle"]
        held = pipelines.silhouettes(found, pipe.microbatches)
        for row, under, most in zip(drawn(found.timing).split("\n"), held, found.held):
            lines += [f"{row}  holds {most}", f"{'':7}│{under}".rstrip()]
        lines.append("")
    return "\n".join(
        [*lines, "digits: forward   (digits): backward   ·: bubble   █: 4 micro-batches held"]
    )
