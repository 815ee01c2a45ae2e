"""PyTorch's `torch.distributed`: ranks, groups, and what they say to each other.

Read from the ground up:

    schedules         collectives as data: each rank's sends and receives
    mail              which message belongs to which receive
    execution         from a schedule to bytes that move
    world             one rank, and all that belongs to it
    groups            some of the ranks, numbered anew
    new_groups        how groups are made
    work              what goes on beside the caller
    collectives       what a group does together, on numpy arrays
    point_to_point    from one rank to another
    prepared          a collective call that is ready to run
    fast              faster ways to carry it out: on a board, by borrowing
    overlaps          arguments that share memory: refused, or copied
    rendezvous        how ranks find their store
    bootstrap         how a world begins
    exit_check        how a world ends: did all ranks come to the same end?
    forked            a child that is forked from a rank
    torch_api         torch's functions on tensors
    distributed_c10d  worlds under torch's names
    device_mesh       grids of ranks
    nested_tensors    the tensors in what a module is given or returns

Errors and checks:

    exceptions         torch's types of error
    flight             what all ranks were doing when one waited too long
    circles            ranks that wait for each other for ever
    callsite           the user's line that called
    traces             tracebacks that end at that line
    slow_start         a waiting rank says for whom it waits
    aside              questions to the store that must hold up nobody
    leftover_messages  messages that nobody received

Choices: `backends`, `reduce_op` and `reductions`.

Upon these stand `ddp`, `rpc`, `autograd`, `optim`, `fsdp`, `tensor` (and `_tensor`, its old address), `nn`, `pipelining`,
`checkpoint`, and `algorithms` (with `grad_bucket`, the argument of DDP's hooks). Beside them stand
`journal` (the record of a run), `codec` (objects as bytes), and `elastic` with `run` and `launch` (workers
that are started, and again).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from minitorch_dist.distributed import fast as fast, world
from minitorch_dist.distributed.backends import Backend as Backend
from minitorch_dist.distributed.distributed_c10d import (
    default_pg_timeout as default_pg_timeout,
    destroy_process_group as destroy_process_group,
    get_backend as get_backend,
    get_default_backend_for_device as get_default_backend_for_device,
    get_global_rank as get_global_rank,
    get_group_rank as get_group_rank,
    get_process_group_ranks as get_process_group_ranks,
    get_rank as get_rank,
    get_world_size as get_world_size,
    init_process_group as init_process_group,
    is_available as is_available,
    is_initialized as is_initialized,
    is_nccl_available as is_nccl_available,
    new_group as new_group,
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
)
from minitorch_dist.distributed.exceptions import (
    DistBackendError as DistBackendError,
    DistError as DistError,
    DistMismatch as DistMismatch,
    DistNetworkError as DistNetworkError,
    DistStoreError as DistStoreError,
    DistTimeout as DistTimeout,
    PeerFailed as PeerFailed,
    PeerLost as PeerLost,
    QueueEmptyError as QueueEmptyError,
)
from minitorch_dist.distributed.grad_bucket import GradBucket as GradBucket
from minitorch_dist.distributed.groups import GroupMember as GroupMember, ProcessGroup as ProcessGroup, group as group
from minitorch_dist.distributed.reduce_op import (
    ReduceOp as ReduceOp,
    _make_nccl_premul_sum as _make_nccl_premul_sum,
    reduce_op as reduce_op,
)
from minitorch_dist.distributed.schedules.choice import register_schedule as register_schedule
from minitorch_dist.distributed.torch_api.messages import (
    P2POp as P2POp,
    batch_isend_irecv as batch_isend_irecv,
    irecv as irecv,
    isend as isend,
    recv as recv,
    recv_object_list as recv_object_list,
    send as send,
    send_object_list as send_object_list,
)
from minitorch_dist.distributed.torch_api.object_collectives import (
    all_gather_object as all_gather_object,
    broadcast_object_list as broadcast_object_list,
    gather_object as gather_object,
    monitored_barrier as monitored_barrier,
    scatter_object_list as scatter_object_list,
)
from minitorch_dist.distributed.torch_api.tensor_collectives import (
    _all_gather_base as _all_gather_base,
    _reduce_scatter_base as _reduce_scatter_base,
    all_gather as all_gather,
    all_gather_into_tensor as all_gather_into_tensor,
    all_gather_single as all_gather_single,
    all_reduce as all_reduce,
    all_to_all as all_to_all,
    all_to_all_single as all_to_all_single,
    barrier as barrier,
    broadcast as broadcast,
    gather as gather,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
    reduce_scatter_single as reduce_scatter_single,
    reduce_scatter_tensor as reduce_scatter_tensor,
    scatter as scatter,
)
from minitorch_dist.distributed.work import Work as Work
from minitorch_dist.inventory import not_offered
from transports.stores.store import HashStore as HashStore, PrefixStore as PrefixStore, Store as Store
from transports.stores.tcp import TCPStore as TCPStore

if TYPE_CHECKING:
    from minitorch_dist.distributed.device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
    from transports.stores.file import FileStore as FileStore


_WHEN_NAMED: Final = {
    "DeviceMesh": "minitorch_dist.distributed.device_mesh",
    "FileStore": "transports.stores.file",
    "init_device_mesh": "minitorch_dist.distributed.device_mesh",
}
_UPPER: Final = ("algorithms", "autograd", "rpc")


def __getattr__(name: str) -> Any:
    """Import it when it is named: few programs need the first three, and nothing here stands on the packages."""
    if name in _WHEN_NAMED:
        return getattr(importlib.import_module(_WHEN_NAMED[name]), name)
    if name in _UPPER:
        return importlib.import_module(f"{__name__}.{name}")
    raise not_offered.no_name(__name__, name)


def _open_layers_above_rpc() -> None:
    """Import what stands above RPC, so that it registers what peers may ask of it.

    Autograd registers its operations. The others register functions, which matter only where pickle is
    forbidden: elsewhere functions are found by their names.
    """
    from minitorch_dist.distributed import autograd  # noqa: F401
    from minitorch_dist.distributed.codec import trust

    if not trust.of_peers().may_pickle:
        from minitorch_dist.distributed import nn, optim  # noqa: F401


world.before_rpc.append(_open_layers_above_rpc)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHEN_NAMED, *_UPPER})
