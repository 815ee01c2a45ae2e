"""Our groups under every backend's name: for ranks that our simulator, or our launcher, has started.

A program that asks for gloo or nccl gets a group of ours. `get_backend()` answers with the name that it asked for.
"""

from __future__ import annotations

from typing import Any

import torch.distributed as torch_dist
from torch.distributed import distributed_c10d as c10d

_helper = c10d._new_process_group_helper


def on_ours(size: int, rank: int, ranks: Any, backend: Any, store: Any, name: Any, **options: Any) -> Any:
    """Torch's function, with our backend whatever name is asked for. Torch hears of that name when it asks."""
    options |= {"backend_options": None, "device_id": None}
    group, prefix = _helper(size, rank, ranks, c10d.Backend("mtd"), store, name, **options)
    if isinstance(group, torch_dist.ProcessGroup):
        here = c10d._world  # on simulated ranks each has its own
        here.pg_map[group] = (c10d.Backend(backend), prefix)
        here.pg_backend_config[group] = str(c10d.BackendConfig(c10d.Backend(backend)))
    return group, prefix


def take_all_names() -> None:
    """In a process that is a rank of our launcher, for good."""
    c10d._new_process_group_helper = on_ours
