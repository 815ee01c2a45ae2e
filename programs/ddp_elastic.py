"""Workers are killed, and training goes on from the last checkpoint: seed 003's program under torchrun.

    mtdrun --standalone --nproc-per-node 4 --max-restarts 3 programs/ddp_elastic.py --die-at 6
    mtdrun --nnodes 1:4 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint HOST:29400 \\
        --max-restarts 3 programs/ddp_elastic.py                      on each of 1 to 4 machines

    generation 0   step 0 1 2 3 4 5 ✗ rank 1 ends at step 6
    generation 1                 4 5 6 7 8 9                   from the checkpoint before step 4

Corrected against the seed: it is called elastic and cannot go on, since it saves nothing; here rank 0 writes a checkpoint
every few steps, whole or not at all. `device_count()` may be 0 (T8). Addresses come from torchrun alone (T12).
`try … except` around a step would not do: the others are in a collective that one of them left.
"""

import argparse
import os

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.nn as nn
import minitorch_dist.optim as optim
from ddp_basic import ToyModel, batch, device_of
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count


def save(path, step, model, optimizer):
    """Under another name first: who is killed here leaves the checkpoint before."""
    state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, f"{path}.new")
    os.replace(f"{path}.new", path)


def demo_basic(options):
    dist.init_process_group("gloo")
    rank, generation = dist.get_rank(), int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    device, device_ids = device_of(int(os.environ.get("LOCAL_RANK", rank)))
    model = alike(ToyModel()).to(device)
    optimizer = optim.SGD(model.parameters(), lr=options.lr, momentum=0.5)
    first = 0
    if os.path.exists(options.checkpoint):
        saved = torch.load(options.checkpoint, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["step"]
    ddp_model = DDP(model, device_ids=device_ids)
    print(f"Rank {rank} of {dist.get_world_size()}, generation {generation}: from step {first}")

    loss_fn = nn.MSELoss()
    x, labels = batch(rank, device)
    for step in range(first, options.steps):
        if step == options.die_at and generation == 0 and rank == dist.get_world_size() - 1:
            os._exit(13)  # as if killed: nothing is tidied up
        if rank == 0 and step % options.every == 0:
            save(options.checkpoint, step, model, optimizer)
        optimizer.zero_grad()
        loss = loss_fn(ddp_model(x), labels)
        loss.backward()
        optimizer.step()
        if rank == 0:
            print(f"generation {generation} step {step} loss {loss.item():.6f}", flush=True)
    dist.destroy_process_group()


def parser():
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = made.add_argument
    add("--steps", type=count, default=10)
    add("--every", type=count, default=4, help="steps between checkpoints (%(default)s)")
    add("--lr", type=float, default=0.1)
    add("--die-at", type=int, default=-1, help="the last rank ends at this step, the first time")
    add("--checkpoint", default="ddp_elastic.checkpoint", help="a file that all ranks can read")
    return made


if __name__ == "__main__":
    if "RANK" not in os.environ:
        raise SystemExit(
            "torchrun says who is who here:\n"
            "  mtdrun --standalone --nproc-per-node 4 --max-restarts 3 \\\n"
            "         programs/ddp_elastic.py --die-at 6"
        )
    demo_basic(parser().parse_args())
