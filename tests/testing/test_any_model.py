"""Any model trains exactly in a prime field: P ranks are one rank with `==`, and a mistake anywhere is found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed import nn as communicating
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.optim import SGD, AdamW
from minitorch_dist.testing import check_same_as_one_rank, exact, field
from minitorch_dist.testing.field import P, of, residue

WIDTH, WORDS = 8, 4
BATCHES = (7, 5)


class Block(nn.Module):
    """A layer of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.first, self.second = nn.LayerNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.up, self.act, self.down = nn.Linear(WIDTH, 24), nn.GELU(), nn.Linear(24, WIDTH)

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.down(self.act(self.up(self.second(x))))


def transformer(layers: int = 2) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*[Block() for _ in range(layers)])


def samples(count: int, seed: int) -> exact.Data:
    torch.manual_seed(100 + seed)
    shape = count, WORDS, WIDTH
    return exact.Data(torch.randn(shape), torch.randn(shape))


def steps(model: Any, batches: list[exact.Data], optimizer: Any, scale: float) -> None:
    for batch in batches:
        optimizer.zero_grad()
        (exact.loss(model(batch.x), batch.y) * scale).backward()
        optimizer.step()


def ddp(model: Any, batches: list[exact.Data], kind: Any = SGD, scale: float | None = None) -> Any:
    wrapped = DistributedDataParallel(model)
    rate = dist.get_world_size() if scale is None else scale
    steps(wrapped, batches, kind(model.parameters(), lr=exact.RATE), rate)
    return model


def fsdp(model: Any, batches: list[exact.Data], kind: Any = SGD) -> Any:
    for block in model:
        fully_shard(block)
    fully_shard(model)
    steps(model, batches, kind(model.parameters(), lr=exact.RATE), dist.get_world_size())
    return [p.full_tensor() for p in model.parameters()]


def everything(batches: list[exact.Data]) -> list[exact.Data]:
    """The whole batches again, from the ranks' shares."""
    found = []
    for batch in batches:
        every: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(every, (np.asarray(batch.x.array), np.asarray(batch.y.array)))
        x, y = (torch.tensor(np.concatenate(parts)) for parts in zip(*every, strict=True))
        found.append(exact.Data(x, y))
    return found


def tensor_parallel(model: Any, batches: list[exact.Data]) -> Any:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    steps(model, everything(batches), SGD(model.parameters(), lr=exact.RATE), 1.0)
    return [p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters()]


def alone(kind: Any, model: Any, batches: list[exact.Data]) -> Any:
    steps(model, batches, kind(model.parameters(), lr=exact.RATE), 1.0)
    return model


@pytest.mark.parametrize("kind", [SGD, AdamW])
@pytest.mark.parametrize("train", [ddp, fsdp])
def test_a_transformer_in_replicas_and_in_shards(train: Callable[..., Any], kind: Any) -> None:
    check_same_as_one_rank(
        partial(train, kind=kind), (1, 2, 3), BATCHES, alone=partial(alone, kind), model=transformer, samples=samples
    )


def test_a_transformer_in_parts_of_its_layers() -> None:
    check_same_as_one_rank(tensor_parallel, (1, 2, 3), BATCHES, model=transformer, samples=samples)


# ------------------------------------------------------------------------------------ experts


class Experts(nn.Module):
    """Each word goes to the expert whose score is the largest. With `size` ranks each has some of the experts, and words
    travel there and back; `drops` loses one word on its way."""

    COUNT = 6

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, self.COUNT)
        self.ups = nn.ParameterList([nn.Parameter(torch.randn(WIDTH, WIDTH)) for _ in range(self.COUNT)])
        self.size, self.drops = 1, False

    def forward(self, x: Any) -> Any:
        words = x.reshape(-1, WIDTH)
        scores = self.router(words)
        chosen = scores.argmax(1)
        weight = scores.gather(1, chosen.unsqueeze(1))
        gate = torch.sigmoid(weight)
        if self.size == 1:
            out = self._experts(words, chosen)
        else:
            out = self._far(words, chosen)
        return (x.reshape(-1, WIDTH) + gate * out).reshape(x.shape)

    def _experts(self, words: Any, chosen: Any) -> Any:
        out = torch.zeros_like(words)
        for number, up in enumerate(self.ups):
            at = (chosen == number).nonzero().reshape(-1)
            out = out.index_add(0, at, torch.relu(words[at] @ up))
        return out

    def _far(self, words: Any, chosen: Any) -> Any:
        """To the ranks of the experts, by their numbers, and back."""
        at = [(chosen % self.size == rank).nonzero().reshape(-1) for rank in range(self.size)]
        there = exchanged([words[each] for each in at])
        numbers = torch.cat(exchanged([chosen[each] for each in at]))
        theirs = torch.cat(there)
        if self.drops and len(numbers):
            theirs = torch.cat([theirs[:-1], torch.zeros(1, WIDTH)])
        done = self._experts(theirs, numbers).split([len(part) for part in there])
        out = torch.zeros_like(words)
        for each, mine in zip(at, exchanged(list(done)), strict=True):
            out = out.index_add(0, each, mine)
        return out


