# What type checkers read of this package. At run time its names are looked up when they are asked for.
from minitorch_dist.distributed.ddp import DistributedDataParallel as DistributedDataParallel
from minitorch_dist.distributed.ddp.sync_batchnorm import SyncBatchNorm as SyncBatchNorm
from minitorch_dist.nn.parallel.data_parallel import DataParallel as DataParallel
