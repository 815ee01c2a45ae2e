"""Rows that travel to their experts and back: who gets which."""

import experts

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from mtd.course import lab
from mtd.course.whole_numbers import compare, whole_numbers


def places(came):
    owners = [mine for counts in came for mine, count in enumerate(counts) for _ in range(count)]
    return [
        [at for at, owner in enumerate(owners) if owner == mine] for mine in range(len(came[0]))
    ]


def going(rank, to):
    return (3 * rank + 2 * to) % 4


def counts():
    rank, size = dist.get_rank(), dist.get_world_size()
    found = experts.tell_counts([going(rank, expert) for expert in range(2 * size)])
    wanted = [
        [going(other, expert) for expert in (2 * rank, 2 * rank + 1)] for other in range(size)
    ]
    assert [[*map(int, each)] for each in found] == wanted, (
        f"{lab.ranks(size)}, 2 experts each: tell_counts on rank {rank} gives {found}, expected {wanted}"
    )


def there_and_back(dtype):
    rank, size = dist.get_rank(), dist.get_world_size()
    sent, came = (
        [going(rank, to) for to in range(size)],
        [going(other, rank) for other in range(size)],
    )

    def labels(source, to, sign):
        return [[sign * (100.0 * source + 10 * to + n), 1.0] for n in range(going(source, to))]

    def rows(pairs, sign=1):
        found = [row for source, to in pairs for row in labels(source, to, sign)]
        return torch.tensor(found, dtype=dtype).reshape(-1, 2)

    mine, theirs = [(rank, to) for to in range(size)], [(source, rank) for source in range(size)]
    x = rows(mine).requires_grad_()
    y = experts.Exchange.apply(x, sent, came)
    compare(y, rows(theirs), f"after an exchange ({sent} rows go, {came} come) the result")
    y.backward(rows(theirs, -1))
    compare(
        x.grad, rows(mine, -1), f"behind an exchange ({sent} rows go, {came} come) the gradient"
    )


def combined(rows, weights, tokens, numbers):
    a, b, c, d = (tensor.clone().requires_grad_() for tensor in (rows, weights, rows, weights))
    found = experts.combine(a, b, tokens, numbers)
    chosen = torch.zeros(len(weights), len(rows), dtype=torch.float64)
    for place, token in enumerate(tokens):
        chosen[token, place] = 1.0
    wanted = (
        chosen @ (c * (chosen.T @ d)[range(len(rows)), numbers].view(-1, 1))
        if tokens
        else 0 * d[:, :2]
    )
    grad = whole_numbers(3, 2, seed=3)
    compare(found, wanted, f"combine of rows for the tokens {tokens} from the experts {numbers}")
    if tokens:
        found.backward(grad)
        wanted.backward(grad)
        compare(a.grad, c.grad, "behind combine the gradient of the rows")
        compare(b.grad, d.grad, "behind combine the gradient of the weights")
