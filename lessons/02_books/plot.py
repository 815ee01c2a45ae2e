# %% How many bytes a chain of n products holds: with all intermediate results kept, and without
import matplotlib.pyplot as plt
import numpy as np


def live(length, keep):
    before, kept = ledger.live, []
    x = Tensor(np.ones(1000))
    for _ in range(length):
        kept.append(x) if keep else None
        x = x * x
    return ledger.live - before


lengths = range(1, 20)
plt.plot(
    lengths,
    [live(n, True) for n in lengths],
    "o-",
    label="all kept (a backward pass will need them)",
)
plt.plot(lengths, [live(n, False) for n in lengths], "o-", label="only the last")
plt.xlabel("operations")
plt.ylabel("bytes live")
plt.legend()
plt.show()

# %% How many numbers an expanded row shows, and how many there are in memory
row = Tensor(np.ones((1, 100)))
times = [2**n for n in range(11)]
views = [expand(row, n, 100) for n in times]
plt.loglog(times, [view.array.size for view in views], "o-", label="numbers that the view shows")
plt.loglog(times, [view.storage.nbytes // 8 for view in views], "o-", label="numbers in memory")
plt.xlabel("rows of the larger shape")
plt.ylabel("numbers")
plt.legend()
plt.show()
