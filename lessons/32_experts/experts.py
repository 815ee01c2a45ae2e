"""Experts: many layers on many ranks, of which each token visits a few.

    token        router: weights      the two best       rank 0          rank 1
    0 (rank 0)   .1  .5  .3  .1   ─►  experts 1, 2       experts 0, 1    experts 2, 3
    1 (rank 0)   .6  .2  .1  .1   ─►  experts 0, 1
    2 (rank 1)   .1  .6  .1  .2   ─►  experts 1, 3

    counts there ─► rows there ─► the experts compute ─► rows back ─► weighted sum

Of E experts on P ranks, each rank has E/P, one after the other. Which token goes
where is kept in lists of numbers; only rows and weights are tensors.

The real ones: arXiv:2006.16668 (GShard), arXiv:2101.03961 (Switch Transformer).
"""

import math

from cut import Enter, part

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.autograd import Function


def choose(weights, k):
    """For each token (a row of weights) the numbers of its `k` experts: the largest weight first.

    Of equal weights the lower number comes first.
    """
    # BLANK 1: a list of k numbers for each row of `weights.tolist()` (about 3 lines)
    rows = weights.tolist()
    orders = [sorted(range(len(row)), key=lambda expert: -row[expert]) for row in rows]
    return [order[:k] for order in orders]
    # END


def capacity(tokens, k, experts, factor):
    """How many of a rank's tokens an expert takes at most.

    It is `factor` times an equal share, rounded up.
    """
    # BLANK 2: each of the tokens has k places to fill (1 line)
    return math.ceil(factor * tokens * k / experts)
    # END


def assign(chosen, experts, most):
    """For each expert the tokens that it takes, at most `most` of them.

    First all first choices are served, in the order of the tokens;
    then all second ones, and so on. A full expert takes no more.
    """
    seats = [[] for _ in range(experts)]
    # BLANK 3: fill the seats (about 4 lines)
    # zip(*chosen) gives all first choices, then all second ones, …
    for choices in zip(*chosen):
        for token, expert in enumerate(choices):
            if len(seats[expert]) < most:
                seats[expert].append(token)
    # END
    return seats


def tell_counts(counts):
    """`counts[e]` rows will go to expert e: tell its rank.

    Returns, for each rank, how many rows it has for each expert of this rank.
    """
    size = dist.get_world_size()
    each = len(counts) // size
    # BLANK 4: dist.all_to_all_single(output, input): part r of the input goes to rank r (about 3 lines)
    # torch.tensor(counts) and torch.zeros_like make the two tensors.
    sent = torch.tensor(counts)
    came = torch.zeros_like(sent)
    dist.all_to_all_single(came, sent)
    # END
    numbers = [int(number) for number in came.tolist()]
    return [numbers[rank * each : (rank + 1) * each] for rank in range(size)]


def per_rank(counts):
    """Of a number for each expert: the sum of each rank's experts."""
    each = len(counts) // dist.get_world_size()
    return [sum(counts[first : first + each]) for first in range(0, len(counts), each)]


def exchanged(rows, sent, came):
    """The first `sent[0]` rows go to rank 0, the next `sent[1]` to rank 1, and so on.

    Returns what comes: `came[r]` rows from rank r.
    """
    # BLANK 5: dist.all_to_all_single(output, input, rows that come from each rank, rows that go to each) (about 3 lines)
    output = rows.new_empty(sum(came), rows.shape[1])
    dist.all_to_all_single(output, rows.contiguous(), came, sent)
    return output
    # END


class Exchange(Function):
    """`exchanged`, with a gradient."""

    @staticmethod
    def forward(ctx, rows, sent, came):
        ctx.sent, ctx.came = sent, came
        return exchanged(rows, sent, came)

    @staticmethod
    def backward(ctx, grad):
        # BLANK 6: the gradient of a row goes where the row came from; None for `sent` and `came` (1 line)
        return exchanged(grad, ctx.came, ctx.sent), None, None
        # END


