"""PyTorch's `torch.distributed`: ranks, groups, and what they say to each other.

Read from the ground up: `wire` (the header of a message), `receives` and `mailbox` (which message
belongs where), `operations` (one collective), `world` (one rank), `groups`, `point_to_point`,
`work` (what goes on beside the caller), `rendezvous` and `bootstrap` (how a world begins). These
move numpy arrays; `process_group`, `messages` and `distributed_c10d` are torch's face on tensors.
"""

from __future__ import annotations

from minitorch_dist.distributed.backends import Backend as Backend
from minitorch_dist.distributed.backends import BackendConfig as BackendConfig
from minitorch_dist.distributed.distributed_c10d import abort as abort
from minitorch_dist.distributed.distributed_c10d import default_pg_timeout as default_pg_timeout
from minitorch_dist.distributed.distributed_c10d import (
    destroy_process_group as destroy_process_group,
)
from minitorch_dist.distributed.distributed_c10d import get_backend as get_backend
from minitorch_dist.distributed.distributed_c10d import get_backend_config as get_backend_config
from minitorch_dist.distributed.distributed_c10d import (
    get_default_backend_for_device as get_default_backend_for_device,
)
from minitorch_dist.distributed.distributed_c10d import get_global_rank as get_global_rank
from minitorch_dist.distributed.distributed_c10d import get_group_rank as get_group_rank
from minitorch_dist.distributed.distributed_c10d import get_node_local_rank as get_node_local_rank
from minitorch_dist.distributed.distributed_c10d import get_pg_count as get_pg_count
from minitorch_dist.distributed.distributed_c10d import (
    get_process_group_ranks as get_process_group_ranks,
)
from minitorch_dist.distributed.distributed_c10d import get_rank as get_rank
from minitorch_dist.distributed.distributed_c10d import get_world_size as get_world_size
from minitorch_dist.distributed.distributed_c10d import init_process_group as init_process_group
from minitorch_dist.distributed.distributed_c10d import is_available as is_available
from minitorch_dist.distributed.distributed_c10d import (
    is_backend_available as is_backend_available,
)
from minitorch_dist.distributed.distributed_c10d import is_gloo_available as is_gloo_available
from minitorch_dist.distributed.distributed_c10d import is_initialized as is_initialized
from minitorch_dist.distributed.distributed_c10d import is_mpi_available as is_mpi_available
from minitorch_dist.distributed.distributed_c10d import is_nccl_available as is_nccl_available
from minitorch_dist.distributed.distributed_c10d import (
    is_torchelastic_launched as is_torchelastic_launched,
)
from minitorch_dist.distributed.distributed_c10d import is_ucc_available as is_ucc_available
from minitorch_dist.distributed.distributed_c10d import is_xccl_available as is_xccl_available
from minitorch_dist.distributed.distributed_c10d import new_group as new_group
from minitorch_dist.distributed.distributed_c10d import new_subgroups as new_subgroups
from minitorch_dist.distributed.distributed_c10d import (
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
)
from minitorch_dist.distributed.distributed_c10d import split_group as split_group
from minitorch_dist.distributed.exceptions import DistBackendError as DistBackendError
from minitorch_dist.distributed.exceptions import DistError as DistError
from minitorch_dist.distributed.exceptions import DistMismatch as DistMismatch
from minitorch_dist.distributed.exceptions import DistNetworkError as DistNetworkError
from minitorch_dist.distributed.exceptions import DistStoreError as DistStoreError
from minitorch_dist.distributed.exceptions import DistTimeout as DistTimeout
from minitorch_dist.distributed.exceptions import PeerFailed as PeerFailed
from minitorch_dist.distributed.exceptions import PeerLost as PeerLost
from minitorch_dist.distributed.exceptions import QueueEmptyError as QueueEmptyError
from minitorch_dist.distributed.messages import P2POp as P2POp
from minitorch_dist.distributed.messages import batch_isend_irecv as batch_isend_irecv
from minitorch_dist.distributed.messages import irecv as irecv
from minitorch_dist.distributed.messages import isend as isend
from minitorch_dist.distributed.messages import recv as recv
from minitorch_dist.distributed.messages import send as send
from minitorch_dist.distributed.process_group import GroupMember as GroupMember
from minitorch_dist.distributed.process_group import ProcessGroup as ProcessGroup
from minitorch_dist.distributed.process_group import group as group
from minitorch_dist.distributed.reduce_op import ReduceOp as ReduceOp
from minitorch_dist.distributed.rendezvous import (
    register_rendezvous_handler as register_rendezvous_handler,
)
from minitorch_dist.distributed.work import Work as Work
from transports.stores import HashStore as HashStore
from transports.stores import PrefixStore as PrefixStore
from transports.stores import Store as Store
from transports.tcp_store import TCPStore as TCPStore
