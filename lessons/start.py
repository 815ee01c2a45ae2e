# %% [markdown] A tour
# The course begins with `mtd` in a terminal. This tour shows in a minute what the library does. Everything below runs in this
# notebook, in a second or two, without a network. A *rank* is one of several programs
# that run the same function; here ranks are threads, or strands of a simulation in virtual time.

# %% Four ranks agree on a sum
import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import sim


def program():
    x = torch.ones(3) * dist.get_rank()
    dist.all_reduce(x)
    return x.tolist()


print(torch.launch(program, 4))

# %% [markdown]
# The same function over TCP, in processes of their own, is `torch.launch(program, 4, "tcp://")`; with `import torch` in place of
# the first line it runs under PyTorch.

# %% The same in virtual time, and what happened
import tempfile
from pathlib import Path

net = "sim://?latency=2us&rate=100Gb/s"
with tempfile.TemporaryDirectory() as folder:
    run = sim.run(program, 4, net=net, journal=Path(folder) / "run.mtd").journal
run

# %% A thousand ranks
print(sim.run(program, 1000).time / 1e6, "µs")


# %% What a deadlock looks like
def stuck():
    x, y = torch.ones(1), torch.empty(1)
    other = 1 - dist.get_rank()
    dist.recv(y, other)  # both wait
    dist.send(x, other)


try:
    sim.run(stuck, 2)
except sim.Deadlock as error:
    print(error)

# %% Data parallel training: three ranks, and all have the same weights
from minitorch_dist import nn
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import SGD


def train():
    torch.manual_seed(dist.get_rank())
    x = torch.randn(20, 2)
    y = x[:, :1] * 3 - x[:, 1:]
    model = DistributedDataParallel(nn.Linear(2, 1))
    optimizer = SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(30):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.module.weight.tolist()


results = torch.launch(train, 3)
for losses, weight in results:
    print(f"loss {losses[0]:.3f} → {losses[-1]:.6f}   weight {weight}")

# %% The losses
import matplotlib.pyplot as plt

for rank, (losses, _) in enumerate(results):
    plt.semilogy(losses, label=f"rank {rank}")
plt.xlabel("step")
plt.ylabel("loss")
plt.legend()
plt.show()

# %% [markdown] Where to go on
# `mtd` in a terminal opens the course at its first lesson, which takes two minutes. [The table of all lessons](../lessons/README.md) links each
# as a notebook, too.
