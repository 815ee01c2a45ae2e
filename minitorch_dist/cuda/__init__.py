"""`torch.cuda` for simulated accelerators. Without any, it answers like a CPU-only PyTorch."""

from minitorch_dist.cuda.current import can_device_access_peer as can_device_access_peer
from minitorch_dist.cuda.current import current_device as current_device
from minitorch_dist.cuda.current import device as device
from minitorch_dist.cuda.current import device_count as device_count
from minitorch_dist.cuda.current import device_of as device_of
from minitorch_dist.cuda.current import get_arch_list as get_arch_list
from minitorch_dist.cuda.current import get_device_capability as get_device_capability
from minitorch_dist.cuda.current import get_device_name as get_device_name
from minitorch_dist.cuda.current import get_device_properties as get_device_properties
from minitorch_dist.cuda.current import init as init
from minitorch_dist.cuda.current import is_available as is_available
from minitorch_dist.cuda.current import is_bf16_supported as is_bf16_supported
from minitorch_dist.cuda.current import is_initialized as is_initialized
from minitorch_dist.cuda.current import set_device as set_device
from minitorch_dist.cuda.current import synchronize as synchronize
from minitorch_dist.cuda.memory import empty_cache as empty_cache
from minitorch_dist.cuda.memory import (
    get_per_process_memory_fraction as get_per_process_memory_fraction,
)
from minitorch_dist.cuda.memory import ipc_collect as ipc_collect
from minitorch_dist.cuda.memory import max_memory_allocated as max_memory_allocated
from minitorch_dist.cuda.memory import max_memory_reserved as max_memory_reserved
from minitorch_dist.cuda.memory import mem_get_info as mem_get_info
from minitorch_dist.cuda.memory import memory_allocated as memory_allocated
from minitorch_dist.cuda.memory import memory_reserved as memory_reserved
from minitorch_dist.cuda.memory import memory_stats as memory_stats
from minitorch_dist.cuda.memory import memory_summary as memory_summary
from minitorch_dist.cuda.memory import (
    reset_accumulated_memory_stats as reset_accumulated_memory_stats,
)
from minitorch_dist.cuda.memory import reset_max_memory_allocated as reset_max_memory_allocated
from minitorch_dist.cuda.memory import reset_peak_memory_stats as reset_peak_memory_stats
from minitorch_dist.cuda.memory import (
    set_per_process_memory_fraction as set_per_process_memory_fraction,
)
from minitorch_dist.cuda.random import get_rng_state as get_rng_state
from minitorch_dist.cuda.random import get_rng_state_all as get_rng_state_all
from minitorch_dist.cuda.random import initial_seed as initial_seed
from minitorch_dist.cuda.random import manual_seed as manual_seed
from minitorch_dist.cuda.random import manual_seed_all as manual_seed_all
from minitorch_dist.cuda.random import seed as seed
from minitorch_dist.cuda.random import seed_all as seed_all
from minitorch_dist.cuda.random import set_rng_state as set_rng_state
from minitorch_dist.cuda.random import set_rng_state_all as set_rng_state_all
from minitorch_dist.cuda.streams import Event as Event
from minitorch_dist.cuda.streams import Stream as Stream
from minitorch_dist.cuda.streams import StreamContext as StreamContext
from minitorch_dist.cuda.streams import current_stream as current_stream
from minitorch_dist.cuda.streams import default_stream as default_stream
from minitorch_dist.cuda.streams import set_stream as set_stream
from minitorch_dist.cuda.streams import stream as stream
from minitorch_dist.tensors import ledger as ledger
from minitorch_dist.tensors.ledger import OutOfMemoryError as OutOfMemoryError
from minitorch_dist.tensors.pools import simulated as simulated
