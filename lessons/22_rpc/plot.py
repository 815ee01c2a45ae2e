# %% How long a call takes where each message is lost with probability p: no retry before RETRY
import matplotlib.pyplot as plt

import minitorch_dist.distributed as dist
from minitorch_dist import sim


def one_after_the_other():
    init_rpc("plot")
    begun = sim.now()
    for n in range(20 if dist.get_rank() == 0 else 0):
        rpc_sync(1, divmod, (n, 3))
    took = sim.now() - begun
    shutdown()
    return took


chances = [0.0, 0.1, 0.2, 0.3, 0.4]
seconds = []
for p in chances:
    faults = sim.Plan((sim.drop(p),), reliable=False)
    runs = [sim.run(one_after_the_other, 2, seed=seed, faults=faults) for seed in range(1, 11)]
    seconds.append(sum(run.results[0] for run in runs) / len(runs) / 20)
plt.plot(chances, seconds, "o-", label="measured")
plt.plot(
    chances, [1 / (1 - p) ** 2 - 1 for p in chances], ":", label="1 / (1-p)² - 1 tries too many"
)
plt.xlabel("p")
plt.ylabel("seconds per call")
plt.legend()
plt.show()
