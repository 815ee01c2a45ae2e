"""torch's workers for tests: kinds of messages that fail so many times, or come late.

    from torch.distributed.rpc import _testing, backend_registry

    backend = backend_registry.BackendType.FAULTY_TENSORPIPE     # after `_testing` was imported
    options = backend_registry.construct_rpc_backend_options(
        backend, num_worker_threads=8, num_fail_sends=2,
        messages_to_fail=["RREF_USER_DELETE"], messages_to_delay={"PYTHON_CALL": 1.5})
    rpc.init_rpc("worker0", backend, rpc_backend_options=options)

faults                          what fails, what comes late, and what is sent again
faulty_agent_backend_registry   enters it in `rpc.backend_registry`
"""

from minitorch_dist.distributed.rpc._testing import (
    faulty_agent_backend_registry as faulty_agent_backend_registry,
)
from minitorch_dist.distributed.rpc._testing.faults import (
    FaultyTensorPipeAgent as FaultyTensorPipeAgent,
    FaultyTensorPipeRpcBackendOptions as FaultyTensorPipeRpcBackendOptions,
)


def is_available() -> bool:
    return True
