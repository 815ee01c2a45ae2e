"""Right answers that are written in another way than ours: each passes its lesson with all stars."""

from __future__ import annotations

from pathlib import Path

import pytest

from mtd.course import checking, lesson
from mtd.course.path import LessonAnswer

IN_THE_ORDER_OF_RANKS = """\
    total = came[0]
    for rank in range(1, len(came)):
        total = total + came[rank]
    return total
"""
WITH_NUMPY = """\
    total = came[0].numpy()
    for rank in range(1, len(came)):
        total = total + came[rank].numpy()
    return torch.from_numpy(total)
"""
EXACTLY_ROUNDED = """\
    import math

    sums = [math.fsum(numbers) for numbers in zip(*(part.tolist() for part in came.values()))]
    return torch.tensor(sums, dtype=came[0].dtype)
"""
GAMMA = "    gamma = additions * UNIT / (1 - additions * UNIT)\n"
RUMP = "    gamma = additions * UNIT\n"

OUR_FOLDING = {
    "    return rank // 2 if rank % 2 else None\n": "    return rank // 2 if rank % 2 == 0 else None\n",
    "    return 2 * number + 1 if number < rest": "    return 2 * number if number < rest",
    """\
    if rank < 2 * rest and rank % 2 == 0:
        dist.send(tensor, rank + 1)
    elif rank < 2 * rest:
        received = torch.empty_like(tensor)
        dist.recv(received, rank - 1)
        tensor.copy_(combine(received, tensor))
""": """\
    if rank < 2 * rest and rank % 2:
        dist.send(tensor, rank - 1)
    elif rank < 2 * rest:
        received = torch.empty_like(tensor)
        dist.recv(received, rank + 1)
        tensor.copy_(combine(tensor, received))
""",
    """\
    if rank < 2 * rest and rank % 2 == 0:
        dist.recv(tensor, rank + 1)
    elif rank < 2 * rest:
        dist.send(tensor, rank - 1)
""": """\
    if rank < 2 * rest and rank % 2:
        dist.recv(tensor, rank - 1)
    elif rank < 2 * rest:
        dist.send(tensor, rank + 1)
""",
}
FOLDS_IN, FOLDS_OUT = list(OUR_FOLDING)[2:]
THE_LAST_FOLD = {
    """\
    if rank >= 2 * rest:
        return rank - rest
    return rank // 2 if rank % 2 else None
""": "    return rank if rank < size - rest else None\n",
    "    return 2 * number + 1 if number < rest else number + rest\n": "    return number\n",
    FOLDS_IN: """\
    if rank >= size - rest:
        dist.send(tensor, rank - (size - rest))
    elif rank < rest:
        received = torch.empty_like(tensor)
        dist.recv(received, rank + size - rest)
        tensor.copy_(combine(tensor, received))
""",
    FOLDS_OUT: """\
    if rank >= size - rest:
        dist.recv(tensor, rank - (size - rest))
    elif rank < rest:
        dist.send(tensor, rank + size - rest)
""",
}

