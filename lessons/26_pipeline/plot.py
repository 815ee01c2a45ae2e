# %% Which part of the time is idle, as micro-batches get more (measured, and the formula)
import matplotlib.pyplot as plt

from minitorch_dist.distributed.pipelining.orders import Pipe
from mtd.course import pipelines

counts = range(1, 17)
for ranks in (2, 4, 8):
    found = [pipelines.timed(Stage, gpipe, Pipe(ranks, count)) for count in counts]
    plt.plot(counts, [one.idle / one.total for one in found], "o", label=f"{ranks} stages")
    plt.plot(counts, [(ranks - 1) / (count + ranks - 1) for count in counts], ":")
plt.xlabel("micro-batches")
plt.ylabel("idle")
plt.legend()
plt.show()
