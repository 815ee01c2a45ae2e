# %% Rounds and bytes of the two, for every number of ranks
import matplotlib.pyplot as plt

from mtd.course import lab

sizes = range(1, 18)
figure, (above, below) = plt.subplots(2, sharex=True)
for each, line in [(all_reduce, "o-"), (rabenseifner, "s-")]:
    found = [lab.meter(each, size, 48) for size in sizes]
    name = "doubling" if each is all_reduce else "halving and doubling"
    above.plot(sizes, [one.rounds for one in found], line, label=name)
    below.plot(sizes, [one.bytes / (8 * 48) for one in found], line, label=name)
above.set_ylabel("rounds")
below.set_ylabel("sent by a rank, in tensors")
below.set_xlabel("ranks")
above.legend()
plt.show()
