"""PyTorch's `torch.distributed.rpc`: functions of other workers, and objects that live there.

Read from the ground up: `frames` and `post` (messages come and go), `writing`, `calls` and `outstanding` (one
call, and all of them), `crew` and `watch` (which thread does what), `calling` (our side of a call) and `serving`
(the other side), `agent` (all of one worker),
`ending` (shutdown), `roll` and `joining` (worlds that grow), `beginning`, `api`, `gatherings`, `references`
(who holds what), `owning`, `rref`.
What torch's users name: `options`, `constants`, `functions`. What is asked besides calls: `operations`; what a
call carries besides values: `baggage`; what can be seen: `looking`; what can go wrong: `errors`.
The same code runs over every transport, and in virtual time.
"""

from minitorch_dist.distributed.rpc import constants as constants, functions as functions
from minitorch_dist.distributed.rpc.api import (
    _all_gather as _all_gather,
    _barrier as _barrier,
    _get_worker_infos as _get_worker_infos,
    _set_rpc_timeout as _set_rpc_timeout,
    _wait_all as _wait_all,
    get_rpc_timeout as get_rpc_timeout,
    get_worker_info as get_worker_info,
    init_rpc as init_rpc,
    is_available as is_available,
    rpc_async as rpc_async,
    rpc_sync as rpc_sync,
    shutdown as shutdown,
)
from minitorch_dist.distributed.rpc.errors import (
    RpcError as RpcError,
    RpcTimeout as RpcTimeout,
    WorkerLost as WorkerLost,
)
from minitorch_dist.distributed.rpc.looking import (
    TensorPipeAgent as TensorPipeAgent,
    _get_current_rpc_agent as _get_current_rpc_agent,
    _get_debug_info as _get_debug_info,
    _is_current_rpc_agent_set as _is_current_rpc_agent_set,
    _rref_context_get_debug_info as _rref_context_get_debug_info,
    debug_rrefs as debug_rrefs,
)
from minitorch_dist.distributed.rpc.options import (
    BackendType as BackendType,
    RpcBackendOptions as RpcBackendOptions,
    TensorPipeRpcBackendOptions as TensorPipeRpcBackendOptions,
)
from minitorch_dist.distributed.rpc.rref import (
    PyRRef as PyRRef,
    RRef as RRef,
    remote as remote,
)
from minitorch_dist.distributed.rpc.workers import WorkerInfo as WorkerInfo
