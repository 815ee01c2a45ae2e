"""The same model on several devices of one process, each with its part of the data: `DataParallel`.

    data_parallel  scatter_gather  replicate  parallel_apply
    comm  over_devices      copies between devices, and gradients back through them

`DistributedDataParallel`, with a process for each rank, stands in `distributed.ddp`. Its names are also here, as in
PyTorch, and `distributed` is imported when one of them is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from minitorch_dist import not_offered
from minitorch_dist.nn.parallel.data_parallel import (
    DataParallel as DataParallel,
    data_parallel as data_parallel,
)
from minitorch_dist.nn.parallel.parallel_apply import parallel_apply as parallel_apply
from minitorch_dist.nn.parallel.replicate import replicate as replicate
from minitorch_dist.nn.parallel.scatter_gather import (
    gather as gather,
    scatter as scatter,
    scatter_kwargs as scatter_kwargs,
)

if TYPE_CHECKING:
    from minitorch_dist.distributed.ddp import DistributedDataParallel as DistributedDataParallel
    from minitorch_dist.distributed.ddp.sync_batchnorm import SyncBatchNorm as SyncBatchNorm


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":
        return importlib.import_module("minitorch_dist.distributed.ddp").DistributedDataParallel
    if name == "SyncBatchNorm":
        return importlib.import_module("minitorch_dist.distributed.ddp.sync_batchnorm").SyncBatchNorm
    raise not_offered.no_name(__name__, name)
