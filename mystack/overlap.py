"""The network works while backward computes.

backward     |--layer 4--|--layer 3--|--layer 2--|--layer 1--|
bucket 0                 |==all_reduce==|
bucket 1                                |==all_reduce==|
bucket 2                                               |==all_reduce==|
bucket 3                                                              |==all_reduce==| step
                         sent when full, in order of their numbers;    waited for at the end

The real one: minitorch_dist/distributed/ddp/reducer.py.
"""

from functools import partial

from . import buckets
from .buckets import pack, unpack

from .face import distributed as dist


class DistributedDataParallel(buckets.DistributedDataParallel):
    """As in lesson 18, but a bucket leaves as soon as it is full."""

    def __init__(self, module, bucket_cap_mb=25):
        super().__init__(module, bucket_cap_mb)
        self.is_averaging = False
        for number, bucket in enumerate(self.buckets):
            for p in bucket:
                p.register_post_accumulate_grad_hook(partial(self.arrived, number))

    def backward_begins(self, grad):
        """As before it leaves a note to call `reduce` at the end.

        (Without a note, as in `no_sync`, nothing is averaged.)
        """
        super().backward_begins(grad)
        self.is_averaging = True
        self.lacking = [len(bucket) for bucket in self.buckets]  # gradients that have not arrived
        self.sent = []  # of each bucket that was launched: its flat gradients, and a Work

    def arrived(self, number, p):
        """Backward has just finished a gradient of bucket `number`."""
        if self.is_averaging:
            self.lacking[number] -= 1
            while len(self.sent) < len(self.buckets) and self.lacking[len(self.sent)] == 0:
                self.launch(self.buckets[len(self.sent)])

    def launch(self, bucket):
        """Begin to sum up a bucket, and do not wait for it."""
        flat = pack(bucket)
        self.sent.append((flat, dist.all_reduce(flat, async_op=True)))

    def reduce(self):
        """Backward is over: what never became full has unused parameters, and goes now.

        The optimizer comes next.
        """
        self.is_averaging = False
        for bucket in self.buckets[len(self.sent) :]:
            self.launch(bucket)
        for bucket, (flat, work) in zip(self.buckets, self.sent, strict=True):
            work.wait()
            flat /= dist.get_world_size()
            unpack(flat, bucket)
