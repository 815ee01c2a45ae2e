"""The same model on several devices of one process, each with its part of the data: `DataParallel`.

    data_parallel  distributed

`DistributedDataParallel`, with a process for each rank, stands in `distributed.ddp`. Its names are also here, as in
PyTorch, and `distributed` is imported when one of them is asked for. Type checkers read `__init__.pyi`.
"""

from __future__ import annotations

import importlib
from typing import Any

from minitorch_dist import not_offered
from minitorch_dist.nn.parallel.data_parallel import DataParallel as DataParallel


def __getattr__(name: str) -> Any:
    if name == "DistributedDataParallel":
        return importlib.import_module("minitorch_dist.distributed.ddp").DistributedDataParallel
    if name == "SyncBatchNorm":
        return importlib.import_module("minitorch_dist.distributed.ddp.sync_batchnorm").SyncBatchNorm
    raise not_offered.no_name(__name__, name)
