# %% What is held at once, as the chain gets longer (measured)
import matplotlib.pyplot as plt

from minitorch_dist import cuda, sim
from mtd.course.layers import SquareLayer


def peak(build, count):
    def program():
        model = build([SquareLayer(2).to("cuda") for _ in range(count)])
        x = torch.ones(4096, 2, dtype=torch.float64, device="cuda")
        before = cuda.memory_allocated()
        cuda.reset_peak_memory_stats()
        model(x).sum().backward()
        return (cuda.max_memory_allocated() - before) / x.nbytes

    return sim.run(program, 1, memory="1GB").results[0]


counts = [1, 4, 9, 16, 25, 36, 49, 64]
kept = [peak(lambda layers: nn.Sequential(*layers), count) for count in counts]
plt.plot(counts, kept, "o-", label="all kept")
plt.plot(counts, [peak(Segments, count) for count in counts], "o-", label="segments")
plt.plot(counts, [2 * count**0.5 for count in counts], ":", label="2√n")
plt.xlabel("layers")
plt.ylabel("outputs held at once")
plt.legend()
plt.show()

# %% A weight that shall go from 1 down to 0.5, in steps of 1/1024
steps = 512
exact, kept = torch.ones(1), torch.ones(1, dtype=torch.bfloat16)
rows = []
for _ in range(steps):
    exact -= 2.0**-10
    kept -= 2.0**-10
    rows.append((exact.item(), exact.bfloat16().item(), kept.item()))
names = ("float32", "its bfloat16", "bfloat16 without a copy")
for name, values in zip(names, zip(*rows)):
    plt.plot(values, label=name)
plt.xlabel("steps")
plt.legend()
plt.show()
