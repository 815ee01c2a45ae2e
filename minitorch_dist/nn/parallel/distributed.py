"""PyTorch's address of `DistributedDataParallel`, which stands in `distributed.ddp`."""

from minitorch_dist.inventory import not_offered

not_offered.guard(globals(), {"DistributedDataParallel": "...distributed.ddp"})
