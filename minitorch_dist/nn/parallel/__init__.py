"""The same model on several devices or ranks, each with its part of the data.

`DistributedDataParallel`, a process for each rank:

    steps            three simple forms: naive, in buckets, overlapped. Read them first
    distributed      the module one writes, and what happens in an iteration
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

`DataParallel`, one process and several simulated devices:

    data_parallel  scatter_gather  replicate  parallel_apply
    comm  over_devices      copies between devices, and gradients back through them
"""

from minitorch_dist.nn.parallel.data_parallel import (
    DataParallel as DataParallel,
    data_parallel as data_parallel,
)
from minitorch_dist.nn.parallel.distributed import (
    DistributedDataParallel as DistributedDataParallel,
)
from minitorch_dist.nn.parallel.parallel_apply import parallel_apply as parallel_apply
from minitorch_dist.nn.parallel.replicate import replicate as replicate
from minitorch_dist.nn.parallel.scatter_gather import (
    gather as gather,
    scatter as scatter,
    scatter_kwargs as scatter_kwargs,
)
from minitorch_dist.nn.parallel.sync_batchnorm import SyncBatchNorm as SyncBatchNorm
