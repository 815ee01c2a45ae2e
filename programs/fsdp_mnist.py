"""Every rank keeps a shard of the model, and gathers a unit when it computes with it: seed 003's FSDP.

    python programs/fsdp_mnist.py              --world_size, --rank … as in ddp_basic.py; also --sim

    forward    all_gather a unit ─ compute ─ forget it        unit: one layer with its parameters
    backward   all_gather ─ compute ─ reduce_scatter the gradients ─ forget

Corrected against the seed:
* `FSDP(Net().to(rank))` needs an accelerator (T14); with `device_id` it trains on the CPU, too.
* Without `auto_wrap_policy` the whole model is one unit, and gathering it all is no saving. Here larger layers are units.
* The full state is asked for by all ranks, with a FullStateDictConfig that gives it to rank 0 only; by itself `state_dict()`
  returns it on every rank, and it is as large as the model. (`offload_to_cpu` on the CPU is an error in torch.)
* The seed's ranks each shard a model that they drew themselves. `sync_module_states` sends rank 0's to all; torch does so
  only on an accelerator, so on the CPU all draw the same here.
"""

import functools

import minitorch_dist as torch
import minitorch_dist.distributed as dist
import minitorch_dist.multiprocessing as mp
import minitorch_dist.nn as nn
import minitorch_dist.nn.functional as F
import minitorch_dist.optim as optim
from minitorch_dist.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel as FSDP, StateDictType
from minitorch_dist.distributed.fsdp.wrap import size_based_auto_wrap_policy
from seam import alike, count, digits, flags, start


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.fc1 = nn.Linear(2304, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(torch.flatten(x, 1)))), dim=1)


def device_of(rank):
    if torch.cuda.is_available():
        return torch.device(f"cuda:{rank % torch.cuda.device_count()}")
    return torch.device("cpu")


def batches(rank, world_size, options, train=True):
    images, labels = digits(options.train_size if train else options.test_size, train)
    images, labels = images[rank::world_size], labels[rank::world_size]
    for begin in range(0, len(images), options.batch_size):
        some = slice(begin, begin + options.batch_size)
        yield torch.from_numpy(images[some]), torch.from_numpy(labels[some])


def train(model, optimizer, rank, world_size, device, options):
    losses = []
    for i, (data, target) in enumerate(batches(rank, world_size, options)):
        optimizer.zero_grad()
        loss = F.nll_loss(model(data.to(device)), target.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if rank == 0 and i % options.log_every == 0:
            print(f"batch {i} loss {losses[-1]:.6f}")
    return losses


def accuracy(model, rank, world_size, device, options):
    """All ranks take part: each forward gathers from all."""
    model.eval()
    seen = torch.zeros(2)
    with torch.no_grad():
        for data, target in batches(rank, world_size, options, train=False):
            right = model(data.to(device)).argmax(dim=1) == target.to(device)
            seen += torch.tensor([float(right.sum().item()), float(len(target))])
    dist.all_reduce(seen)
    return (seen[0] / seen[1]).item()


def run(rank, world_size, options):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    device = device_of(rank)
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=10_000)
    model = FSDP(alike(Net()), auto_wrap_policy=policy, device_id=device, sync_module_states=device.type != "cpu")
    ours = sum(parameter.numel() for parameter in model.parameters())
    optimizer = optim.Adadelta(model.parameters(), lr=options.lr)
    losses = train(model, optimizer, rank, world_size, device, options)
    share = accuracy(model, rank, world_size, device, options)
    config = FullStateDictConfig(offload_to_cpu=device.type != "cpu", rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, config):
        state = model.state_dict()
    print(f"rank {rank} keeps {ours} of {sum(p.numel() for p in Net().parameters())} parameters")
    if rank == 0:
        print(f"Accuracy {share:.4f}")
        if options.save_model:
            torch.save(state, options.save_model)
    dist.barrier()
    dist.destroy_process_group()
    return losses, share


def parser():
    made = flags(__doc__, world_size=2)
    words = "--train_size and --test_size must be multiples of --world_size"
    made.demand(lambda o: not (o.train_size % o.world_size or o.test_size % o.world_size), words)
    add = made.add_argument
    add("--train_size", type=count, default=4000)
    add("--test_size", type=count, default=1000)
    add("--batch_size", type=count, default=32, help="of each rank")
    add("--lr", type=float, default=1.0)
    add("--log_every", type=count, default=10)
    add("--save_model", help="a file for the full state, written by rank 0")
    return made


if __name__ == "__main__":
    start(run, parser().parse_args(), mp.spawn)
