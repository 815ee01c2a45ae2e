"""Checkpoints of states that lie on many ranks, loaded by any number of them.

From the ground up:

    pieces              boxes of tensors, and which rank writes which
    exact_cover         whether boxes cover a tensor exactly once
    stateful            what a checkpoint asks for its state
    state               a nested state as a flat table
    values              entries that are no tensors
    index               the file that makes a checkpoint valid
    folder              the files, to read
    writing             the files, written and swept
    default_planner     options of saving and loading under torch's names
    filesystem          a folder under torch's names
    saving_and_loading  torch's functions
    state_dict_saver    torch's address of `save`
    state_dict_loader   torch's address of `load`
    state_dict          states under the bare model's names, whatever wraps it
    first_step          state that an optimizer makes at its first step only
"""

from minitorch_dist.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner as DefaultLoadPlanner,
    DefaultSavePlanner as DefaultSavePlanner,
)
from minitorch_dist.distributed.checkpoint.filesystem import (
    FileSystemReader as FileSystemReader,
    FileSystemWriter as FileSystemWriter,
)
from minitorch_dist.distributed.checkpoint.folder import Checkpoint as Checkpoint
from minitorch_dist.distributed.checkpoint.index import CheckpointException as CheckpointException
from minitorch_dist.distributed.checkpoint.saving_and_loading import load as load, save as save
from minitorch_dist.distributed.checkpoint.stateful import Stateful as Stateful
from minitorch_dist.inventory import not_offered

not_offered.guard(globals())
