# %% One layer, and tokens that want one expert more and more (measured; 1 ms for a token in an expert)
import matplotlib.pyplot as plt

from minitorch_dist import sim


class Slow(nn.Module):
    def forward(self, rows):
        sim.compute(f"{len(rows)}ms")
        return rows


def milliseconds(favoured, factor):
    def program():
        wants = [0] * favoured + [n % 4 for n in range(24 - favoured)]
        x = torch.tensor([[float(n == expert) for n in range(4)] for expert in wants])
        layer = Experts(torch.eye(4), [Slow() for _ in range(4)], 1, factor, torch.relu)
        layer(x)

    return sim.run(program, 4, net=sim.uniform("0s", "1000TB/s")).time / 1e9


counts = range(0, 25, 4)
for factor, label in ((4.0, "all are taken"), (2.0, "capacity factor 2"), (1.25, "1.25")):
    plt.plot(counts, [milliseconds(n, factor) for n in counts], "o-", label=label)
plt.xlabel("tokens that want expert 0, of 24 on each of 4 ranks; the rest is spread")
plt.ylabel("ms for a forward")
plt.legend()
plt.show()
