"""Checkpoints of states that lie on many ranks, loaded by any number of them.

From the ground up: `pieces` (boxes, and who writes which), `state` (a nested state as a flat table),
`folder` (the files), `values` (what is no tensor), `api` (torch's functions).
"""

from minitorch_dist.distributed.checkpoint.api import (
    FileSystemReader as FileSystemReader,
    FileSystemWriter as FileSystemWriter,
    async_save as async_save,
    load as load,
    save as save,
)
from minitorch_dist.distributed.checkpoint.folder import (
    Checkpoint as Checkpoint,
    CheckpointException as CheckpointException,
)
from minitorch_dist.distributed.checkpoint.state import Stateful as Stateful
