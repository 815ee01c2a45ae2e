# %% How many arrivals it takes until eight letters have been read, over a lossy wire: 40 seeds
import sys

import matplotlib.pyplot as plt

from minitorch_dist.course import strange

rules = sys.modules[Once.__module__]
arrivals = [len(strange.delivered("lossy", rules, 8, seed)) for seed in range(40)]
plt.hist(arrivals, range(8, max(arrivals) + 2), align="left")
plt.xlabel("arrivals for 8 letters")
plt.ylabel("runs")
plt.show()