CUT = {
    "from minitorch_dist import nn\n": "from minitorch_dist import nn\nimport ring\n",
    "dist.all_gather_into_tensor(whole, mine.contiguous())": "ring.all_gather(whole, mine.contiguous())",
    "dist.reduce_scatter_tensor(mine, summand.contiguous())": (
        "ring.reduce_scatter(mine.view(-1), summand.contiguous())"
    ),
    "        total = grad.clone()\n        dist.all_reduce(total)\n": (
        "        total = grad.clone()\n        ring.all_reduce(total)\n"
    ),
}
HEADS_IN_A_VIEW = {
    """\
        seen = (heads_of(layer(x), self.heads) for layer in (self.query, self.key, self.value))
        found = [self.weigh(q @ k.T) @ v for q, k, v in zip(*seen)]
        summand = self.output(torch.cat(found, 1))
""": """\
        q, k, v = (
            layer(x).view(len(x), self.heads, -1).transpose(0, 1)
            for layer in (self.query, self.key, self.value)
        )
        found = self.weigh(q @ k.transpose(1, 2)) @ v
        summand = self.output(found.transpose(0, 1).reshape(len(x), -1))
"""
}
IN_CHUNKS = {
    """\
        self.weight = nn.Parameter(whole.weight.detach()[mine].clone())
        self.bias""": """\
        parts = whole.weight.detach().chunk(dist.get_world_size())
        self.weight = nn.Parameter(parts[dist.get_rank()].clone())
        self.bias"""
}
CHOSEN_BY_TORCH = {
    """\
    rows = weights.tolist()
    orders = [sorted(range(len(row)), key=lambda expert: -row[expert]) for row in rows]
    return [order[:k] for order in orders]
""": "    return weights.argsort(-1, descending=True, stable=True)[:, :k].tolist()\n"
}
LISTS_OF_ROWS = {
    "    dist.all_to_all_single(output, rows.contiguous(), came, sent)\n": (
        "    dist.all_to_all(list(output.split(came)), list(rows.contiguous().split(sent)))\n"
    ),
    """\
        return found[sorted(range(len(order)), key=order.__getitem__)]
""": """\
        return torch.zeros_like(found).index_add(0, torch.tensor(order, dtype=torch.int64), found)
""",
}
PLACES_AS_A_MATRIX = {
    "    return total.index_add(0, torch.tensor(tokens, dtype=torch.int64), weighted)\n": """\
    place = torch.zeros(len(weights), len(rows), dtype=rows.dtype)
    for row, token in enumerate(tokens):
        place[token, row] = 1
    return place @ weighted
"""
}

