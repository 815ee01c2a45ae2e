"""`_get_ddp_logging_data`: DDP's arguments, its decisions, and its times."""

from __future__ import annotations

from typing import Any, Protocol

from minitorch_dist.distributed.ddp.reducer import Reducer
from minitorch_dist.distributed.torch_api.process_group import ProcessGroup
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.ops.linear_algebra.products import C_NAMES


class Wrapped(Protocol):
    """The part of a DistributedDataParallel that is needed here."""

    module: Any
    process_group: ProcessGroup
    reducer: Reducer
    device_ids: list[int] | None
    output_device: int | None
    forward_sync_buffers: bool
    find_unused_parameters: bool
    gradient_as_bucket_view: bool
    static_graph: bool
    is_multi_device_module: bool
    _comm_hook_name: str


def of(ddp: Wrapped) -> dict[str, Any]:
    reducer, group = ddp.reducer, ddp.process_group
    measured = reducer.measured
    rebuilt = reducer.has_rebuilt
    return {
        "rank": group.rank(),
        "world_size": group.size(),
        "backend_name": group.name(),
        "module_name": type(ddp.module).__name__,
        "iteration": reducer.iteration,
        "num_parameter_tensors": len(reducer.parameters),
        "total_parameter_size_bytes": sum(p.array.nbytes for p in reducer.parameters),
        "dtypes": ", ".join(sorted({C_NAMES[str(p.array.dtype)] for p in reducer.parameters})),
        "device_ids": ", ".join(str(index) for index in ddp.device_ids or ()),
        "output_device": -1 if ddp.output_device is None else ddp.output_device,
        "is_multi_device_module": int(ddp.is_multi_device_module),
        "broadcast_buffers": int(ddp.forward_sync_buffers),
        "find_unused_parameters": int(ddp.find_unused_parameters),
        "gradient_as_bucket_view": int(ddp.gradient_as_bucket_view),
        "static_graph": int(ddp.static_graph),
        "has_sync_bn": int(_has_sync_bn(ddp.module)),
        "comm_hook": ddp._comm_hook_name,
        "bucket_cap_bytes": reducer.caps.usual,
        "bucket_sizes": ", ".join(str(size) for size in reducer.first_sizes),
        "has_rebuilt_buckets": int(rebuilt),
        "rebuilt_bucket_sizes": _sizes(reducer) if rebuilt else "",
        "rebuilt_per_bucket_param_indices": _indices(reducer) if rebuilt else "",
        "prev_iteration_grad_ready_order_indices": ", ".join(str(n) for n in reducer.order),
        "num_buckets_reduced": len(measured.sent),
        "unused_parameter_size": sum(
            reducer.parameters[number].array.nbytes for number in reducer.missing
        ),
        "can_set_static_graph": reducer.may_be_static,
        **measured.times(),
        **reducer.totals.averages(),
        "buckets": measured.per_bucket(),
        **({} if reducer.failure is None else {"has_error": 1, "error": reducer.failure}),
    }


def _sizes(reducer: Reducer) -> str:
    return ", ".join(str(bucket.nbytes) for bucket in reducer.buckets)


def _indices(reducer: Reducer) -> str:
    return ", ".join(" ".join(map(str, bucket.numbers)) for bucket in reducer.buckets)


def _has_sync_bn(module: Module) -> bool:
    return any(type(layer).__name__ == "SyncBatchNorm" for layer in module.modules())
