"""The four things that remote calls offer, each in a few lines: seed 000's RPC.

    python programs/rpc_intro.py                                 both workers, one command
    python programs/rpc_intro.py --rank 0 | --rank 1             one in each terminal
    python programs/rpc_intro.py --sim                           in virtual time

1. a call: `rpc_sync` waits, `rpc_async` gives a Future, exceptions come back as what they were
2. a reference: `remote` leaves the result where it is made, `RRef` says where; anybody may hold it
3. gradients that travel back along calls (`dist_autograd`)
4. an optimizer that steps each parameter where it lives (`DistributedOptimizer`)

Corrected: the seed's text is for torch 1.4, whose `BackendType.PROCESS_GROUP` is gone (T16), so no
backend is named. Its `_remote_method` sends the method itself and looks for the object there; that
still works and stands here, but `rref.rpc_sync().method(…)` says the same. The seed asks
whether `_parameter_rrefs` makes a second copy of all parameters. Running it answers this: a reference
is a few numbers, and the values stay where they are.
"""

import minitorch_dist as torch
import minitorch_dist.distributed.autograd as dist_autograd
import minitorch_dist.distributed.rpc as rpc
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.optim as optim
from minitorch_dist.distributed.optim import DistributedOptimizer
from minitorch_dist.distributed.rpc import RRef
from seam import alike, count, flags, noise, start


class Line(nn.Module):
    """A model that one worker keeps."""

    def __init__(self, seed):
        super().__init__()
        self.linear = alike(nn.Linear(4, 4), seed)

    def forward(self, x):
        return torch.tanh(self.linear(x))

    def parameter_rrefs(self):
        return _parameter_rrefs(self)


def _parameter_rrefs(module):
    """A reference to each parameter, made where it lives."""
    return [RRef(parameter) for parameter in module.parameters()]


def _call_method(method, rref, *args, **kwargs):
    return method(rref.local_value(), *args, **kwargs)


def _remote_method(method, rref, *args, **kwargs):
    """`method` of the object behind `rref`, where that object is."""
    return rpc.rpc_sync(rref.owner(), _call_method, args=[method, rref, *args], kwargs=kwargs)


def refuse(value):
    raise ValueError(f"worker1 does not want {value}")


def calls():
    total = rpc.rpc_sync("worker1", torch.add, args=(torch.ones(2), 3))
    print("1 + 3, added on worker1:", total.tolist())
    futures = [rpc.rpc_async("worker1", pow, args=(2, n)) for n in range(5)]
    print("five calls under way at once:", [future.wait() for future in futures])
    try:
        rpc.rpc_sync("worker1", refuse, args=(7,))
    except ValueError as error:
        print("an exception comes back as", type(error).__name__)


def references():
    there = rpc.remote("worker1", torch.full, args=((2, 2), 5.0))
    print("an object of", there.owner().name, "| ours:", there.is_owner())
    print("a copy of it:", there.to_here().tolist())


def train(steps):
    """A chain over both workers: the first layer is ours, the second is worker1's."""
    ours, theirs = Line(1), rpc.remote("worker1", Line, args=(2,))
    params = _parameter_rrefs(ours) + theirs.rpc_sync().parameter_rrefs()
    opt = DistributedOptimizer(optim.SGD, params, lr=0.5)
    x, y = torch.from_numpy(noise(3, 8, 4)), torch.from_numpy(noise(4, 8, 4)) * 0.5
    losses = []
    for step in range(steps):
        with dist_autograd.context() as context_id:
            out = _remote_method(Line.forward, theirs, ours(x))
            loss = nn.functional.mse_loss(out, y)
            dist_autograd.backward(context_id, [loss])
            opt.step(context_id)
        losses.append(loss.item())
        print(f"step {step} loss {losses[-1]:.6f}")
    return losses


def run(rank, world_size, options):
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=world_size)
    losses = []
    if rank == 0:
        calls()
        references()
        losses = train(options.steps)
    rpc.shutdown()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    words = "worker0 calls worker1: --world_size is at least 2"
    made.demand(lambda options: options.world_size >= 2, words)
    made.add_argument("--steps", type=count, default=5)
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
