# %% How many messages it takes, as the world grows
import matplotlib.pyplot as plt

from mtd.course import lab

sizes = range(1, 13)
plt.plot(sizes, [lab.meter(all_reduce, size, 1).messages for size in sizes], "o-")
plt.xlabel("ranks")
plt.ylabel("messages of all of them")
plt.show()
