"""PyTorch itself over our transports: `torch.distributed.init_process_group("mtd")`.

    torch.distributed ──► ProcessGroup ──► collectives, point_to_point ──► a transport
    (real PyTorch)        of this room     of `minitorch_dist.distributed`

Read from the ground up:

    tensors_as_arrays   the memory of torch's tensors, as numpy arrays
    errors              our errors, as torch's too
    torch_store         the store that torch has made, as one of ours
    work                what goes on beside the caller
    sparse              all_reduce of sparse tensors
    process_group       torch's ProcessGroup, over a group of ours
    creation            from torch's store to a world; from ranks to a group

`import torch` finds the backend by itself (see `mtd_backend`); importing this room registers it too.
"""

from pathlib import Path

import torch

from minitorch_dist.distributed import callsite
from mtd_backend import register

register()
callsite.add_library(str(Path(torch.__file__).parent))  # the line that errors name is the user's
