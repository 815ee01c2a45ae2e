"""A graph convolution finds two camps from one member of each: Kipf and Welling 2016, arXiv:1609.02907.

    python programs/gcn.py                            two processes, one command
    mtdrun --nproc-per-node 2 programs/gcn.py         torchrun; it says who is who
    python programs/gcn.py --sim                      in virtual time

The graph is Zachary's karate club (1977, doi:10.1086/jar.33.4.3629752): 34 members, 78 friendships, and a quarrel
after which the club split. The net knows the camps of members 0 and 33 only. A layer mixes each member's numbers with
those of friends: H' = A H W. Each rank keeps the rows of A of its share of the members, so before each layer
the ranks gather all H; the gradient of that is a sum over the ranks.
"""

import numpy as np

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
from minitorch_dist.distributed.nn.functional import all_gather
from seam import alike, count, curve, flags, start

MEMBERS = 34
FRIENDS = {  # of each member those with a higher number
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31), 1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32), 3: (7, 12, 13), 4: (6, 10), 5: (6, 10, 16), 6: (16,), 8: (30, 32, 33),
    9: (33,), 13: (33,), 14: (32, 33), 15: (32, 33), 18: (32, 33), 19: (33,), 20: (32, 33), 22: (32, 33),
    23: (25, 27, 29, 32, 33), 24: (25, 27, 31), 25: (31,), 26: (29, 33), 27: (33,), 28: (31, 33),
    29: (32, 33), 30: (32, 33), 31: (32, 33), 32: (33,),
}  # fmt: skip
LEFT = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21}  # stayed with member 0
CAMPS = np.array([0 if member in LEFT else 1 for member in range(MEMBERS)])


def mixing():
    """A: who is mixed with whom, each member with itself, too; scaled by the roots of both degrees."""
    a = np.eye(MEMBERS, dtype=np.float32)
    for one, others in FRIENDS.items():
        for other in others:
            a[one, other] = a[other, one] = 1
    root = 1 / np.sqrt(a.sum(1))
    return torch.from_numpy(a * root[:, None] * root)


class GCN(nn.Module):
    """Two layers. A rank has the rows `mine` of A, and of the numbers of the members."""

    def __init__(self, rows, width):
        super().__init__()
        self.rows = rows
        self.first, self.second = nn.Linear(MEMBERS, width), nn.Linear(width, 2)

    def mixed(self, own):
        return self.rows @ torch.cat(all_gather(own))

    def forward(self, own):
        hidden = torch.tanh(self.mixed(self.first(own)))
        return self.mixed(self.second(hidden))


def train(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    share = MEMBERS // world_size
    mine = slice(rank * share, (rank + 1) * share)
    model = alike(GCN(mixing()[mine], options.width))
    own = torch.eye(MEMBERS)[mine]  # nothing is known of a member but who it is
    camps = torch.from_numpy(CAMPS)[mine]
    known = torch.tensor([member in (0, MEMBERS - 1) for member in range(MEMBERS)])[mine]
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)
    losses = []
    for _ in range(options.steps):
        scores = model(own)
        loss = (F.cross_entropy(scores, camps, reduction="none") * known).sum() / 2
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():  # each rank has the part of its own members
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad)
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        losses.append(total.item())
    with torch.no_grad():
        every = torch.cat(all_gather(model(own))).argmax(1).tolist()
    if rank == 0:
        print(*curve(losses, "the loss"), sep="\n")
        print("member " + "".join(str(member % 10) for member in range(MEMBERS)))
        print("is in  " + "".join("·#"[camp] for camp in CAMPS))
        print("found  " + "".join("·#"[camp] for camp in every))
        print(f"· stays with member 0, # goes with member {MEMBERS - 1}")
        right = sum(one == other for one, other in zip(every, CAMPS, strict=True))
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; {right} of {MEMBERS} members are right")
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    made.demand(
        lambda o: MEMBERS % o.world_size == 0,
        f"--world_size must be 1, 2, 17 or 34, so that {MEMBERS} members have equal shares",
    )
    made.add_argument("--steps", type=count, default=100)
    made.add_argument("--width", type=count, default=8)
    made.add_argument("--lr", type=float, default=2e-2)
    return made


run = train

if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
