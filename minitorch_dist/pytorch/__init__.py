"""PyTorch itself over our transports: `torch.distributed.init_process_group("mtd")`.

    torch.distributed ──► process_group ──► collectives, point_to_point ──► a transport
    (real PyTorch)        of this room      of `minitorch_dist.distributed`

Read from the ground up:

    tensors_as_arrays   the memory of torch's tensors, as numpy arrays
    errors              our errors, as torch's too
    torch_store         the store that torch has made, as one of ours
    work                operations that go on beside the caller
    virtual_futures     waits of torch's C++: in virtual time, and at the end of a backward
    not_compiled        methods that torch.compile leaves as they are
    sparse              all_reduce of sparse tensors
    reduce_steps        torch's reduce operations as ours
    own_collectives     a function of one's own in place of ours
    process_group       torch's ProcessGroup, over a group of ours
    creation            from torch's store to a world; from ranks to a group
    any_backend         our groups, whatever backend a program names

On simulated ranks, beside these:

    simulated           each rank has what a process has
    virtual_store       the run's store, as torch's
    rank_modules        modules of the user's, and what others keep of a rank
    loader_workers      processes of a DataLoader, outside of the simulation
    spawned_ranks       `torch.multiprocessing.spawn`, where the ranks run already
    cuda_labels         `cuda` as a name for the CPU
    gpu_questions       what programs for GPUs ask, and hear then
    watching            modes that see each operation
    operation_time      operations take a device's time
    gpu_kernels         those that a GPU would run
    storages            memory by category
    shapes              tensors without numbers
    shape_reducer       DistributedDataParallel of these
    device_queue        streams of a device that works beside the program
    folding             one rank runs for all that do the same
    rank_reads          `int(os.environ["RANK"])` of such a rank
    replacing           attributes that are others for the length of a run
    ranks               for pytest's fixture

`import torch` finds the backend by itself (see `mtd_backend`); importing this package registers it too.
"""

from pathlib import Path

import torch
from torch.distributed import Backend

from minitorch_dist.distributed import callsite
from minitorch_dist.pytorch import creation
from transports.virtual import deadlock

if "MTD" not in Backend._plugins:
    Backend.register_backend("mtd", creation.create, extended_api=True, devices=["cpu"])
callsite.add_library(str(Path(torch.__file__).parent))  # the line that errors name is the user's
deadlock.INSIDE.add("torch")
