# %% What the first stage holds, as micro-batches get more (measured)
import matplotlib.pyplot as plt

from minitorch_dist import sim
from minitorch_dist.distributed.pipelining.orders import Pipe, gpipe
from mtd.course import pipelines

counts = range(1, 17)
for name, make in (("GPipe", gpipe), ("1F1B", one_forward_one_backward)):
    found = [pipelines.timed(Stage, make, Pipe(4, count)) for count in counts]
    plt.plot(counts, [one.held[0] for one in found], "o-", label=name)
plt.xlabel("micro-batches, 4 stages")
plt.ylabel("held by stage 0")
plt.legend()
plt.show()

# %% The time of 16 micro-batches on 4 stages, as messages take longer (measured)
delays = (0, 0.25, 0.5, 0.75, 1, 1.5, 2)
for name, make in (("GPipe", gpipe), ("1F1B", one_forward_one_backward)):
    nets = [sim.uniform(f"{delay}ms", "1000TB/s") for delay in delays]
    found = [pipelines.timed(Stage, make, Pipe(4, 16), net).total for net in nets]
    plt.plot(delays, found, "o-", label=name)
plt.xlabel("ms for a message; forward 1 ms, backward 2 ms")
plt.ylabel("ms for a step")
plt.legend()
plt.show()
