"""The same model on several devices of one process, each with its part of the data: `DataParallel`.

    data_parallel  distributed

`DistributedDataParallel`, with a process for each rank, stands in `distributed.ddp`. Its names are also here, as in
PyTorch, and `distributed` is imported when one of them is asked for. Type checkers read `__init__.pyi`.
"""

from minitorch_dist.inventory import not_offered
from minitorch_dist.nn.parallel.data_parallel import DataParallel as DataParallel

not_offered.guard(
    globals(), {"DistributedDataParallel": "..distributed.ddp", "SyncBatchNorm": "..distributed.ddp.sync_batchnorm"}
)