def places_of(came):
    """For each expert of this rank: which of the rows that came are for it.

    They came rank after rank, and from each rank expert after expert.
    """
    places = [[] for _ in came[0]]
    # BLANK 7: count through the rows (about 5 lines)
    at = 0
    for counts in came:
        for mine, count in zip(places, counts):
            mine.extend(range(at, at + count))
            at += count
    # END
    return places


def combine(rows, weights, tokens, experts):
    """For each token the sum of its rows, each times its weight.

    A token that no expert took has zeros.
    Row i is what expert `experts[i]` made of token `tokens[i]`.
    """
    total = rows.new_zeros(len(weights), rows.shape[1])
    # BLANK 8: weights[tokens, experts] has a weight for each row (about 2 lines)
    # total.index_add(0, index, rows) is total, with rows[i] added to its
    # row index[i]. The index is torch.tensor(tokens, dtype=torch.int64).
    weighted = rows * weights[tokens, experts].view(-1, 1)
    return total.index_add(0, torch.tensor(tokens, dtype=torch.int64), weighted)
    # END


def balance(weights, chosen):
    """A loss that is 1 if all experts are chosen equally often.

    It is larger if those with large weights are chosen more often:

    E · Σ (the expert's share of all choices) · (its mean weight)
    """
    tokens, experts = weights.shape
    if not tokens:
        return weights.sum()
    # BLANK 9: the shares are numbers, the weights have a gradient (about 3 lines)
    everything = [expert for choices in chosen for expert in choices]
    shares = [everything.count(expert) / len(everything) for expert in range(experts)]
    return (weights * torch.tensor(shares, dtype=weights.dtype)).sum() * (experts / tokens)
    # END


class Experts(nn.Module):
    """A layer in which each token visits `k` of the `experts`. This rank keeps its own ones.

    `router` is a matrix (experts, features), the same on all ranks. `weigh` makes weights
    of a token's scores, as softmax does. `factor` says how far an expert may be overfull.
    After a forward, `balance` is its balance loss.
    """

    def __init__(self, router, experts, k, factor, weigh):
        super().__init__()
        self.count, self.k, self.factor, self.weigh = len(experts), k, factor, weigh
        self.router = nn.Parameter(router.detach().clone())
        self.experts = nn.ModuleList(experts[part(len(experts), "experts")])

    def scores(self, x):
        """Of each token for each expert."""
        # BLANK 10: a matrix product; each rank uses its router for its own tokens (1 line)
        # Treat such a parameter as lesson 31 does.
        return x @ Enter.apply(self.router).T
        # END

    def forward(self, x):
        weights = self.weigh(self.scores(x))
        # BLANK 11: which token goes to which expert (about 3 lines)
        chosen = choose(weights, self.k)
        most = capacity(len(x), self.k, self.count, self.factor)
        seats = assign(chosen, self.count, most)
        # END
        self.balance = balance(weights, chosen)
        tokens = [token for seat in seats for token in seat]
        numbers = [expert for expert, seat in enumerate(seats) for _ in seat]
        sent = [len(seat) for seat in seats]
        # BLANK 12: there, through the experts, and back (about 4 lines)
        # x[tokens] has the rows in the order in which they go. How many come from each rank?
        came = tell_counts(sent)
        away, here = per_rank(sent), [sum(counts) for counts in came]
        found = self.compute(Exchange.apply(x[tokens], away, here), places_of(came))
        rows = Exchange.apply(found, here, away)
        # END
        return combine(rows, weights, tokens, numbers)

    def compute(self, rows, places):
        """Each expert of this rank on its rows; the results in the order in which the rows came."""
        order = [place for mine in places for place in mine]
        # BLANK 13: an expert without a row computes, too: on none (about 2 lines)
        found = torch.cat([expert(rows[mine]) for expert, mine in zip(self.experts, places)])
        return found[sorted(range(len(order)), key=order.__getitem__)]
        # END
