# %% What an MLP of 48, 192 and 48 features keeps for backward, for 48 tokens (measured)
import matplotlib.pyplot as plt

from minitorch_dist import cuda, sim

TOKENS, WIDTH = 48, 48


def kept(size, in_rows):
    def program():
        layers = (nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH))
        first, second = (layer.to("cuda") for layer in layers)
        block = MLP(Columns(first), Rows(second), in_rows)
        gain = torch.ones(WIDTH, device="cuda")
        norm = Norm(gain, lambda x: x / x.square().mean(1, keepdim=True).sqrt(), in_rows)
        rows = TOKENS // size if in_rows else TOKENS
        x = torch.ones(rows, WIDTH, device="cuda", requires_grad=True)
        before = cuda.memory_allocated()
        y = x + block(norm(x))
        return (cuda.memory_allocated() - before) / (TOKENS * WIDTH * 4), y.shape

    return max(found[0] for found in sim.run(program, size, memory="1GB").results)


sizes = [1, 2, 4, 8, 16]
plt.plot(sizes, [kept(size, False) for size in sizes], "o-", label="cut")
plt.plot(sizes, [kept(size, True) for size in sizes], "o-", label="cut, and in rows")
plt.plot(sizes, [kept(1, False) / size for size in sizes], ":", label="a P-th of one rank's")
plt.xlabel("ranks")
plt.ylabel("kept on each rank, in sizes of x")
plt.legend()
plt.show()
