"""The same model on several devices or ranks, each with its part of the data.

`DistributedDataParallel`, a process for each rank:

    distributed      the module one writes, and what happens in an iteration
    reducer          gradients are averaged while backward still computes others
    buckets          which of them travel together; `gradients`: into a bucket and out of it
    watching         hooks on the graph: reached by a backward, complete
    delayed          parameters outside the buckets; `unused`: those without a gradient
    agreement        that all ranks hold the same model; `arguments`: what one may ask for
    mixed_precision, buffer_hook, shadow (for `Join`), sync_batchnorm
    advice           what is added to an error of the network
    logging_data, measured      what happened in the last iteration, and when

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
