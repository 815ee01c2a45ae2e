# %% How many arrivals it takes until eight messages have been read, over a lossy wire: 40 seeds
import sys

import matplotlib.pyplot as plt

from mtd.course import lossy_wires

rules = sys.modules[Once.__module__]
arrivals = [len(lossy_wires.delivered("lossy", rules, 8, seed)) for seed in range(40)]
plt.hist(arrivals, range(8, max(arrivals) + 2), align="left")
plt.xlabel("arrivals for 8 messages")
plt.ylabel("runs")
plt.show()
