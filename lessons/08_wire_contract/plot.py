# %% What a message costs beyond its elements, beside pickle
import pickle

import matplotlib.pyplot as plt

counts = [4**power for power in range(10)]
arrays = [np.zeros(count, np.float32) for count in counts]
plt.plot(
    counts, [sum(map(len, encode(array))) / array.nbytes for array in arrays], "o-", label="message"
)
plt.plot(
    counts, [len(pickle.dumps(array)) / array.nbytes for array in arrays], "o-", label="pickle"
)
plt.xscale("log")
plt.yscale("log")
plt.xlabel("elements")
plt.ylabel("bytes sent per byte of elements")
plt.legend()
plt.show()
