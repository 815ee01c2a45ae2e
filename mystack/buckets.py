"""Gradients travel in buckets, and only after the last piece of a batch.

parameters     a  b  c  d  e  f        backward finishes f's gradient first, a's last
buckets        [f e] [d c b] [a]       one all_reduce for each of them, when backward is over

A ring of its own for each gradient pays the latency for each gradient. The real ones:
minitorch_dist/distributed/ddp/buckets.py, and reducer.py beside it.
"""

from contextlib import contextmanager

from .replicas import loss, take_from_rank_0
from .ring import all_reduce

from .face import tensors as torch
from .face import distributed as dist
from .face import nn
from .face.autograd import Variable

MIB = 1024 * 1024


def assign(parameters, cap):
    """The parameters in buckets, the last ones first;
    a bucket is closed as soon as it holds `cap` bytes.
    """
    buckets, filling = [], []
    for p in reversed(parameters):
        filling.append(p)
        if sum(p.nbytes for p in filling) >= cap:
            buckets.append(filling)
            filling = []
    return [*buckets, filling] if filling else buckets


def pack(bucket):
    """The bucket's gradients in one vector, one after another."""
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
    return torch.cat([grad.view(-1) for grad in grads])


def unpack(flat, bucket):
    """The gradients become windows on the vector."""
    for p, part in zip(bucket, flat.split([p.numel() for p in bucket]), strict=True):
        p.grad = part.view_as(p)


class DistributedDataParallel(nn.Module):
    """As in lesson 17, for fewer and larger messages."""

    def __init__(self, module, bucket_cap_mb=25):
        super().__init__()
        self.module = module
        self.require_backward_grad_sync = True
        take_from_rank_0([*module.parameters(), *module.buffers()])
        self.trained = [p.requires_grad for p in module.parameters()]
        trained = [p for p in module.parameters() if p.requires_grad]
        self.buckets = assign(trained, bucket_cap_mb * MIB)

    @contextmanager
    def no_sync(self):
        """A forward in this block is not averaged in
        its backward; gradients add up on each rank.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def forward(self, *inputs, **kwargs):
        if self.trained != [p.requires_grad for p in self.module.parameters()]:
            raise RuntimeError(
                "a parameter was frozen, or is trained again, since the buckets were made. It "
                "would be averaged for nothing, or never: wrap the module again"
            )
        if self.require_backward_grad_sync:
            take_from_rank_0(self.module.buffers())
        output = self.module(*inputs, **kwargs)
        if self.require_backward_grad_sync and output.requires_grad:
            output.register_hook(self.backward_begins)
        return output

    def backward_begins(self, grad):
        """Backward has come to our output: when it is over, it is time."""
        Variable._execution_engine.queue_callback(self.reduce)

    def reduce(self):
        """Average what the gradients have collected, with one all_reduce for each bucket."""
        for bucket in self.buckets:
            flat = pack(bucket)
            all_reduce(flat)
            flat /= dist.get_world_size()
            unpack(flat, bucket)


def step(model, optimizer, pieces, total):
    """One step for a batch of `total` samples, of which
    this rank has these `pieces`: a list of (x, y).
    """
    optimizer.zero_grad()
    *others, last = pieces
    for x, y in others:
        with model.no_sync():
            loss(model(x), y, total).backward()
    x, y = last
    loss(model(x), y, total).backward()
    optimizer.step()
