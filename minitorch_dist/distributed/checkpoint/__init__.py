"""Checkpoints of states that lie on many ranks, loaded by any number of them.

From the ground up: `pieces` (boxes, and who writes which), `stateful` and `state` (a nested state as a flat
table), `folder` (the files), `values` (what is no tensor), `metadata` and `planner` (plans as torch has them),
`default_planner`, `storage` and `filesystem` (places), `planned` (a plan carried out), `api` (torch's functions).
"""

from minitorch_dist.distributed.checkpoint.api import (
    async_save as async_save,
    load as load,
    save as save,
)
from minitorch_dist.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner as DefaultLoadPlanner,
    DefaultSavePlanner as DefaultSavePlanner,
)
from minitorch_dist.distributed.checkpoint.filesystem import (
    FileSystemReader as FileSystemReader,
    FileSystemWriter as FileSystemWriter,
)
from minitorch_dist.distributed.checkpoint.folder import (
    Checkpoint as Checkpoint,
    CheckpointException as CheckpointException,
)
from minitorch_dist.distributed.checkpoint.metadata import (
    BytesStorageMetadata as BytesStorageMetadata,
    ChunkStorageMetadata as ChunkStorageMetadata,
    Metadata as Metadata,
    TensorStorageMetadata as TensorStorageMetadata,
)
from minitorch_dist.distributed.checkpoint.planner import (
    LoadPlan as LoadPlan,
    LoadPlanner as LoadPlanner,
    ReadItem as ReadItem,
    SavePlan as SavePlan,
    SavePlanner as SavePlanner,
    WriteItem as WriteItem,
)
from minitorch_dist.distributed.checkpoint.stateful import Stateful as Stateful
from minitorch_dist.distributed.checkpoint.storage import (
    StorageReader as StorageReader,
    StorageWriter as StorageWriter,
)
