"""PyTorch's `torch.distributed.rpc`: functions of other workers, and objects that live there.

Read `plain` first: a call and its reply over send and recv. Then the road of one call:

api            torch's functions, such as rpc_sync
call           the caller's side
message        the form of a message; how it is written, sent and read
worker         what all parts of a worker share, and the messages that arrive
serve          the callee's side
pool           the threads of a worker, and which of them does what
agent          all of one worker, put together

Around it:

init, shutdown how a worker takes part, and how it leaves when all work is done
members, join  the workers' names and numbers; workers that join one by one
retry          what both sides add where messages may get lost
rref           references to objects, as users see them; `rref_context` says which worker holds which
               object, and `rref_owner` is what the owner answers, and what can be seen of it

`backend_registry` lists the kinds of agents; `_testing` has one whose messages fail or come late.

torch's users name `options`, `constants` and `functions` too. The same code runs over every transport, and in
virtual time.
"""

from minitorch_dist import not_offered
from minitorch_dist.distributed.exceptions import (
    RpcError as RpcError,
    RpcTimeout as RpcTimeout,
    WorkerLost as WorkerLost,
)
from minitorch_dist.distributed.rpc import (
    backend_registry as backend_registry,
    constants as constants,
    functions as functions,
)
from minitorch_dist.distributed.rpc.agent import (
    TensorPipeAgent as TensorPipeAgent,
    _get_current_rpc_agent as _get_current_rpc_agent,
    _is_current_rpc_agent_set as _is_current_rpc_agent_set,
)
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
from minitorch_dist.distributed.rpc.backend_registry import BackendType as BackendType
from minitorch_dist.distributed.rpc.members import WorkerInfo as WorkerInfo
from minitorch_dist.distributed.rpc.options import (
    RpcBackendOptions as RpcBackendOptions,
    TensorPipeRpcBackendOptions as TensorPipeRpcBackendOptions,
)
from minitorch_dist.distributed.rpc.rref import (
    PyRRef as PyRRef,
    RRef as RRef,
    remote as remote,
)
from minitorch_dist.distributed.rpc.rref_owner import (
    _get_debug_info as _get_debug_info,
    _rref_context_get_debug_info as _rref_context_get_debug_info,
    debug_rrefs as debug_rrefs,
)

not_offered.guard(globals())
