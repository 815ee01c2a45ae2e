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

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.autograd import Function


def part(length, of_what):
    """Which of `length` things are this rank's: a slice, as long as that of each other rank.

    `of_what` says what they are, such as "columns".
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    # BLANK 1: the slice; a ValueError with both numbers where equal parts are not possible (about 4 lines)
    if length % size:
        raise ValueError(f"{length} {of_what} cannot be cut into {size} equal parts, one per rank")
    each = length // size
    return slice(rank * each, (rank + 1) * each)
    # END


class Columns(nn.Module):
    """This rank's columns of a Linear: some of its outputs, computed from all inputs."""

    def __init__(self, whole):
        super().__init__()
        # BLANK 2: this rank's piece of the weight, and of the bias (about 3 lines)
        # whole.weight.detach()[…] is a view: it keeps the whole
        # matrix alive. nn.Parameter(tensor) makes a parameter.
        mine = part(len(whole.weight), "columns")
        self.weight = nn.Parameter(whole.weight.detach()[mine].clone())
        self.bias = nn.Parameter(whole.bias.detach()[mine].clone())
        # END

    def forward(self, x):
        return x @ self.weight.T + self.bias


class Rows(nn.Module):
    """This rank's rows of a Linear: a summand of all outputs, computed from some inputs.

    The bias is whole on each rank, and is added once, to the sum of the summands.
    """

    def __init__(self, whole):
        super().__init__()
        # BLANK 3: this rank's piece of the weight (about 2 lines)
        mine = part(whole.weight.shape[1], "rows")
        self.weight = nn.Parameter(whole.weight.detach()[:, mine].clone())
        # END
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
        # BLANK 4: `grad` comes from this rank's piece of the layer only (about 3 lines)
        # Others may hold `grad`: do not write into it.
        total = grad.clone()
        dist.all_reduce(total)
        return total
        # END


class Leave(Function):
    """The summands of all ranks are added up, and all have the sum."""

    @staticmethod
    def forward(ctx, summand):
        # BLANK 5: forward (about 3 lines)
        total = summand.clone()
        dist.all_reduce(total)
        return total
        # END

    @staticmethod
    def backward(ctx, grad):
        # BLANK 6: each rank computes the loss of the same sum. What is the gradient of its summand? (1 line)
        return grad
        # END


def all_rows(mine):
    """The rows of all ranks, one rank's after the other's."""
    # BLANK 7: dist.all_gather_into_tensor(output, input) (about 3 lines)
    # mine.new_empty(rows, …) makes a tensor for the result.
    whole = mine.new_empty(dist.get_world_size() * len(mine), *mine.shape[1:])
    dist.all_gather_into_tensor(whole, mine.contiguous())
    return whole
    # END


def sum_of_my_rows(summand):
    """This rank's rows of the sum of all ranks' summands."""
    # BLANK 8: dist.reduce_scatter_tensor(output, input) (about 3 lines)
    # Refuse rows that cannot be cut equally, as columns are refused.
    rows = part(len(summand), "rows of the sequence")
    mine = summand.new_empty(rows.stop - rows.start, *summand.shape[1:])
    dist.reduce_scatter_tensor(mine, summand.contiguous())
    return mine
    # END


class EnterRows(Function):
    """As Enter; but each rank has only its rows of the tensor."""

    @staticmethod
    def forward(ctx, mine):
        # BLANK 9: all ranks' rows are needed (1 line)
        return all_rows(mine)
        # END

    @staticmethod
    def backward(ctx, grad):
        # BLANK 10: `grad` is a summand, of the gradient of all rows (1 line)
        return sum_of_my_rows(grad)
        # END


class LeaveRows(Function):
    """As Leave; but each rank gets only its rows of the sum."""

    @staticmethod
    def forward(ctx, summand):
        # BLANK 11: this rank's rows of the sum are needed (1 line)
        return sum_of_my_rows(summand)
        # END

    @staticmethod
    def backward(ctx, grad):
        # BLANK 12: a summand has all rows, and so has its gradient (1 line)
        return all_rows(grad)
        # END


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
        # BLANK 13: if each rank uses it for other rows, its gradients are summands. What adds them up? (1 line)
        return Enter.apply(p) if self.in_rows else p
        # END


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
        # BLANK 14: enter, both layers, leave; and the bias of the second one, once (about 2 lines)
        hidden = self.first(self.enter(x)).relu()
        return self.leave(self.second(hidden)) + self.shared(self.second.bias)
        # END


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
        # BLANK 15: how many of the `heads` are this rank's (about 2 lines)
        mine = part(heads, "heads")
        self.heads = mine.stop - mine.start
        # END

    def forward(self, x):
        # BLANK 16: as in MLP; each head alone, with one `enter` for all three matrices (about 5 lines)
        # A head is weigh(q @ k.T) @ v. torch.cat(tensors, 1) puts columns side by side.
        x = self.enter(x)
        seen = (heads_of(layer(x), self.heads) for layer in (self.query, self.key, self.value))
        found = [self.weigh(q @ k.T) @ v for q, k, v in zip(*seen)]
        summand = self.output(torch.cat(found, 1))
        return self.leave(summand) + self.shared(self.output.bias)
        # END
