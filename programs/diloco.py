"""Ranks that talk seldom: DiLoCo, Douillard et al. 2023, arXiv:2311.08105.

    python programs/diloco.py                            two processes, one command
    mtdrun --nproc-per-node 2 programs/diloco.py         torchrun; it says who is who
    python programs/diloco.py --sim                      in virtual time

DDP sends all gradients in every step. Here each rank takes --inner steps by itself, with AdamW. Then the ranks average
how far they have come since the last time. An outer optimizer (SGD with Nesterov's momentum) takes that
average for a gradient. So the ranks send one --inner-th of the bytes, which suits ranks that are far apart.
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from seam import alike, count, curve, digits, flags, start


def network(hidden):
    return nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 10))


class DiLoCo:
    """The outer optimizer: it keeps the weights that all ranks had when they talked last."""

    def __init__(self, model, lr, momentum):
        self.model = model
        self.shared = [p.detach().clone().requires_grad_() for p in model.parameters()]
        self.outer = torch.optim.SGD(self.shared, lr=lr, momentum=momentum, nesterov=True)
        self.sent = 0  # bytes of values that went into an all_reduce

    @torch.no_grad()
    def step(self):
        """Move the shared weights by the mean of all ranks' ways, and go on from there."""
        for shared, own in zip(self.shared, self.model.parameters(), strict=True):
            shared.grad = (shared - own) / dist.get_world_size()
            dist.all_reduce(shared.grad)
            self.sent += shared.numel() * 4
        self.outer.step()
        for shared, own in zip(self.shared, self.model.parameters(), strict=True):
            own.copy_(shared)


def train(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    images, labels = (torch.from_numpy(a[rank::world_size].copy()) for a in digits(options.train_size))
    model = alike(network(options.hidden))
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
    diloco = DiLoCo(model, options.outer_lr, options.momentum)
    losses = []
    for step in range(options.steps):
        first = step * options.batch_size % (len(images) - options.batch_size + 1)
        part = slice(first, first + options.batch_size)
        loss = F.cross_entropy(model(images[part]), labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % options.inner == 0:
            diloco.step()
        losses.append(loss.item())
    mean = torch.tensor(losses) / world_size
    dist.all_reduce(mean)  # once, for the report
    losses = mean.tolist()
    unseen, right = (torch.from_numpy(a) for a in digits(options.test_size, train=False))
    with torch.no_grad():
        accuracy = (model(unseen).argmax(1) == right).float().mean().item()
    if rank == 0:
        print(*curve(losses, "the loss"), sep="\n")
        ddp = options.steps * sum(p.numel() * 4 for p in model.parameters())
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {accuracy:.1%} of unseen digits")
        print(f"{diloco.sent:,} bytes into all_reduce; a step of DDP for each would be {ddp:,}")
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    made.demand(
        lambda o: o.train_size >= o.world_size * o.batch_size,
        "--train_size must be at least --world_size times --batch_size",
    )
    for name, default in (("steps", 200), ("inner", 20), ("train_size", 2000), ("test_size", 500)):
        made.add_argument(f"--{name}", type=count, default=default)
    made.add_argument("--batch_size", type=count, default=32)
    made.add_argument("--hidden", type=count, default=64)
    made.add_argument("--lr", type=float, default=1e-3, help="of the inner optimizer")
    made.add_argument("--outer_lr", type=float, default=0.7)
    made.add_argument("--momentum", type=float, default=0.9)
    return made


run = train

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
