"""Each rank has the whole model and other data; gradients are averaged: seed 003's first program.

    python programs/ddp_basic.py                            four processes, one command
    python programs/ddp_basic.py --world_size 2 --rank 0    a terminal for each (--master_addr=HOST)
    mtdrun --nproc-per-node 4 programs/ddp_basic.py         torchrun; it says who is who
    python programs/ddp_basic.py --sim                      in virtual time

Corrected against the seed:
* `.to(rank)` and `device_ids=[rank]` need an accelerator (T8): here they are used where there is one, and
  `MINITORCH_DIST_DEVICES=4x1GB` makes simulated ones.
* MASTER_ADDR and MASTER_PORT are set only by the launcher. A script that sets them itself waits for
  nobody under torchrun, where the store is the launcher's (T12); and every rank needs both (T13).
* One step shows little: there are some, on data that all ranks draw differently, and the loss falls.
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.optim as optim
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count, flags, noise, start


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))


def device_of(rank):
    """The device of a rank, and what DDP is to be told about it."""
    if torch.cuda.is_available():
        index = rank % torch.cuda.device_count()
        return torch.device(f"cuda:{index}"), [index]
    return torch.device("cpu"), None


def setup(rank, world_size):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()


def batch(rank, device):
    """Twenty samples that only this rank has; the labels follow from the inputs."""
    x = torch.from_numpy(noise(rank, 20, 10))
    return x.to(device), torch.tanh(x[:, :5] + x[:, 5:]).to(device)


def demo_basic(rank, world_size, options):
    setup(rank, world_size)
    device, device_ids = device_of(rank)
    model = alike(ToyModel()).to(device)
    ddp_model = DDP(model, device_ids=device_ids)
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_model.parameters(), lr=options.lr)
    x, labels = batch(rank, device)
    losses = []
    for _ in range(options.steps):
        optimizer.zero_grad()
        loss = loss_fn(ddp_model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    total = torch.tensor(losses)
    dist.all_reduce(total)
    losses = [value / world_size for value in total.tolist()]
    if rank == 0:
        for step, value in enumerate(losses):
            print(f"step {step} loss {value:.6f}")
    print(f"rank {rank} of {world_size} on {device}: first weight {model.net1.weight[0, 0].item():.6f}")
    cleanup()
    return losses


def parser():
    made = flags(__doc__, world_size=4)
    made.add_argument("--steps", type=count, default=10)
    made.add_argument("--lr", type=float, default=0.1)
    return made


run = demo_basic

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
