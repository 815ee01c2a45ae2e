# %% The peak of a step with Adam, as the world grows: 8 equal layers
import matplotlib.pyplot as plt

from minitorch_dist import sim
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import Adam
from mtd.course.layers import SquareLayer


def peak(size, whole, unit):
    def program():
        model = whole(nn.Sequential(*[unit(SquareLayer(24).to("cuda")) for _ in range(8)]))
        optimizer = Adam(model.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            model(torch.ones(1, 24, dtype=torch.float64, device="cuda")).sum().backward()
            optimizer.step()

    return max(rank.peak_bytes for rank in sim.run(program, size, memory="1GB").ranks) / (
        24 * 24 * 8
    )


def as_it_is(module):
    return module


sizes = [1, 2, 4, 8, 16]
plt.plot(
    sizes, [peak(size, DistributedDataParallel, as_it_is) for size in sizes], "o-", label="DDP"
)
plt.plot(
    sizes,
    [peak(size, FullyShardedDataParallel, as_it_is) for size in sizes],
    "o-",
    label="FSDP, all in one unit",
)
plt.plot(
    sizes,
    [peak(size, as_it_is, FullyShardedDataParallel) for size in sizes],
    "o-",
    label="FSDP, each layer a unit",
)
plt.xlabel("ranks")
plt.ylabel("peak, in layers")
plt.legend()
plt.show()

# %% Which model fits into 80 GB? 4 bytes a number, activations not counted
ranks = [1, 2, 4, 8, 16, 32, 64]
for name, numbers in {
    "lesson 17": lambda p: 4,
    "ZeRO": lambda p: 2 + 2 / p,
    "FSDP": lambda p: 4 / p,
}.items():
    plt.loglog(ranks, [80 / 4 / numbers(p) for p in ranks], "o-", base=2, label=name)
plt.xlabel("ranks")
plt.ylabel("billions of parameters")
plt.legend()
plt.show()
