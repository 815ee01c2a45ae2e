"""The layer of lesson 32 on whole numbers, beside the same on one rank, which has all experts."""

import experts

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from mtd.course.whole_numbers import compare, linear, whole_numbers

FEATURES, RESULTS = 3, 2

ALL, NONE, SOME = "all to one expert", "one rank without tokens", "uneven"


def tokens_of(rank, kind):
    """How many tokens a rank has."""
    return {ALL: 3, NONE: 4 * (rank == 0), SOME: (3 * rank + 2) % 5}[kind]


def router_of(count, kind):
    router = whole_numbers(count, FEATURES, seed=5)
    if kind == ALL:
        router *= 0
        router[count - 1] += 1.0
    return router


def input_of(rank, kind):
    x = whole_numbers(tokens_of(rank, kind), FEATURES, seed=rank)
    return x * x + 1 if kind == ALL else x


def layers_of(count):
    return [
        nn.Sequential(linear(FEATURES, 4, 10 + n), nn.ReLU(), linear(4, RESULTS, 50 + n))
        for n in range(count)
    ]


def dense(router, layers, k, factor, inputs):
    """One rank that has all experts: each token beside each expert that took it, by the rules of the text."""
    found, taken = [], []
    for x in inputs:
        weights = (x @ router.T).relu()
        order = [
            sorted(range(len(layers)), key=lambda e: (-row[e], e))[:k] for row in weights.tolist()
        ]
        most, room = -(-int(factor * 16) * len(x) * k // (16 * len(layers))), [0] * len(layers)
        y, pairs = torch.zeros(len(x), RESULTS, dtype=torch.float64), []
        for place in range(k):
            for token, choices in enumerate(order):
                room[choices[place]] += 1
                if room[choices[place]] <= most:
                    pairs.append((token, choices[place]))
        for token, expert in pairs:
            row = torch.zeros(len(x), 1, dtype=torch.float64)
            row[token] = 1.0
            y = y + row * (weights[token, expert] * layers[expert](x[token : token + 1]))
        y = y + 0 * sum(layer(x).sum() for layer in layers) + 0 * weights.sum() + 0 * x.sum()
        found.append(y)
        taken.append(pairs)
    return found, taken


def is_same_as_one_rank(k, factor, kind):
    """Twice there and back, so that gradients have to add up; then without gradients."""
    rank, size = dist.get_rank(), dist.get_world_size()
    count = 2 * size
    router, layers = router_of(count, kind), layers_of(count)
    layer = experts.Experts(router, layers_of(count), k, factor, torch.relu)
    inputs = [input_of(each, kind).requires_grad_() for each in range(size)]
    whole = router.clone().requires_grad_()
    wanted, _ = dense(whole, layers, k, factor, inputs)
    mine = inputs[rank].detach().clone().requires_grad_()
    told = f"with {k} of {count} experts, factor {factor}, {kind},"
    grads = [whole_numbers(len(x), RESULTS, seed=30 + each) for each, x in enumerate(inputs)]
    for backward in (1, 2):
        y = layer(mine)
        compare(y, wanted[rank], f"{told} the result")
        weights = (mine @ router.T).relu()
        due = experts.balance(weights, experts.choose(weights, k)).item()
        assert abs(layer.balance.item() - due) < 1e-9, (
            f"{told} the layer's `balance` is {layer.balance.item():g}, and for its weights and choices it is {due:g}"
        )
        y.backward(grads[rank])
        for each, grad in zip(wanted, grads, strict=True):
            each.backward(grad, retain_graph=True)
        behind = (
            f"{told} after {'one backward' if backward == 1 else 'two backwards'} the gradient of"
        )
        compare(mine.grad, inputs[rank].grad, f"{behind} the input")
        compare(layer.router.grad, whole.grad, f"{behind} the router")
        for number, own in enumerate(layer.experts):
            theirs = layers[2 * rank + number]
            for (name, p), q in zip(own.named_parameters(), theirs.parameters(), strict=True):
                compare(p.grad, q.grad, f"{behind} {name} of expert {2 * rank + number}")
    layer.eval()
    with torch.no_grad():
        compare(layer(mine), wanted[rank], f"{told} without gradients the result")


def refused(count):
    size = dist.get_world_size()
    try:
        experts.Experts(router_of(count, SOME), layers_of(count), 1, 1.0, torch.relu)
    except ValueError as error:
        assert str(count) in str(error), (
            f"{count} experts: the ValueError says {str(error)!r}, without {count}"
        )
    else:
        raise AssertionError(
            f"{count} experts on {size} ranks were taken, expected a ValueError: ranks would have unequal numbers"
        )


def a_step(kind, k):
    rank, size = dist.get_rank(), dist.get_world_size()
    layer = experts.Experts(router_of(2 * size, kind), layers_of(2 * size), k, 1.0, torch.relu)
    layer(input_of(rank, kind).requires_grad_()).sum().backward()


def least_bytes(size, kind, k):
    """Each row that leaves its rank: there and back, and its gradient; the counts; an all_reduce of the router's gradient."""
    count = 2 * size
    _, taken = dense(
        router_of(count, kind),
        layers_of(count),
        k,
        1.0,
        [input_of(each, kind) for each in range(size)],
    )
    leaving = [
        [sum(expert // 2 == to for _, expert in pairs) for to in range(size)] for pairs in taken
    ]
    router = 2 * (size - 1) / size * count * FEATURES * 8
    found = []
    for rank in range(size):
        out = sum(leaving[rank]) - leaving[rank][rank]
        back = sum(row[rank] for row in leaving) - leaving[rank][rank]
        found.append((out + back) * (FEATURES + RESULTS) * 8 + (size - 1) * 2 * 8 + router)
    return max(found)
