# %% What each rank sends, as the world grows: the ring beside the centre
import matplotlib.pyplot as plt

from minitorch_dist.course import lab

sizes = range(2, 17)
plt.plot(sizes, [lab.meter(all_reduce, size, 240).bytes / (8 * 240) for size in sizes], "o-")
plt.axhline(2, linestyle=":")
plt.xlabel("ranks")
plt.ylabel("sent by each rank, in tensors")
plt.show()
