"""PyTorch's `torch.distributed.rpc`: functions of other workers, and objects that live there.

The path of one call (lesson 22 builds its plain form, over send and recv):

remote_calls   torch's functions, such as rpc_sync
call           the caller's side
message        the form of a message; how it is written, sent and read
worker         what all parts of a worker share, and the messages that arrive
serve          the callee's side
pool           the threads of a worker, and which of them does what
agent          all of one worker, put together

Around it:

init, shutdown how a worker takes part, and how it leaves when all work is done
members        the workers' names and numbers
rref           references to objects, as users see them; `rref_context` says which worker holds which
               object, and `rref_owner` is what the owner answers

torch's users name `options` and `functions` too. The same code runs over every transport, and in
virtual time.
"""

from minitorch_dist.distributed.exceptions import (
    RpcError as RpcError,
    RpcTimeout as RpcTimeout,
    WorkerLost as WorkerLost,
)
from minitorch_dist.distributed.rpc import functions as functions, rref_owner as rref_owner
from minitorch_dist.distributed.rpc.members import WorkerInfo as WorkerInfo
from minitorch_dist.distributed.rpc.options import (
    BackendType as BackendType,
    TensorPipeRpcBackendOptions as TensorPipeRpcBackendOptions,
)
from minitorch_dist.distributed.rpc.remote_calls import (
    get_worker_info as get_worker_info,
    init_rpc as init_rpc,
    is_available as is_available,
    rpc_async as rpc_async,
    rpc_sync as rpc_sync,
    shutdown as shutdown,
)
from minitorch_dist.distributed.rpc.rref import RRef as RRef, remote as remote
from minitorch_dist.inventory import not_offered

not_offered.guard(globals())
