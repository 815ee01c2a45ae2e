"""The same model on every rank, each with its part of the data: gradients are averaged in backward.

    steps            three simple forms: naive, in buckets, overlapped. Read them first
    module           `DistributedDataParallel`, the module one writes, and what happens in an iteration
    reducer          gradients are averaged while backward still computes others
    buckets          which gradients travel together; into a bucket and out of it

A plain step needs only these, and `measured` (when what happened). The others serve what few programs ask for:

    unused           parameters without a gradient; static graphs
    without_backward reductions for Join and `sync_gradients`; `join_hook`: a rank without inputs
    comm_hooks       communication by the user's own function
    delayed          parameters outside the buckets
    agreement        that all ranks hold the same model; `arguments`: what one may ask for
    mixed_precision, sync_batchnorm
    advice           what is added to an error of the network
    logging_data     what happened in the last iteration, as torch shows it
"""

from minitorch_dist.distributed.ddp.module import (
    DistributedDataParallel as DistributedDataParallel,
)
from minitorch_dist.distributed.ddp.sync_batchnorm import SyncBatchNorm as SyncBatchNorm
