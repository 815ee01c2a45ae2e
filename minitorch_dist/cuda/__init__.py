"""`torch.cuda` for simulated accelerators. Without any, it answers like a CPU-only PyTorch."""

from typing import TYPE_CHECKING

from minitorch_dist.cuda import nccl as nccl
from minitorch_dist.cuda.current import (
    current_device as current_device,
    device as device,
    device_count as device_count,
    get_device_capability as get_device_capability,
    get_device_name as get_device_name,
    get_device_properties as get_device_properties,
    init as init,
    is_available as is_available,
    is_bf16_supported as is_bf16_supported,
    is_initialized as is_initialized,
    set_device as set_device,
    synchronize as synchronize,
)
from minitorch_dist.cuda.memory import (
    empty_cache as empty_cache,
    max_memory_allocated as max_memory_allocated,
    max_memory_reserved as max_memory_reserved,
    mem_get_info as mem_get_info,
    memory_allocated as memory_allocated,
    memory_reserved as memory_reserved,
    memory_stats as memory_stats,
    memory_summary as memory_summary,
    reset_peak_memory_stats as reset_peak_memory_stats,
)
from minitorch_dist.cuda.random import (
    get_rng_state as get_rng_state,
    get_rng_state_all as get_rng_state_all,
    manual_seed as manual_seed,
    manual_seed_all as manual_seed_all,
    set_rng_state as set_rng_state,
    set_rng_state_all as set_rng_state_all,
)
from minitorch_dist.cuda.streams import (
    Event as Event,
    Stream as Stream,
    current_stream as current_stream,
    default_stream as default_stream,
    set_stream as set_stream,
    stream as stream,
)
from minitorch_dist.inventory import not_offered
from minitorch_dist.tensors import ledger as ledger
from minitorch_dist.tensors.ledger import OutOfMemoryError as OutOfMemoryError
from minitorch_dist.tensors.pools import simulated as simulated

if TYPE_CHECKING:
    from minitorch_dist.cuda import amp as amp

not_offered.guard(globals(), {"amp": "amp"})
