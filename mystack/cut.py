"""A layer cut over ranks: two matrices, and one sum.

              first matrix            second matrix
    x ──┬──► │ columns 0, 1 │ ─► h ─► │ rows 0, 1 │ ─► summand ──┐
        └──► │ columns 2, 3 │ ─► h ─► │ rows 2, 3 │ ─► summand ──┴──► sum
      enter                                                    leave

                  enter (f)      leave (g)
    forward       as it is       all_reduce
    backward      all_reduce     as it is

x is a matrix: a row for each token, a column for each feature. A Linear
keeps its matrix as (outputs, inputs): column j of it is row j of `weight`.

The real one: minitorch_dist/distributed/tensor/parallel.
Source: arXiv:1909.08053 (f and g), arXiv:2205.05198 (rows).
"""

from .face import tensors as torch
from .face import distributed as dist
from .face import nn
from .face.autograd import Function


def part(length, of_what):
    """Which of `length` things are this rank's: a slice, as long as that of each other rank.

    `of_what` says what they are, such as "columns".
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    if length % size:
        raise ValueError(f"{length} {of_what} cannot be cut into {size} equal parts, one per rank")
    each = length // size
    return slice(rank * each, (rank + 1) * each)


class Columns(nn.Module):
    """This rank's columns of a Linear: some of its outputs, computed from all inputs."""

    def __init__(self, whole):
        super().__init__()
        mine = part(len(whole.weight), "columns")
        self.weight = nn.Parameter(whole.weight.detach()[mine].clone())
        self.bias = nn.Parameter(whole.bias.detach()[mine].clone())

    def forward(self, x):
        return x @ self.weight.T + self.bias


class Rows(nn.Module):
    """This rank's rows of a Linear: a summand of all outputs, computed from some inputs.

    The bias is whole on each rank, and is added once, to the sum of the summands.
    """

    def __init__(self, whole):
        super().__init__()
        mine = part(whole.weight.shape[1], "rows")
        self.weight = nn.Parameter(whole.weight.detach()[:, mine].clone())
        self.bias = nn.Parameter(whole.bias.detach().clone())

    def forward(self, x):
        return x @ self.weight.T


class Enter(Function):
    """A tensor that all ranks have goes into what is cut."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        total = grad.clone()
        dist.all_reduce(total)
        return total


class Leave(Function):
    """The summands of all ranks are added up, and all have the sum."""

    @staticmethod
    def forward(ctx, summand):
        total = summand.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, grad):
        return grad


def all_rows(mine):
    """The rows of all ranks, one rank's after the other's."""
    whole = mine.new_empty(dist.get_world_size() * len(mine), *mine.shape[1:])
    dist.all_gather_into_tensor(whole, mine.contiguous())
    return whole


def sum_of_my_rows(summand):
    """This rank's rows of the sum of all ranks' summands."""
    rows = part(len(summand), "rows of the sequence")
    mine = summand.new_empty(rows.stop - rows.start, *summand.shape[1:])
    dist.reduce_scatter_tensor(mine, summand.contiguous())
    return mine


class EnterRows(Function):
    """As Enter; but each rank has only its rows of the tensor."""

    @staticmethod
    def forward(ctx, mine):
        return all_rows(mine)

    @staticmethod
    def backward(ctx, grad):
        return sum_of_my_rows(grad)


class LeaveRows(Function):
    """As Leave; but each rank gets only its rows of the sum."""

    @staticmethod
    def forward(ctx, summand):
        return sum_of_my_rows(summand)

    @staticmethod
    def backward(ctx, grad):
        return all_rows(grad)


class Cut(nn.Module):
    """Between two blocks each rank has all rows, or, `in_rows`, its own ones."""

    def __init__(self, in_rows=False):
        super().__init__()
        self.in_rows = in_rows

    def enter(self, x):
        return (EnterRows if self.in_rows else Enter).apply(x)

    def leave(self, summand):
        return (LeaveRows if self.in_rows else Leave).apply(summand)

    def shared(self, p):
        """A parameter that is whole on each rank, ready to be used between two blocks."""
        return Enter.apply(p) if self.in_rows else p


class Norm(Cut):
    """Each row for itself: what `normal` makes of it, times a gain that is learned."""

    def __init__(self, gain, normal, in_rows=False):
        super().__init__(in_rows)
        self.gain, self.normal = nn.Parameter(gain.detach().clone()), normal

    def forward(self, x):
        return self.normal(x) * self.shared(self.gain)


class MLP(Cut):
    """Two layers, `first` in Columns and `second` in Rows, with a ReLU between them."""

    def __init__(self, first, second, in_rows=False):
        super().__init__(in_rows)
        self.first, self.second = first, second

    def forward(self, x):
        hidden = self.first(self.enter(x)).relu()
        return self.leave(self.second(hidden)) + self.shared(self.second.bias)


def heads_of(tensor, count):
    """The columns of each head."""
    width = tensor.shape[1] // count
    return [tensor[:, n * width : (n + 1) * width] for n in range(count)]


class Attention(Cut):
    """Each head has columns of its own, so a rank has whole heads.

    `query`, `key` and `value` are Columns, `output` is Rows.
    `weigh` makes weights of a head's scores, as softmax does.
    """

    def __init__(self, query, key, value, output, heads, weigh, in_rows=False):
        super().__init__(in_rows)
        self.query, self.key, self.value, self.output = query, key, value, output
        self.weigh = weigh
        mine = part(heads, "heads")
        self.heads = mine.stop - mine.start

    def forward(self, x):
        x = self.enter(x)
        seen = (heads_of(layer(x), self.heads) for layer in (self.query, self.key, self.value))
        found = [self.weigh(q @ k.T) @ v for q, k, v in zip(*seen)]
        summand = self.output(torch.cat(found, 1))
        return self.leave(summand) + self.shared(self.output.bias)
