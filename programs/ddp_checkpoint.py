"""Rank 0 saves, all wait, all load, and training goes on as if nothing had been: seed 003's checkpoint.

    python programs/ddp_checkpoint.py          --world_size, --rank … as in ddp_basic.py; also --sim

    rank 0   train ── save ──┐ barrier ┌── load ── train
    rank 1   train ──────────┘         └── load ── train

Corrected against the seed:
* `map_location` is where this rank's model is, also on a machine without accelerators (T8).
* A second barrier before the file is removed: that DDP's all_reduce separates loading from removing is true
  only as long as a backward pass stands between them.
* The file's name belongs to this run. The seed's name in the temporary folder is shared by everybody on the host.
* The optimizer's state is saved, too: with momentum, the loss would otherwise take another course. The
  program checks that it takes the same one.
"""

import os
import tempfile

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.optim as optim
from ddp_basic import ToyModel, batch, cleanup, device_of, setup
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count, flags, start


def train(ddp_model, optimizer, rank, device, steps):
    loss_fn, losses = nn.MSELoss(), []
    x, labels = batch(rank, device)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_fn(ddp_model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def fresh(rank, seed):
    device, device_ids = device_of(rank)
    ddp_model = DDP(alike(ToyModel(), seed).to(device), device_ids=device_ids)
    return ddp_model, optim.SGD(ddp_model.parameters(), lr=0.05, momentum=0.9), device


def demo_checkpoint(rank, world_size, options):
    setup(rank, world_size)
    path = [options.path or os.path.join(tempfile.gettempdir(), f"model.{os.getpid()}.checkpoint")]
    dist.broadcast_object_list(path)  # rank 0's, so that all mean one file
    model, optimizer, device = fresh(rank, seed=0)
    losses = train(model, optimizer, rank, device, options.steps)
    if rank == 0:  # all have the same parameters, so one copy is enough
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path[0])
    dist.barrier()  # nobody reads before it is written
    straight_on = train(model, optimizer, rank, device, options.steps)

    model, optimizer, device = fresh(rank, seed=1)  # as after a crash: other weights, no momentum
    saved = torch.load(path[0], map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    resumed = train(model, optimizer, rank, device, options.steps)
    dist.barrier()  # nobody removes before all have read
    if rank == 0:
        os.remove(path[0])
        for step, loss in enumerate(losses + resumed):
            print(f"step {step} loss {loss:.6f}" + (" (loaded)" if step == len(losses) else ""))
    assert resumed == straight_on, f"rank {rank}: {resumed} after loading, {straight_on} without"
    cleanup()
    return losses + resumed


def parser():
    made = flags(__doc__, world_size=4)
    made.add_argument("--steps", type=count, default=5, help="before saving, and after loading")
    made.add_argument("--path", help="where to save (a name of its own in the temporary folder)")
    return made


run = demo_checkpoint

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