def exchanged(parts: list[Any]) -> list[Any]:
    """Part r to rank r. Their lengths go ahead."""
    sizes = torch.zeros(len(parts), dtype=torch.int64)
    dist.all_to_all_single(sizes, torch.tensor([len(part) for part in parts]))
    came = [torch.zeros(size, *parts[0].shape[1:], dtype=parts[0].dtype) for size in sizes.tolist()]
    if not parts[0].dtype.is_floating_point:
        dist.all_to_all(came, parts)
        return came
    return list(communicating.functional.all_to_all(came, parts))


def experts() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), Experts())


def expert_parallel(model: Any, batches: list[exact.Data], drops: bool = False) -> Any:
    """Every rank has all experts' weights, and computes with its own; gradients are added up."""
    model[1].size, model[1].drops = dist.get_world_size(), drops
    optimizer = SGD(model.parameters(), lr=exact.RATE)
    for batch in batches:
        optimizer.zero_grad()
        exact.loss(model(batch.x), batch.y).backward()
        for p in model.parameters():
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
        optimizer.step()
    return model


@pytest.mark.parametrize("act", ["ReLU", "LeakyReLU", "SiLU", "Softplus", "Tanh"])
def test_a_gradient_that_flows_in_some_places_only(act: str) -> None:
    """Where the library multiplies the bits of a gradient by a mask, too: they are no numbers of the field."""

    def model() -> nn.Module:
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(WIDTH, 24), getattr(nn, act)(), nn.Linear(24, WIDTH))

    check_same_as_one_rank(ddp, (1, 2, 3), BATCHES, model=model, samples=samples)


def test_experts_on_other_ranks() -> None:
    check_same_as_one_rank(expert_parallel, (1, 2, 3), BATCHES, model=experts, samples=samples)


# ------------------------------------------------------------------------------ planted mistakes


def no_backward_sum(model: Any, batches: list[exact.Data]) -> Any:
    """Tensor parallel by hand, whose input gets the gradient of one part only."""
    rank, size = dist.get_rank(), dist.get_world_size()
    for block in model:
        wide = np.array_split(np.arange(24), size)[rank]
        at, up, down = torch.tensor(wide), block.up, block.down

        def cut(x: Any, at: Any = at, up: Any = up, down: Any = down) -> Any:
            part = nn.functional.gelu(x @ up.weight[at].t() + up.bias[at]) @ down.weight[:, at].t()
            return communicating.functional.all_reduce(part) + down.bias

        block.forward = partial(_forward, block, cut)
    steps(model, everything(batches), SGD(model.parameters(), lr=exact.RATE), 1.0)
    return model


def _forward(block: Any, cut: Any, x: Any) -> Any:
    y = block.first(x)
    x = x + block.attention(y, y, y, need_weights=False)[0]
    return x + cut(block.second(x))


def drops_a_sample(model: Any, batches: list[exact.Data]) -> Any:
    last = batches[-1]
    kept = last.part(0, last.samples - 1) if dist.get_rank() == 0 else last
    return ddp(model, [*batches[:-1], kept])


