# %% What the store hears in one round: waiting, and asking again and again
import matplotlib.pyplot as plt

from minitorch_dist import sim
from minitorch_dist.distributed import distributed_c10d, get_rank, get_world_size


def heard(ask_again):
    """Commands of one rank; all come within a millisecond, an answer takes 20 µs."""

    def program():
        store, size, commands = distributed_c10d._get_default_store(), get_world_size(), 1
        sim.compute(f"{1000 * get_rank() // size}us")
        last = store.add("came", 1) == size
        if not ask_again:
            store.set("open", "") if last else None
            store.wait(["open"])
            return commands + 1 + last
        while store.add("came", 0) < size:
            sim.compute("20us")
            commands += 1
        return commands

    return program


sizes = range(2, 33, 5)
for ask_again in (False, True):
    counts = [sum(sim.run(heard(ask_again), size).results) for size in sizes]
    plt.plot(sizes, counts, "o-", label="asks again and again" if ask_again else "waits")
plt.xlabel("ranks")
plt.ylabel("commands that the store hears in one round")
plt.legend()
plt.show()
