"""A model too large for one device lies on two, and each rank has two of its own: seed 003's third program.

    MINITORCH_DIST_DEVICES=4x1GB python programs/ddp_model_parallel.py       four simulated devices, two ranks

    rank 0   cuda:0 ─ net1 ─ relu ─► cuda:1 ─ net2 ─► loss ┐
    rank 1   cuda:2 ─ net1 ─ relu ─► cuda:3 ─ net2 ─► loss ┴ gradients averaged per device

Without devices both halves are on the CPU, and it runs all the same; --rank, --sim as in ddp_basic.py.

Corrected against the seed: it asks for two devices per rank and goes on without (T8); DDP gets no `device_ids`, which
it refuses for a model on several devices (T11). It says what each device holds, out of the ledger.
"""

import minitorch_dist as torch
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.optim as optim
from ddp_basic import batch, cleanup, setup
from minitorch_dist.nn.parallel import DistributedDataParallel as DDP
from seam import alike, count, flags, start


class ToyMpModel(nn.Module):
    def __init__(self, dev0, dev1):
        super().__init__()
        self.dev0, self.dev1 = dev0, dev1
        self.net1 = nn.Linear(10, 10).to(dev0)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5).to(dev1)

    def forward(self, x):
        x = self.relu(self.net1(x.to(self.dev0)))
        return self.net2(x.to(self.dev1))


def two_devices(rank, world_size):
    if torch.cuda.is_available() and torch.cuda.device_count() >= 2 * world_size:
        return f"cuda:{2 * rank}", f"cuda:{2 * rank + 1}"
    return "cpu", "cpu"


def demo_model_parallel(rank, world_size, options):
    setup(rank, world_size)
    dev0, dev1 = two_devices(rank, world_size)
    mp_model = alike(ToyMpModel(dev0, dev1))
    ddp_mp_model = DDP(mp_model)
    loss_fn = nn.MSELoss()
    optimizer = optim.SGD(ddp_mp_model.parameters(), lr=options.lr)
    x, labels = batch(rank, dev1)
    losses = []
    for step in range(options.steps):
        optimizer.zero_grad()
        loss = loss_fn(ddp_mp_model(x), labels)  # on dev1
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if rank == 0:
            print(f"step {step} loss {losses[-1]:.6f}")
    held = [f"{d} {torch.cuda.memory_allocated(d)} bytes" for d in (dev0, dev1) if d != "cpu"]
    print(f"rank {rank} of {world_size}:", ", ".join(held) or "no devices, all on the CPU")
    cleanup()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    made.add_argument("--steps", type=count, default=10)
    made.add_argument("--lr", type=float, default=0.1)
    return made


run = demo_model_parallel

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
