"""Data parallel training in three steps, each some 50 lines on public hooks. The fast form is `distributed`.

    Naive         backward ends ─► all_reduce of each gradient, one after the other
    Bucketed      backward ends ─► all_reduce of each bucket of gradients
    Overlapped    a bucket is full ─► its all_reduce begins; backward goes on meanwhile

All three keep the same promise: every rank begins with rank 0's weights, and after each backward pass
`p.grad` is the average of the ranks' gradients. Then equal optimizers take equal steps, and the ranks stay
equal. `DistributedDataParallel` keeps it too; a test compares all four bit for bit. It has more besides:
parameters that the loss leaves out, buffers, communication hooks, gradients that look into their bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from minitorch_dist.autograd import Variable
from minitorch_dist.distributed.torch_api import membership, tensor_collectives as dist
from minitorch_dist.distributed.work import Work
from minitorch_dist.nn.modules.module import Module
from minitorch_dist.tensors.autograd import grad_modes
from minitorch_dist.tensors.ops.making import creation
from minitorch_dist.tensors.ops.shapes import joining
from minitorch_dist.tensors.tensor import Tensor

MIB = 1024 * 1024


class Naive(Module):
    """One all_reduce for each gradient, when backward is over: it pays the latency for each of them."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module
        self.trained: list[Tensor] = [p for p in module.parameters() if p.requires_grad]
        self.require_backward_grad_sync = True
        with grad_modes.no_grad():
            for tensor in [*module.parameters(), *module.buffers()]:
                dist.broadcast(tensor, 0)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        output = self.module(*inputs, **kwargs)
        if self.require_backward_grad_sync and output.requires_grad:
            output.register_hook(self.backward_begins)
        return output

    def backward_begins(self, grad: Tensor) -> None:
        """Backward has come to our output. When it is over, the gradients are averaged."""
        Variable._execution_engine.queue_callback(self.reduce)

    def reduce(self) -> None:
        """Average what backward has collected."""
        for p in self.trained:
            average(gradient(p))

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Gradients of what goes forward in this block add up on each rank, and are not averaged."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before


def gradient(p: Tensor) -> Tensor:
    """A parameter's gradient; zeros where this rank's samples did not need the parameter."""
    if p.grad is None:
        p.grad = creation.zeros_like(p)
    return p.grad


def average(tensor: Tensor) -> None:
    """The average over the ranks, in place. It is divided first, so that a sum of halves cannot overflow."""
    tensor.div_(membership.get_world_size())
    dist.all_reduce(tensor)


class Bucketed(Naive):
    """One all_reduce for each bucket: fewer and larger messages."""

    def __init__(self, module: Module, bucket_cap_mb: float = 25) -> None:
        super().__init__(module)
        self.buckets = assign(self.trained, bucket_cap_mb * MIB)

    def reduce(self) -> None:
        for bucket in self.buckets:
            flat = pack(bucket)
            average(flat)
            unpack(flat, bucket)


def assign(parameters: Iterable[Tensor], cap: float) -> list[list[Tensor]]:
    """The parameters in buckets. The last come first, since backward finishes their gradients first.

    A bucket is closed as soon as it holds `cap` bytes. Its parameters have one dtype.
    """
    buckets: list[list[Tensor]] = []
    is_full = True
    for p in reversed(list(parameters)):
        if is_full or buckets[-1][0].dtype != p.dtype:
            buckets.append([])
        buckets[-1].append(p)
        is_full = sum(member.nbytes for member in buckets[-1]) >= cap
    return buckets


def pack(bucket: list[Tensor]) -> Tensor:
    """The bucket's gradients in one vector, one after another."""
    return joining.cat([gradient(p).reshape(-1) for p in bucket])


def unpack(flat: Tensor, bucket: list[Tensor]) -> None:
    """The parts of the vector become the gradients."""
    begin = 0
    for p in bucket:
        p.grad = flat[begin : begin + p.numel()].view(p.shape)
        begin += p.numel()


class Overlapped(Bucketed):
    """A bucket leaves when its last gradient is there, and travels while backward computes the others.

    Buckets leave in the order of their numbers on every rank. The n-th all_reduce of one rank meets the
    n-th of the others, and gradients may arrive in another order there.
    """

    def __init__(self, module: Module, bucket_cap_mb: float = 25) -> None:
        super().__init__(module, bucket_cap_mb)
        self.is_averaging = False
        self.lacking: list[int] = []  # of each bucket: gradients that have not arrived
        self.sent: list[tuple[Tensor, Work]] = []  # of each bucket that has left
        for number, bucket in enumerate(self.buckets):
            for p in bucket:
                p.register_post_accumulate_grad_hook(partial(self.arrived, number))

    def backward_begins(self, grad: Tensor) -> None:
        super().backward_begins(grad)
        self.is_averaging = True
        self.lacking = [len(bucket) for bucket in self.buckets]
        self.sent = []

    def arrived(self, number: int, p: Tensor) -> None:
        """Backward has just finished a gradient of bucket `number`."""
        if self.is_averaging:
            self.lacking[number] -= 1
            while len(self.sent) < len(self.buckets) and self.lacking[len(self.sent)] == 0:
                self.launch(self.buckets[len(self.sent)])

    def launch(self, bucket: list[Tensor]) -> None:
        """Begin to average a bucket, and do not wait for it."""
        flat = pack(bucket).div_(membership.get_world_size())
        work = dist.all_reduce(flat, async_op=True)
        assert work is not None
        self.sent.append((flat, work))

    def reduce(self) -> None:
        """Backward is over. A bucket that is not full now has unused parameters, and leaves as it is."""
        self.is_averaging = False
        for bucket in self.buckets[len(self.sent) :]:
            self.launch(bucket)
        for bucket, (flat, work) in zip(self.buckets, self.sent, strict=True):
            work.wait()
            unpack(flat, bucket)
