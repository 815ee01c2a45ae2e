# %% The U: too small pays latency, too large begins too late
import matplotlib.pyplot as plt

import minitorch_dist as torch
from minitorch_dist import nn, sim
from mtd.course.layers import SquareLayer


def backward(cap):
    model = nn.Sequential(*[SquareLayer(16, "0s", "1ms") for _ in range(32)])
    model = DistributedDataParallel(model, bucket_cap_mb=cap)
    output = model(torch.ones(1, 16, dtype=torch.float64)).sum()
    dist.barrier()
    begun = sim.now()
    output.backward()
    return 1000 * (sim.now() - begun)


counts = [1, 2, 4, 8, 16, 32]
for latency in ("50us", "200us", "500us"):
    net = sim.uniform(latency, "3MB/s")
    times = [
        sim.run(backward, 4, (count * 16 * 16 * 8 / 2**20,), net=net).results[0] for count in counts
    ]
    plt.semilogx(counts, times, "o-", base=2, label=f"latency {latency}")
plt.axhline(32, linestyle=":", label="computing alone")
plt.xlabel("layers in a bucket")
plt.ylabel("milliseconds of backward")
plt.legend()
plt.show()
