# %% What a bucket buys: 64 gradients of 1 kB on 8 ranks
import matplotlib.pyplot as plt

from minitorch_dist import sim


def rings(per_bucket):
    for _ in range(64 // per_bucket):
        all_reduce(torch.zeros(128 * per_bucket, dtype=torch.float64))


counts = [1, 2, 4, 8, 16, 32, 64]
for rate in ("10MB/s", "100MB/s", "1GB/s"):
    net = sim.uniform("20us", rate)
    times = [sim.run(rings, 8, (count,), net=net).time / 1e9 for count in counts]
    plt.loglog(counts, times, "o-", base=2, label=rate)
plt.xlabel("gradients in a bucket")
plt.ylabel("milliseconds")
plt.legend()
plt.show()
