"""The small transformer, whose gradients travel in buckets while backward computes."""

import buckets
from overlap import DistributedDataParallel

from mtd.course import one_model

FORMULA = "each bucket leaves when it is full and the one before has passed"
CAP = 16_384  # bytes


def trained():
    model = DistributedDataParallel(one_model.model(), bucket_cap_mb=CAP / buckets.MIB)
    return one_model.stepping(model, one_model.mine(), 1.0)


def seconds():
    """Backward takes two thirds of the time, and a parameter's part of it by its numbers."""
    parameters, each = list(one_model.parameters()), one_model.computing() / one_model.RANKS
    numbers = sum(p.numel() for p in parameters)
    now = passed = each / 3
    for bucket in buckets.assign(parameters, CAP):
        now += each * 2 / 3 * sum(p.numel() for p in bucket) / numbers
        nbytes = sum(p.nbytes for p in bucket)
        passed = max(now, passed) + one_model.quickest("all_reduce", nbytes)
    return passed
