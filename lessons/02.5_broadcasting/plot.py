# %% How many numbers an expanded row shows, and how many there are in memory
import matplotlib.pyplot as plt
import numpy as np
from books import Tensor

row = Tensor(np.ones((1, 100)))
times = [2**n for n in range(11)]
views = [expand(row, n, 100) for n in times]
plt.loglog(times, [view.array.size for view in views], "o-", label="numbers that the view shows")
plt.loglog(times, [view.storage.nbytes // 8 for view in views], "o-", label="numbers in memory")
plt.xlabel("rows of the larger shape")
plt.ylabel("numbers")
plt.legend()
plt.show()

# %% What comes back to each number of a row, if every place of the result is asked
for shape in [(100,), (1, 1)]:
    back = sum_to(np.ones((64, 100)), shape)
    print(shape, "gets", back.flat[0], "from each of its uses")
