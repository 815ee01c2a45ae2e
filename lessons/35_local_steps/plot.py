# %% The loss after 240 steps on 4 ranks, as all talk less often (measured)
import matplotlib.pyplot as plt

from minitorch_dist import sim
from minitorch_dist.optim import SGD
from minitorch_dist.testing import exact


def trained(every, **how):
    def program():
        rank, model = dist.get_rank(), exact.Model()
        inner = SGD(model.parameters(), lr=2.0**-7)
        optimizer = DiLoCo(model.parameters(), inner, every, **how)
        for step in range(240):
            model.zero_grad()
            share = exact.data(37, step % 8).shares(4)[rank]
            (exact.loss(model(share.x), share.y) * 4.0).backward()
            optimizer.step()
        whole = [exact.data(37, seed) for seed in range(8)]
        return sum(exact.loss(model(one.x), one.y).item() for one in whole) / 8

    return sim.run(program, 4).results[0]


often = [1, 2, 4, 8, 16, 40, 80]
kinds = {"average": {"rate": 1.0, "momentum": 0.0}, "DiLoCo": {}}
for name, how in kinds.items():
    plt.plot(often, [trained(every, **how) for every in often], "o-", label=name)
plt.xscale("log")
plt.xlabel("steps between two talks; bytes are divided by it")
plt.ylabel("loss")
plt.legend()
plt.show()

# %% What the others have got of a small number, with and without its rounding errors sent later
change, rounded, total, plain = torch.tensor([1.0, 0.001]), Rounded(), [0.0], [0.0]


def program():
    for _ in range(50):
        total.append(total[-1] + rounded(0, change.clone())[1].item())
        levels, scale = to_bytes(change)
        plain.append(plain[-1] + (levels * scale)[1].item())


sim.run(program, 1)
plt.plot(total, label="with what is missing")
plt.plot(plain, label="without")
plt.plot([0.001 * step for step in range(51)], ":", label="exactly")
plt.xlabel("talks")
plt.legend()
plt.show()
