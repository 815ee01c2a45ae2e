"""Little memory. `mtd contest 21` says how far you are from the bound.

`task` has: ranks, parameters and activations (bytes of each layer; the latter are what its backward reads), ms (of each
layer's forward; its backward takes twice as long), cap (bytes of an accelerator), input (bytes that go into a layer), and
latency and per_byte (ms; a message of n bytes takes latency + per_byte · n).

Return a list of units, (number of layers, kind, computes again), from the first layer on. The kind is one of
    "NO_SHARD"        every rank keeps everything: parameters, gradients, and Adam's two numbers
    "SHARD_GRAD_OP"   divided; parameters stay gathered from forward to backward
    "FULL_SHARD"      divided; parameters are gathered for forward, and again for backward (lesson 21)
A unit that computes again remembers only its input, and computes its forward once more in backward.
"""


def wrapping(task):
    """Each layer a unit; all is divided, and all is computed again: it fits, and it is slow."""
    return [(1, "FULL_SHARD", True) for _ in task.ms]