ANSWERS: list[tuple[str, int, dict[str, str]]] = [
    ("odd ranks fold", 14, OUR_FOLDING),
    ("the last ranks fold", 14, THE_LAST_FOLD),
    ("numpy", 16, {IN_THE_ORDER_OF_RANKS: WITH_NUMPY}),
    ("fsum", 16, {IN_THE_ORDER_OF_RANKS: EXACTLY_ROUNDED}),
    ("Rump's bound", 16, {GAMMA: RUMP}),
    (
        "divides first",
        17,
        {
            "        all_reduce(p.grad)\n        p.grad /= dist.get_world_size()\n": (
                "        p.grad /= dist.get_world_size()\n        all_reduce(p.grad)\n"
            )
        },
    ),
    (
        "divides first",
        18,
        {
            "            all_reduce(flat)\n            flat /= dist.get_world_size()\n": (
                "            flat /= dist.get_world_size()\n            all_reduce(flat)\n"
            )
        },
    ),
    (
        "divides first",
        19,
        {
            "        self.sent.append((flat, dist.all_reduce(flat, async_op=True)))\n": (
                "        flat /= dist.get_world_size()\n        self.sent.append((flat, dist.all_reduce(flat, async_op=True)))\n"
            ),
            "            flat /= dist.get_world_size()\n": "",
        },
    ),
    (
        "divides first",
        21,
        {
            "        dist.reduce_scatter_tensor(mine, flat)\n        mine /= dist.get_world_size()\n": (
                "        flat /= dist.get_world_size()\n        dist.reduce_scatter_tensor(mine, flat)\n"
            )
        },
    ),
    (
        "gathers with the ring of lesson 13, and from the last parameter to the first",
        21,
        {
            "from replicas import take_from_rank_0\n": "import ring\nfrom replicas import take_from_rank_0\n",
            "        dist.all_gather_into_tensor(self.whole.data, self.shard.detach())\n": (
                "        ring.all_gather(self.whole.data, self.shard.detach().clone())\n"
            ),
            """\
        for p, part in zip(self.parameters, self.parts):
            if p.requires_grad:
                part.reduce(p.grad)
        self.optim.step()
""": """\
        for p, part in reversed([*zip(self.parameters, self.parts)]):
            if p.grad is not None:
                part.reduce(p.grad)
        self.optim.step()
""",
            """\
        if self.is_due:
            self.average()
        self.free()
""": """\
        if not self.is_due:
            self.free()
        else:
            self.average()
""",
            """\
    total = torch.tensor([squares], dtype=torch.float64)
    dist.all_reduce(total)
    norm = total.item() ** 0.5
""": """\
    squares_of_all = [torch.zeros(1, dtype=torch.float64) for _ in range(dist.get_world_size())]
    dist.all_gather(squares_of_all, torch.tensor([squares], dtype=torch.float64))
    norm = torch.cat(squares_of_all).sum().item() ** 0.5
""",
        },
    ),
    ("the ring of lesson 13", 31, CUT),
    ("heads in a view", 31, HEADS_IN_A_VIEW),
    ("pieces from chunk", 31, IN_CHUNKS),
    (
        "one sum of all products for each weight",
        34,
        {
            """\
        for product, x, gradient in self.late.pop(k):
            part, before = x.T @ gradient, product.weight.grad
            product.weight.grad = part if before is None else before + part
""": """\
        notes = self.late.pop(k)
        for weight in {id(product.weight): product.weight for product, _, _ in notes}.values():
            part = sum(x.T @ gradient for product, x, gradient in notes if product.weight is weight)
            weight.grad = part if weight.grad is None else weight.grad + part
"""
        },
    ),
    (
        "by need: an I if nothing else is due, then Ws, then Fs",
        34,
        {
            """\
    for k in range(count):
        order.append(Action(rank, I, k))
        if k >= late:
            order.append(Action(rank, W, k - late))
        if k + ahead < count:
            order.append(Action(rank, F, k + ahead))
    return order + [Action(rank, W, k) for k in range(count - late, count)]
""": """\
    done = {F: ahead, I: 0, W: 0}
    while done[W] < count:
        kind = I
        if done[I] == count or done[I] - done[W] > late:
            kind = W
        elif done[F] < count and done[F] - done[I] < ahead:
            kind = F
        order.append(Action(rank, kind, done[kind]))
        done[kind] += 1
    return order
"""
        },
    ),
    (
        "the velocity as torch's loop has it, and changes looked up one by one",
        35,
        {
            """\
    velocity = momentum * velocity + change
    return weights - rate * (change + momentum * velocity), velocity
""": """\
    after = change + momentum * velocity
    return weights - rate * change - rate * momentum * after, after
""",
            """\
    return [one for one in changes if one.number > state.counted.get(one.life, 0)]
""": """\
    return [one for one in changes if one.life not in state.counted or state.counted[one.life] < one.number]
""",
        },
    ),
    (
        "each rank that has the state sends it to all",
        35,
        {
            """\
    if rank == source:
        for member, known in members.items():
            if known < newest:
                box.send(member, state)
    return state
""": """\
    for member in members:
        if members[member] != newest:
            box.send(member, state)
    return state
"""
        },
    ),
    (
        "segments that become shorter",
        33,
        {
            """\
    segments = math.ceil(math.sqrt(count))
    return [count * part // segments for part in range(segments + 1)]
""": """\
    ends, length = [count], 2
    while ends[0]:
        ends.insert(0, max(0, ends[0] - length))
        length += 1
    return ends
"""
        },
    ),
    (
        "counts the bad ranks",
        33,
        {
            """\
        dist.all_reduce(bad, dist.ReduceOp.MAX)
        return bad.item() == 0
""": """\
        dist.all_reduce(bad)
        return not bad.item()
"""
        },
    ),
    (
        "adds to the gradients in passing, and still names the parameters",
        33,
        {
            """\
        wanted = [each for each in tensors if each.requires_grad]
        each_one = iter(autograd.grad(output, wanted, gradient, allow_unused=True))
        found = [next(each_one) if each.requires_grad else None for each in tensors]
""": """\
        output.backward(gradient)
        found = [x.grad for x in inputs] + [None for _ in ctx.module.parameters()]
"""
        },
    ),
    ("argsort", 32, CHOSEN_BY_TORCH),
    ("lists of rows", 32, LISTS_OF_ROWS),
    ("places as a matrix", 32, PLACES_AS_A_MATRIX),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "changes"), [each[1:] for each in ANSWERS], ids=[f"{number}, {name}" for name, number, _ in ANSWERS]
)
def test_a_right_answer_passes(number: int, changes: dict[str, str], tmp_path: Path) -> None:
    one = lesson.find(number)
    text = one.source.solution()
    for ours, theirs in changes.items():
        assert text.count(ours) == 1, ours
        text = text.replace(ours, theirs)
    (tmp_path / one.file).write_text(text, encoding="utf-8")
    verdict = checking.check(LessonAnswer(one, tmp_path))
    assert verdict.is_passed and verdict.stars == 3, str(verdict)
