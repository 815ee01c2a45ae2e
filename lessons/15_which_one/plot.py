# %% What each takes, and the floor: 13 ranks, 2 µs a message, 200 Gb/s
import matplotlib.pyplot as plt

from minitorch_dist.distributed.schedules.choice import known
from minitorch_dist.distributed.schedules.cost import cost
from minitorch_dist.distributed.schedules.links import Links

size, links = 13, Links(2_000_000, 40)
lengths = [2**exponent for exponent in range(7, 28)]
for name, price in PRICES.items():
    (line,) = plt.loglog(lengths, [price(size, n, links) / 1e6 for n in lengths], label=name)
    ran = [cost(known("all_reduce")[name], size, n, links).time / 1e6 for n in lengths[::2]]
    plt.loglog(lengths[::2], ran, "o", color=line.get_color())
plt.loglog(lengths, [floor(size, n, links) / 1e6 for n in lengths], "k:", label="the floor")
plt.xlabel("bytes")
plt.ylabel("µs")
plt.legend()
plt.show()
