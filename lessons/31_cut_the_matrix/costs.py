"""The bytes that a block of lesson 31 sends, and those that it keeps in memory."""

import cut

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import cuda, nn, sim

FREE = sim.Hockney(0, "100Gb/s")  # without latency the library takes what sends least

S, W, H = 24, 48, 24  # tokens, features, heads


def make_layers(where="cpu"):
    def wide(inputs, outputs):
        return nn.Linear(inputs, outputs, dtype=torch.float64).to(where)

    columns = [cut.Columns(wide(W, W)) for _ in range(3)]
    yield lambda in_rows: cut.Attention(*columns, cut.Rows(wide(W, W)), H, torch.relu, in_rows)
    yield lambda in_rows: cut.MLP(cut.Columns(wide(W, 4 * W)), cut.Rows(wide(4 * W, W)), in_rows)


def a_block(in_rows):
    tokens = S // dist.get_world_size() if in_rows else S
    x = torch.ones(tokens, W, dtype=torch.float64, requires_grad=True)
    for make in make_layers():
        x = x + make(in_rows)(x)
    x.sum().backward()


def sent(size, in_rows=False):
    return max(rank.bytes_sent for rank in sim.run(a_block, size, (in_rows,), net=FREE).ranks)


def held(size, in_rows):
    """Bytes of the parameters of an MLP on a rank, and of what its forward leaves for backward."""

    def program():
        *_, make = make_layers("cuda")
        before = cuda.memory_allocated()
        block = make(in_rows)
        parameters = cuda.memory_allocated() - before
        x = torch.ones(
            S // (size if in_rows else 1), W, dtype=torch.float64, device="cuda", requires_grad=True
        )
        given, before = x + x, cuda.memory_allocated()
        before -= given.nbytes
        y = given + block(given)
        del given
        return parameters, cuda.memory_allocated() - before, y.shape

    return max((found[:2] for found in sim.run(program, size, memory="1GB").results), key=max)
