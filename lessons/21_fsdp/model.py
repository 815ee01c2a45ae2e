"""The small transformer, of which each rank keeps a quarter, and gathers a block when it computes."""

from sharded import FullyShardedDataParallel as Unit

from minitorch_dist import nn
from mtd.course import one_model

FORMULA = "C/P; each parameter gathered twice and reduced once"


def trained():
    model = one_model.model()
    model.words, model.head = Unit(model.words), Unit(model.head)
    model.blocks = nn.Sequential(*[Unit(block) for block in model.blocks])
    return one_model.stepping(model, one_model.mine(), 1.0)


def seconds():
    halves = 0.0
    for p in one_model.parameters():
        nbytes = -(-p.numel() // one_model.RANKS) * one_model.RANKS * p.element_size()
        halves += 2 * one_model.quickest("all_gather", nbytes)
        halves += one_model.quickest("reduce_scatter", nbytes)
    return one_model.computing() / one_model.RANKS + halves
