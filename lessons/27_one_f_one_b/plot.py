# %% What the first stage holds, as micro-batches get more (measured)
import matplotlib.pyplot as plt

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
