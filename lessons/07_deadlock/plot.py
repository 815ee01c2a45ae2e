# %% Where sends wait: all at once, or one after another
import matplotlib.pyplot as plt

from minitorch_dist import sim
from minitorch_dist.testing.costs import ROUNDS
from minitorch_dist.testing.strictness import strict


def one_after_another(tensor):
    rank, size = dist.get_rank(), dist.get_world_size()
    received = torch.empty_like(tensor)
    if rank == 0:
        dist.recv(received, size - 1)
    dist.send(tensor, (rank + 1) % size)
    if rank != 0:
        dist.recv(received, rank - 1)


sizes = range(2, 17)
for function in (one_after_another, shift):
    with strict():
        rounds = [sim.run(function, size, (torch.ones(3),), net=ROUNDS).time for size in sizes]
    plt.plot(sizes, rounds, "o-", label=function.__name__)
plt.xlabel("ranks")
plt.ylabel("rounds until all have theirs")
plt.legend()
plt.show()