MISTAKES: dict[str, tuple[Callable[..., Any], Callable[[], nn.Module]]] = {
    "wrong scale": (partial(ddp, scale=1.0), transformer),
    "a rate that is too large by 1e-9": (partial(ddp, kind=lambda ps, lr: SGD(ps, lr=lr * (1 + 1e-9))), transformer),
    "a sample is dropped in the last step": (drops_a_sample, transformer),
    "no sum in the backward pass": (no_backward_sum, transformer),
    "an expert loses a word": (partial(expert_parallel, drops=True), experts),
    "a gradient is not added up": (lambda model, batches: alone(SGD, model, batches), transformer),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found(name: str) -> None:
    train, model = MISTAKES[name]
    with pytest.raises(AssertionError, match=r"is .* on rank"):
        check_same_as_one_rank(train, (2,), BATCHES, model=model, samples=samples)


def test_samples_are_needed() -> None:
    with pytest.raises(TypeError, match="needs samples="):
        check_same_as_one_rank(ddp, (2,), model=transformer)


# ------------------------------------------------------------------------------------- the field


def test_numbers_and_fractions() -> None:
    assert [residue(x) for x in (0.0, 1.0, -1.0)] == [0, 1, P - 1]
    assert residue(0.5) * 2 % P == 1 and residue(1 / 3) * 3 % P == 1 and residue(0.1) * 10 % P == 1
    assert len({residue(x) for x in (float("inf"), float("-inf"), float("nan"), 1.0)}) == 4


def test_operations_are_those_of_the_field() -> None:
    random = np.random.default_rng(0)
    x, y = random.integers(0, P, (2, 5, 300)).astype(object)
    a, b = of(x.astype(np.float64)), of(y.astype(np.float64))
    assert ((a + b) == (x + y) % P).all() and ((a * b) == (x * y) % P).all() and ((a - b) == (x - y) % P).all()
    assert ((a @ b.T) == (x @ y.T) % P).all()
    assert (np.einsum("ij,kj->ik", a, b) == (x @ y.T) % P).all()
    assert (a.sum(1) == x.sum(1) % P).all() and (a / b * b == a).all()
    assert (a.mean(1) * 300 == a.sum(1)).all() and (a**3 == x**3 % P).all()
    assert type(np.concatenate([a, b])) is type(np.where(a > 0, a, b)) is type(np.exp(a)) is field.FieldArray
    assert (np.exp(a)[:, :10] == np.exp(a[:, :10])).all()


# ----------------------------------------------------------------- meshes, faults, and what it cannot


def on_a_mesh(shape: tuple[int, int], model: Any, batches: list[exact.Data]) -> Any:
    """Shards along one axis of the mesh, parts of layers along the other one."""
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp"))
    for block in model:
        parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    place = mesh["dp"].get_local_rank()
    shares = [batch.shares(shape[0])[place] for batch in batches]
    steps(model, shares, SGD(model.parameters(), lr=exact.RATE), shape[0])
    return [p.full_tensor() for p in model.parameters()]


def drawn(shape: tuple[int, int]) -> list[Any]:
    with field.new_tensors():
        batches = [samples(count, seed) for seed, count in enumerate(BATCHES)]
        return [np.asarray(p.array) for p in on_a_mesh(shape, transformer(), batches)]


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (2, 2), (3, 2), (2, 3)])
def test_meshes_under_faults_and_hardships(shape: tuple[int, int]) -> None:
    with field.new_tensors():
        whole = [samples(count, seed) for seed, count in enumerate(BATCHES)]
        wanted = [np.asarray(p.array) for p in alone(SGD, transformer(), whole).parameters()]

        def right(report: sim.Report[Any]) -> None:
            assert all(exact.same(found, wanted) for found in report.results)

        found = sim.explore(drawn, shape[0] * shape[1], 3, args=[shape], check=right)
    assert found is None, found.explain()


def test_a_running_maximum_differs() -> None:
    """exp(a + b) is no product here, so softmax in blocks is another function. This is what the field cannot do."""
    x = of(np.arange(1.0, 9.0))
    weights = np.exp(x - x.max())
    first, second = x[:4], x[4:]
    shrunk = np.exp(first - first.max()) * np.exp(first.max() - x.max())
    assert (np.concatenate([shrunk, np.exp(second - x.max())]) != weights).any()


def test_elements_of_other_types_stay() -> None:
    with field.new_tensors():
        assert torch.arange(3).dtype is torch.int64 and torch.zeros(2, dtype=torch.bool).sum().item() == 0
        assert torch.full((2,), 0.5).sum().item() == 1
    assert torch.get_default_dtype() is torch.float32 and torch.full((2,), 0.5).tolist() == [0.5, 0.5]
