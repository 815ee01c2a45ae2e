"""The small transformer, each rank with its part of the batch: nothing is sent until a gradient is there, then backward waits."""

from replicas import DistributedDataParallel

from mtd.course import one_model

FORMULA = "C/P, and a ring for each parameter"


def trained():
    return one_model.stepping(DistributedDataParallel(one_model.model()), one_model.mine(), 1.0)


def seconds():
    rings = sum(one_model.ring(p.nbytes) for p in one_model.parameters())
    return one_model.computing() / one_model.RANKS + rings
