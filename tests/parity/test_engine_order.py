"""In which order gradients reach the leaves: as in torch, because DDP's buckets follow it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, torch
from tests.parity.test_backward import leaf

pytestmark = pytest.mark.parity


def order_of(t: Any, program: Any) -> list[int]:
    """In which order the leaves that `program` makes collect their gradients."""
    seen: list[int] = []

    def new(*shape: int) -> Any:
        x = leaf(t, *shape)
        number = len(made)
        made.append(x)
        x.register_post_accumulate_grad_hook(lambda p: seen.append(number))
        return x

    made: list[Any] = []
    program(t, new)
    return seen


def joined(t: Any, tensors: list[Any]) -> Any:
    """The sum of any number of tensors as one node."""

    def forward(ctx: Any, *tensors: Any) -> Any:
        total = tensors[0] * 1
        for x in tensors[1:]:
            total = total + x
        return total

    def backward(ctx: Any, grad: Any) -> Any:
        return (grad,) * len(tensors)

    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    return type("Joined", (t.autograd.Function,), body).apply(*tensors)


def random_graph(seed: int) -> Any:
    """Some leaves, many operations of one to five inputs, several roots."""

    def program(t: Any, new: Any) -> None:
        rng = np.random.default_rng(seed)
        pool = [new(2) for _ in range(rng.integers(2, 8))]
        for _ in range(rng.integers(3, 25)):
            pick = [pool[i] for i in rng.integers(0, len(pool), 5)]
            kind = rng.integers(0, 7)
            if kind == 0:
                made = pick[0] * pick[1]
            elif kind == 1:
                made = pick[0] + pick[1]
            elif kind == 2:
                made = pick[0].exp()
            elif kind == 3:
                made = joined(t, pick[: rng.integers(1, 6)])
            elif kind == 4:
                made = (pick[0] - pick[1]).view(2)
            elif kind == 5:
                made = pick[0] * 0.5
            else:
                made = new(2)
            pool.append(made)
        if seed % 3 == 0:
            t.autograd.backward([pool[-1].sum(), pool[-2].sum(), pool[-3].sum()])
        else:
            sum((p.sum() for p in pool[1:]), pool[0].sum()).backward()

    return program


@pytest.mark.parametrize("seed", range(150))
def test_random_graphs(seed: int) -> None:
    theirs, ours = order_of(torch, random_graph(seed)), order_of(mtd, random_graph(seed))
    assert theirs == ours


@pytest.mark.parametrize("leaves", range(1, 9))
@pytest.mark.parametrize("others", range(4))
def test_leaves_that_become_ready_at_once(leaves: int, others: int) -> None:
    """The order of equals in torch's queue is that of its heap, with what else it holds."""

    def program(t: Any, new: Any) -> None:
        inner = [leaf(t, 2) * 1 for _ in range(others)]
        joined(t, inner + [new(2) for _ in range(leaves)]).sum().backward()

    assert order_of(torch, program) == order_of(mtd, program)


OPERATIONS: list[Any] = [
    lambda t, new: t.nn.functional.linear(new(3, 4), new(5, 4), new(5)),
    lambda t, new: t.nn.functional.linear(new(2, 3, 4), new(5, 4), new(5)),
    lambda t, new: t.nn.functional.linear(new(4), new(5, 4), new(5)),
    lambda t, new: t.nn.functional.linear(new(3, 4), new(5, 4)),
    lambda t, new: t.nn.functional.linear(new(2, 3, 4), new(5, 4)),
    lambda t, new: t.nn.functional.conv2d(new(1, 2, 5, 5), new(3, 2, 3, 3), new(3)),
    lambda t, new: t.nn.functional.conv_transpose2d(new(1, 2, 5, 5), new(2, 3, 3, 3), new(3)),
    lambda t, new: t.nn.functional.batch_norm(new(4, 3), None, None, new(3), new(3), True),
    lambda t, new: t.nn.functional.layer_norm(new(4, 3), (3,), new(3), new(3)),
    lambda t, new: t.nn.functional.group_norm(new(4, 4), 2, new(4), new(4)),
    lambda t, new: t.nn.functional.rms_norm(new(4, 3) * 1, (3,), new(3)),
    lambda t, new: t.matmul(new(2, 3, 4), new(4)),
    lambda t, new: t.matmul(new(4), new(2, 4, 5)),
    lambda t, new: t.matmul(new(3, 4), new(2, 4, 5)),
    lambda t, new: t.matmul(new(2, 3, 4), new(2, 4, 5)),
    lambda t, new: t.addcmul(new(3), new(3), new(3)),
    lambda t, new: t.where(t.ones(3) > 0, new(3), new(3)),
    lambda t, new: t.cat([new(3), new(3), new(3), new(3)]),
    lambda t, new: t.stack([new(3), new(3), new(3), new(3), new(3)]),
    lambda t, new: t.matmul(new(2, 3, 4), new(4, 5)),
    lambda t, new: t.matmul(new(3, 4), new(4, 5)),
    lambda t, new: t.matmul(new(3, 4), new(4)),
    lambda t, new: t.bmm(new(2, 3, 4), new(2, 4, 5)),
    lambda t, new: t.nn.functional.mse_loss(new(3), new(3)),
]


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_operations_with_several_leaves(number: int) -> None:
    def program(t: Any, new: Any) -> None:
        OPERATIONS[number](t, new).sum().backward()

    assert order_of(torch, program) == order_of(mtd, program)


def named_order(t: Any, model: Any, run: Any) -> list[str]:
    seen: list[str] = []
    for name, p in model.named_parameters():
        p.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(name))
    run(model).sum().backward()
    return seen


def mlp(t: Any) -> Any:
    nn = t.nn
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 5), nn.LayerNorm(5), nn.Linear(5, 3))


def convolutions(t: Any) -> Any:
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, bias=False),
        nn.GroupNorm(2, 4),
        nn.Flatten(),
        nn.Linear(36, 2),
    )


def tied(t: Any) -> Any:
    """An embedding whose weight is also the output layer's, and one layer used twice."""
    nn = t.nn

    class Tied(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(7, 4)
            self.first = nn.Linear(4, 4)
            self.twice = nn.Linear(4, 4)
            self.head = nn.Linear(4, 7)
            self.head.weight = self.embedding.weight

        def forward(self, x: Any) -> Any:
            h = self.embedding(x)
            h = self.twice(self.first(h).relu())
            return self.head(self.twice(h) + h)

    return Tied()


def transformer(t: Any) -> Any:
    return t.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)


MODELS = {
    "mlp": (mlp, lambda t: lambda m: m(t.ones(2, 4))),
    "convolutions": (convolutions, lambda t: lambda m: m(t.ones(2, 1, 12, 12))),
    "tied": (tied, lambda t: lambda m: m(t.tensor([[1, 2, 3]]))),
    "transformer": (transformer, lambda t: lambda m: m(t.ones(2, 3, 8))),
}


@pytest.mark.parametrize("name", MODELS)
def test_real_models(name: str) -> None:
    build, run = MODELS[name]
    theirs = named_order(torch, build(torch), run(torch))
    ours = named_order(mtd, build(mtd), run(mtd))
    assert theirs == ours
