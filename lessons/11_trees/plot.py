# %% How many rounds a broadcast takes, by the shape of its tree
import matplotlib.pyplot as plt

from mtd.course import lab


def rounds(shape, size):
    return lab.meter(lambda tensor: broadcast(tensor, 0, shape), size, 1).rounds


sizes = [2, 3, 5, 8, 12, 16, 24, 32]
for name, shape, line in [("chain", CHAIN, "o-"), ("star", STAR, "x--"), ("tree", TREE, "s-")]:
    plt.plot(sizes, [rounds(shape, size) for size in sizes], line, label=name)
plt.xlabel("ranks")
plt.ylabel("rounds")
plt.legend()
plt.show()
