# %% How long twelve steps take, when machine 1 dies before its k-th action and comes back two seconds later
import matplotlib.pyplot as plt

from minitorch_dist.testing import exact
from mtd.course.cluster import Cluster, Trouble

batches = [exact.data(6, seed) for seed in range(12)]


def seconds(trouble):
    cluster = Cluster(3, trouble)
    office = Office(exact.weights(exact.Model(hidden=4)))
    cluster.run(lambda machine: train(machine, office, batches))
    return cluster.events[-1].at / 1e12


places = range(1, 60, 2)
plt.plot(places, [seconds([Trouble(1, place, restart=2.0)]) for place in places], "o")
plt.axhline(seconds([]), linestyle=":", label="nobody dies")
plt.xlabel("the action before which it dies")
plt.ylabel("seconds of virtual time")
plt.legend()
plt.show()
