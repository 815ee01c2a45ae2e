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

from .cut import Enter, part

from .face import tensors as torch
from .face import distributed as dist
from .face import nn
from .face.autograd import Function


def choose(weights, k):
    """For each token (a row of weights) the numbers of its `k` experts: the largest weight first.

    Of equal weights the lower number comes first.
    """
    rows = weights.tolist()
    orders = [sorted(range(len(row)), key=lambda expert: -row[expert]) for row in rows]
    return [order[:k] for order in orders]


def capacity(tokens, k, experts, factor):
    """How many of a rank's tokens an expert takes at most.

    It is `factor` times an equal share, rounded up.
    """
    return math.ceil(factor * tokens * k / experts)


def assign(chosen, experts, most):
    """For each expert the tokens that it takes, at most `most` of them.

    First all first choices are served, in the order of the tokens;
    then all second ones, and so on. A full expert takes no more.
    """
    seats = [[] for _ in range(experts)]
    for choices in zip(*chosen):
        for token, expert in enumerate(choices):
            if len(seats[expert]) < most:
                seats[expert].append(token)
    return seats


def tell_counts(counts):
    """`counts[e]` rows will go to expert e: tell its rank.

    Returns, for each rank, how many rows it has for each expert of this rank.
    """
    size = dist.get_world_size()
    each = len(counts) // size
    sent = torch.tensor(counts)
    came = torch.zeros_like(sent)
    dist.all_to_all_single(came, sent)
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
    output = rows.new_empty(sum(came), rows.shape[1])
    dist.all_to_all_single(output, rows.contiguous(), came, sent)
    return output


class Exchange(Function):
    """`exchanged`, with a gradient."""

    @staticmethod
    def forward(ctx, rows, sent, came):
        ctx.sent, ctx.came = sent, came
        return exchanged(rows, sent, came)

    @staticmethod
    def backward(ctx, grad):
        return exchanged(grad, ctx.came, ctx.sent), None, None


def places_of(came):
    """For each expert of this rank: which of the rows that came are for it.

    They came rank after rank, and from each rank expert after expert.
    """
    places = [[] for _ in came[0]]
    at = 0
    for counts in came:
        for mine, count in zip(places, counts):
            mine.extend(range(at, at + count))
            at += count
    return places


def combine(rows, weights, tokens, experts):
    """For each token the sum of its rows, each times its weight.

    A token that no expert took has zeros.
    Row i is what expert `experts[i]` made of token `tokens[i]`.
    """
    total = rows.new_zeros(len(weights), rows.shape[1])
    weighted = rows * weights[tokens, experts].view(-1, 1)
    return total.index_add(0, torch.tensor(tokens, dtype=torch.int64), weighted)


def balance(weights, chosen):
    """A loss that is 1 if all experts are chosen equally often.

    It is larger if those with large weights are chosen more often:

    E · Σ (the expert's share of all choices) · (its mean weight)
    """
    tokens, experts = weights.shape
    if not tokens:
        return weights.sum()
    everything = [expert for choices in chosen for expert in choices]
    shares = [everything.count(expert) / len(everything) for expert in range(experts)]
    return (weights * torch.tensor(shares, dtype=weights.dtype)).sum() * (experts / tokens)


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
        return x @ Enter.apply(self.router).T

    def forward(self, x):
        weights = self.weigh(self.scores(x))
        chosen = choose(weights, self.k)
        most = capacity(len(x), self.k, self.count, self.factor)
        seats = assign(chosen, self.count, most)
        self.balance = balance(weights, chosen)
        tokens = [token for seat in seats for token in seat]
        numbers = [expert for expert, seat in enumerate(seats) for _ in seat]
        sent = [len(seat) for seat in seats]
        came = tell_counts(sent)
        away, here = per_rank(sent), [sum(counts) for counts in came]
        found = self.compute(Exchange.apply(x[tokens], away, here), places_of(came))
        rows = Exchange.apply(found, here, away)
        return combine(rows, weights, tokens, numbers)

    def compute(self, rows, places):
        """Each expert of this rank on its rows; the results in the order in which the rows came."""
        order = [place for mine in places for place in mine]
        found = torch.cat([expert(rows[mine]) for expert, mine in zip(self.experts, places)])
        return found[sorted(range(len(order)), key=order.__getitem__)]
