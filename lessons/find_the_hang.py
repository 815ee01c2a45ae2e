# %% [markdown] Find the hang in a real PyTorch program
# A program of real PyTorch hangs on several GPUs, and gloo or NCCL say nothing until a timeout. Here its ranks are simulated in this process, so
# a hang ends at once and is explained. The programs below are unchanged PyTorch; no GPU is needed. Install PyTorch with
# `pip install 'minitorch_dist[torch]'`. The text after a cell quotes the lines that matter.

# %%
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from minitorch_dist import sim


def find(program, ranks):
    """Run it on simulated ranks, and print what it returns or what is said about its hang."""
    try:
        print("it ends:", sim.run(program, ranks).results)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", *error.__notes__, sep="\n")


# %% [markdown] A training that stops
# Each rank trains on batches of its own and stops when its loss is small. On two of the ranks that is so a step earlier.


# %%
def train(agree=False):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps = 0
    while steps < 20:
        steps += 1
        x = torch.ones(8, 4) * (1 + rank)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen = loss.detach().clone()
        if agree:
            dist.all_reduce(seen, dist.ReduceOp.MAX)
        if seen < 0.01:
            break
    dist.barrier()
    return steps


find(train, 4)

# %% [markdown] Read it from the second part on
#     op #9 of group 'default_pg' is {all_reduce: 0, 1; barrier: 2, 3}
#       ranks 0, 1 called all_reduce #9 (float32[5], SUM) at …
#       ranks 2, 3 called barrier #9 at …
#
# The line `op #9` names the first operation that the ranks do not share. The lines below it name who called what, and where. Some ranks are in `loss.backward()`, where DDP adds up gradients. The others have left the
# loop, and wait in `dist.barrier()`. So the condition before the `break` differs between ranks. They have to agree on it:

# %%
find(lambda: train(agree=True), 4)

# %% [markdown] No mismatch, but a circle
# Two groups, and each operation is called by all of its members. But the last rank calls them in the other order.


# %%
def two_groups(in_order=False):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    everybody, ends = dist.new_group(range(size)), dist.new_group([0, size - 1])
    order = [everybody, ends] if rank < size - 1 or in_order else [ends, everybody]
    for group in order if rank in (0, size - 1) else [everybody]:
        dist.all_reduce(torch.ones(3), group=group)


find(two_groups, 4)

# %% [markdown]
#     rank 0 waits for rank 2 in all_reduce #0 (float32[3], SUM) at … of group '1, made at …', step 1; […]
#     rank 2 waits for rank 3 in all_reduce #0 (float32[3], SUM) at … of group '1, made at …', step 1; […]
#     rank 3 waits for rank 0 in all_reduce #0 (float32[3], SUM) at … of group '2, made at …', step 1; […]
#     In a circle each rank waits for the next: 0 → 2 → 3 → 0. […]
#
# Each line says for whom a rank waits, and in which group. The sentence `In a circle each rank waits for the next` is the proof: nobody in
# it can go on. With one order on all ranks it ends:

# %%
find(lambda: two_groups(in_order=True), 4)

# %% [markdown] Wrong numbers before the hang
# Rank 2 has an empty batch in step 1 and leaves out its loss. All calls look alike, so its next call meets the losses of the others. Nothing hangs
# until the end, where it has one call fewer.


# %%
def train_with_an_empty_batch():
    dist.init_process_group("gloo")
    for step in range(3):
        loss, norm = torch.tensor([5.0]), torch.tensor([0.001])
        if step != 1 or dist.get_rank() != 2:
            dist.all_reduce(loss)
        dist.all_reduce(norm)


find(train_with_an_empty_batch, 4)

# %% [markdown]
#     op #2 of group 'default_pg' is the first that was called from different lines
#       ranks 0, 1, 3 called all_reduce #2 (float32[1], SUM) at …
#       rank 2 called all_reduce #2 (float32[1], SUM) at …
#
# The last lines matter here. They name the operation at which the ranks parted, three operations before rank 3 noticed.

# %% [markdown] On your own program
# `mtd run --ranks 8 train.py` does the same with a script, and with `--seeds 20` in twenty orders of events. Over real wires say
# `dist.init_process_group("mtd")` in the script. Under `torchrun` the same mismatches and circles are then named after seconds
# ([the page](../docs/pytorch.md)).
