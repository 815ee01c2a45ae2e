"""The same model on several devices or ranks, each with its part of the data."""

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
