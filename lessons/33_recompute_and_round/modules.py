"""Modules behind a checkpoint, their gradients, memory and time."""

import math

import recompute

import minitorch_dist as torch
from minitorch_dist import cuda, nn, sim
from mtd.course.layers import SquareLayer


class Two(nn.Module):
    """Two inputs, and weights of which one may be unused."""

    def __init__(self, seed, is_unused=False):
        super().__init__()
        self.w = nn.Parameter(torch.arange(4.0).view(2, 2) - seed)
        self.unused = nn.Parameter(torch.ones(1)) if is_unused else None

    def forward(self, x, y):
        return ((x @ self.w) * y).relu() + y


class Looked(nn.Module):
    """An input of whole numbers, which has no gradient."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.arange(8.0).view(4, 2))

    def forward(self, places, x):
        return self.table[places] * x


def gradients(call, case):
    """The output, and the gradients of all that a case has, where its module is used as `call` says."""
    x, y = (torch.tensor([[1.0, -2.0], [3.0, 0.5]], requires_grad=True) for _ in range(2))
    module = Looked() if case == "whole numbers" else Two(1, case == "an unused parameter")
    if case == "no parameters":
        output = call(nn.Tanh(), x)
    elif case == "whole numbers":
        output = call(module, torch.tensor([3, 1]), x)
    elif case == "twice":
        output = call(module, call(module, x, y), y)
    else:
        output = call(module, x, y)
    for _ in range(2 if case == "two backwards" else 1):
        (output * output).sum().backward(retain_graph=case == "two backwards")
    every = [x, y, *module.parameters()]
    return output.tolist(), [None if each.grad is None else each.grad.tolist() for each in every]


CASES = (
    "two inputs",
    "no parameters",
    "an unused parameter",
    "whole numbers",
    "twice",
    "two backwards",
)


def plainly(module, *inputs):
    return module(*inputs)


class Dropped(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x * x, 0.5)


class Halves(nn.Module):
    """Checkpoints in checkpoints: the first half is forgotten, and within it again the first half."""

    def __init__(self, layers):
        super().__init__()
        middle = len(layers) // 2
        self.inner = layers[0] if len(layers) == 1 else None
        self.parts = nn.ModuleList(
            [] if self.inner else [Halves(layers[:middle]), Halves(layers[middle:])]
        )

    def forward(self, x):
        if self.inner:
            return self.inner(x)
        return self.parts[1](recompute.checkpoint(self.parts[0], x))


ROWS, SIDE = 4096, 2


def held(build, count):
    """(at most in a step, after it): activations, in outputs of one layer, on an accelerator."""

    def program():
        model = build([SquareLayer(SIDE).to("cuda") for _ in range(count)])
        x = torch.ones(ROWS, SIDE, dtype=torch.float64, device="cuda")
        before = cuda.memory_allocated()
        cuda.reset_peak_memory_stats()
        model(x).sum().backward()
        most = cuda.max_memory_allocated()
        return (most - before) / x.nbytes, (cuda.memory_allocated() - before) / x.nbytes

    return sim.run(program, 1, memory="1GB").results[0]


def peak(build, count):
    return held(build, count)[0]


def least(count):
    """With equal segments: a segment's input for each, all of one segment, and a gradient."""
    return min(parts + math.ceil(count / parts) for parts in range(1, count + 1))


def milliseconds(build, count):
    def program():
        layers = [SquareLayer(SIDE, "1ms", "2ms") for _ in range(count)]
        build(layers)(torch.ones(1, SIDE, dtype=torch.float64)).sum().backward()
        return round(sim.now() * 1000)

    return sim.run(program, 1).results[0]
