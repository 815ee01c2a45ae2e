"""The same model on every rank, each with its part of the data: gradients are averaged in backward.

Lessons 17, 18 and 19 have it in three simple forms: one by one, in buckets, overlapped. Read them first.

module           `DistributedDataParallel`, the module one writes, and what happens in an iteration
reducer          gradients are averaged while backward still computes others
buckets          which gradients travel together; into a bucket and out of it
unused           parameters without a gradient
join_hook        a rank without inputs
agreement        that all ranks hold the same model; `arguments`: what one may ask for
sync_batchnorm   batch normalisation over the batches of all ranks
"""

from minitorch_dist.distributed.ddp.module import DistributedDataParallel as DistributedDataParallel
