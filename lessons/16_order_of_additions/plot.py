# %% How far the sum of P numbers is off: a ring's order, the order of ranks, and what is allowed at most
from fractions import Fraction

import matplotlib.pyplot as plt
import numpy as np

sizes = range(2, 65)
random = np.random.default_rng(0)
errors, allowed = [], []
for size in sizes:
    numbers = random.standard_normal(size)
    exact = sum(map(Fraction, numbers.tolist()))
    orders = [np.roll(numbers, -first) for first in range(size)]
    errors.append([abs(float(Fraction(float(sum(one.tolist()))) - exact)) for one in orders])
    allowed.append(bound([torch.tensor([x]) for x in numbers.tolist()]).item())
for size, off in zip(sizes, errors):
    plt.semilogy([size] * len(off), [max(x, 1e-18) for x in off], "k.", markersize=2)
plt.semilogy(sizes, allowed, "-", label="γ Σ|x|")
plt.xlabel("ranks")
plt.ylabel("off by")
plt.legend()
plt.show()
