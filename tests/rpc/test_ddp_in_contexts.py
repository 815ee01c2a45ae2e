"""DDP within distributed autograd: what is averaged over the trainers stays in their contexts.

    trainer 0   embeddings of "ps" ─► DDP(layers) ─► (a layer of "ps") ─► loss        a context each
    trainer 1   embeddings of "ps" ─► DDP(layers) ─► (a layer of "ps") ─► loss

Held against one process that computes the loss of each trainer and averages the gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist import nn
from minitorch_dist.distributed import autograd, rpc, world
from minitorch_dist.distributed.optim import DistributedOptimizer
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.tensors.ops.elementwise import copying
from tests.rpc.worlds import THREADS

WIDTH, STEPS = 6, 3


def filled(layer: nn.Module, seed: int) -> nn.Module:
    draw = np.random.default_rng(seed)
    for p in layer.parameters():
        values = draw.standard_normal(tuple(p.shape)).astype(np.float32) / 2
        copying.copy_(p.detach(), mtd.from_numpy(values))
    return layer


class Middle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.spare = nn.Linear(WIDTH, WIDTH)
        filled(self, 2)

    def forward(self, x: Any, with_spare: bool) -> Any:
        x = self.second(self.first(x).tanh())
        return x + self.spare(x) if with_spare else x


def input_of(trainer: int, step: int) -> Any:
    draw = np.random.default_rng(100 * trainer + step)
    return mtd.from_numpy(draw.standard_normal((4, WIDTH)).astype(np.float32))


def uses_spare(trainer: int, step: int, finds_unused: bool) -> bool:
    return not finds_unused or (trainer == 0 and step == 1)


def alone(trainers: int, goes_back: bool, finds_unused: bool) -> list[list[Any]]:
    """The averages of every step, computed by one process."""
    front, middle, back = (filled(nn.Linear(WIDTH, WIDTH), 1), Middle(), filled(nn.Linear(WIDTH, 1), 3))
    found = []
    for step in range(STEPS):
        middle.zero_grad()
        for trainer in range(trainers):
            y = middle(front(input_of(trainer, step)), uses_spare(trainer, step, finds_unused))
            ((back(y) if goes_back else y) ** 2).sum().backward()
        grads = [None if p.grad is None else p.grad.array / trainers for p in middle.parameters()]
        found.append(grads)
        for p, grad in zip(middle.parameters(), grads, strict=True):
            if grad is not None:
                p.array[...] -= np.float32(0.01) * grad
    return found


def together(goes_back: bool, how: dict[str, Any]) -> Any:
    rank, size = world.current().rank, world.current().world_size
    group = dist.new_group(list(range(size - 1)))
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=1)
    rpc.init_rpc(f"trainer{rank}" if rank < size - 1 else "ps", rpc_backend_options=options)
    found = None
    if rank < size - 1:
        front = rpc.remote("ps", _make, (WIDTH, 1))
        back = rpc.remote("ps", _make, (1, 3))
        model = DistributedDataParallel(Middle(), process_group=group, **how)
        own = [rpc.RRef(p) for p in model.parameters()]
        optimizer = DistributedOptimizer(mtd.optim.SGD, own, lr=0.01)
        found = []
        for step in range(STEPS):
            with autograd.context() as context_id:
                spare = uses_spare(rank, step, bool(how.get("find_unused_parameters")))
                y = model(front.rpc_sync().forward(input_of(rank, step)), spare)
                y = back.rpc_sync().forward(y) if goes_back else y
                autograd.backward(context_id, [(y**2).sum()])
                grads = autograd.get_gradients(context_id)
                found.append([grads[p].array.copy() if p in grads else None for p in model.parameters()])
                assert step or all(p.grad is None for p in model.parameters())
                optimizer.step(context_id)
        dist.barrier(group=group)
    rpc.shutdown()
    return found


def _make(outputs: int, seed: int) -> nn.Module:
    return filled(nn.Linear(WIDTH, outputs), seed)


@pytest.mark.parametrize("transport", THREADS)
@pytest.mark.parametrize("goes_back", [False, True])
@pytest.mark.parametrize("trainers", [1, 2, 3])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"bucket_cap_mb": 1e-4},
        {"bucket_cap_mb": 1e-4, "find_unused_parameters": True},
        {"gradient_as_bucket_view": True},
    ],
    ids=["plain", "buckets", "unused", "views"],
)
def test_gradients_are_averaged(transport: str, goes_back: bool, trainers: int, how: dict[str, Any]) -> None:
    expected = alone(trainers, goes_back, "find_unused_parameters" in how)
    *found, _ = mtd.launch(together, trainers + 1, transport, args=(goes_back, how), timeout=100)
    for of_one in found:
        for step, grads in enumerate(of_one):
            for n, (grad, average) in enumerate(zip(grads, expected[step], strict=True)):
                assert (grad is None) == (average is None), (step, n)
                if grad is not None:
                    np.testing.assert_allclose(grad, average, rtol=1e-4, atol=1e-5)
