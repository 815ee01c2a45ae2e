# %% The time of 24 steps on 4 workers, one of which is slow in each step, by the staleness that is allowed
import matplotlib.pyplot as plt

import minitorch_dist as torch
from minitorch_dist import sim


def busy(values, batch):
    sim.compute(batch)
    return [torch.zeros(1)]


def no_step(values, gradients):
    pass


def seconds(batches, staleness):
    args = [torch.zeros(1)], no_step, busy, batches, staleness
    return sim.run(train, 1 + len(batches), args=args).time / 1e12


turns = [[5e-3 if k % 4 == w else 1e-3 for k in range(24)] for w in range(4)]
always = [[5e-3 if w == 0 else 1e-3 for k in range(24)] for w in range(4)]
bounds = range(9)
plt.plot(bounds, [seconds(turns, s) for s in bounds], "o-", label="a slow one in turn")
plt.plot(bounds, [seconds(always, s) for s in bounds], "o-", label="always the same")
plt.xlabel("s: so many steps a worker may be ahead")
plt.ylabel("seconds of virtual time")
plt.legend()
plt.show()
