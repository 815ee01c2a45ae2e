"""DistributedDataParallel in four lines: average every gradient after backward. Seed 003, and torch's first tutorial.

    python programs/hand_averaged_sgd.py       --world_size, --rank … as in ddp_basic.py; also --sim

Ranks together take the batch that one rank would take, so any number of ranks takes the same steps, up to rounding.

Corrected against the seed:
* The last batch of the ranks may differ in length; then the mean of means is not the mean. Here each rank has the same
  number of digits, and what does not divide is left out.
* All start from the same weights because they are broadcast. A common `manual_seed` does it only as long as all
  ranks draw the same.
* A parameter without a gradient is told apart from an error; `param.grad` is averaged without `.data`, under no_grad.
"""

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
import minitorch_dist.optim as optim
from seam import alike, count, digits, flags, start


class Net(nn.Module):
    """Two convolutions of five, two linear layers."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, kernel_size=5)
        self.conv2 = nn.Conv2d(10, 20, kernel_size=5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        return F.log_softmax(self.fc2(F.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


def partition_dataset(rank, size, train_size, batch_size):
    """This rank's part of each batch; all ranks' parts together are the batch."""
    images, labels = digits(train_size)
    part = batch_size // size
    for begin in range(0, train_size - batch_size + 1, batch_size):
        mine = slice(begin + rank * part, begin + (rank + 1) * part)
        yield torch.from_numpy(images[mine]), torch.from_numpy(labels[mine])


def average_gradients(model):
    size = dist.get_world_size()
    with torch.no_grad():
        for name, param in model.named_parameters():
            assert param.grad is not None, f"{name} has no gradient: is it used in the forward pass?"
            dist.all_reduce(param.grad, op=dist.ReduceOp.SUM)
            param.grad /= size


def run(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    model = alike(Net())
    for param in model.parameters():
        dist.broadcast(param.data, src=0)
    optimizer = optim.SGD(model.parameters(), lr=options.lr, momentum=0.5)
    losses = []
    for epoch in range(options.epochs):
        epoch_loss = torch.zeros(1)
        parts = list(partition_dataset(rank, world_size, options.train_size, options.batch_size))
        for data, target in parts:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data), target)
            epoch_loss += loss.detach()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        dist.all_reduce(epoch_loss)
        losses.append(epoch_loss.item() / world_size / len(parts))
        if rank == 0:
            print(f"epoch {epoch} loss {losses[-1]:.6f}")
    dist.destroy_process_group()
    return losses


def parser():
    made = flags(__doc__, world_size=2)
    made.add_argument("--epochs", type=count, default=5)
    made.add_argument("--train_size", type=count, default=2000)
    made.add_argument("--batch_size", type=count, default=120, help="of all ranks together")
    made.add_argument("--lr", type=float, default=0.05)
    return made


if __name__ == "__main__":
    options = parser().parse_args()
    if options.train_size < options.batch_size:
        parser().error(f"--train_size {options.train_size} holds no batch of {options.batch_size}")
    start(run, options, mp.spawn)
