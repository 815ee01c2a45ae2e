"""The rows that `mtd bench pytorch` times: the same lines of PyTorch over gloo and over our wires.

Each is made ready once, and then done again and again. A test fills the tensors that it is given and looks at those that
it writes, and so asks whether both sides compute the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

PROGRAM = True  # a user's program, to the library that is timed

SIZES: Final = {"4KB": 1 << 12, "64KB": 1 << 16, "1MB": 1 << 20, "16MB": 1 << 24, "64MB": 1 << 26}
OPERATIONS: Final = ("all_reduce", "all_gather", "reduce_scatter")
COLLECTIVES: Final = {f"{op}-{size}": (op, nbytes) for op in OPERATIONS for size, nbytes in SIZES.items()}
TRAINING: Final = {
    "ddp-mlp": "DDP, MLP 784-1024-1024-10, batch 32",
    "ddp-convnet": "DDP, ConvNet, 16 pictures of 32×32",
    "ddp-wide": "DDP, 64 MB of gradients, batch 16",
    "fsdp-mlp": "fully_shard, the MLP",
}


class ReadyRow(NamedTuple):
    """`given` may be filled with other numbers; `results` are the tensors that `act` writes."""

    act: Callable[[], object]
    given: Sequence[Any]
    results: Callable[[], Sequence[Any]]


def ready(t: Any, dist: Any, name: str) -> ReadyRow:
    """A row of the tables above."""
    if name in COLLECTIVES:
        return _collective(t, dist, *COLLECTIVES[name])
    way, _, model = name.partition("-")
    return _training(t, way, model)


def _collective(t: Any, dist: Any, operation: str, nbytes: int) -> ReadyRow:
    """Zeros stay zeros, however often they are added up. `nbytes` are those of the longer vector."""
    world = dist.get_world_size()
    whole, part = t.zeros(nbytes // 4 // world * world), t.zeros(nbytes // 4 // world)
    if operation == "all_reduce":
        return ReadyRow(partial(dist.all_reduce, whole), [whole], lambda: [whole])
    single = {"all_gather": "all_gather_into_tensor", "reduce_scatter": "reduce_scatter_tensor"}[operation]
    act = getattr(dist, f"{operation}_single", None) or getattr(dist, single)  # torch's name since 2.13
    given, result = (part, whole) if operation == "all_gather" else (whole, part)
    return ReadyRow(partial(act, result, given), [given], lambda: [result])


def _training(t: Any, way: str, name: str) -> ReadyRow:
    t.manual_seed(0)
    model, inputs, labels = MODELS[name](t)
    parameters = list(model.parameters())
    if way == "fsdp":
        _shard(t, model)
        parameters = list(model.parameters())
    wrapped = t.nn.parallel.DistributedDataParallel(model) if way == "ddp" else model
    optimizer = t.optim.SGD(parameters, lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        t.nn.functional.cross_entropy(wrapped(inputs), labels).backward()
        optimizer.step()

    return ReadyRow(step, [inputs], lambda: [_whole(p) for p in parameters])


def _shard(t: Any, model: Any) -> None:
    """Every layer with parameters is a unit."""
    from torch.distributed.fsdp import fully_shard

    for layer in model:
        if isinstance(layer, t.nn.Linear):
            fully_shard(layer)
    fully_shard(model)


def _whole(parameter: Any) -> Any:
    """All of a parameter, also where each rank has a part of it."""
    own = parameter.detach()
    return own.full_tensor() if hasattr(own, "full_tensor") else own


def _mlp(t: Any) -> tuple[Any, Any, Any]:
    nn = t.nn
    layers = [nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    return nn.Sequential(*layers), t.randn(32, 784), t.randint(0, 10, (32,))


def _convnet(t: Any) -> tuple[Any, Any, Any]:
    nn = t.nn
    convolutions = [nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten()]
    return (
        nn.Sequential(*convolutions, nn.Linear(64 * 28 * 28, 10)),
        t.randn(16, 3, 32, 32),
        t.randint(0, 10, (16,)),
    )


def _wide(t: Any) -> tuple[Any, Any, Any]:
    """Four layers of 16 MB each, and little to compute."""
    layers = [layer for _ in range(4) for layer in (t.nn.Linear(2048, 2048), t.nn.ReLU())]
    return t.nn.Sequential(*layers), t.randn(16, 2048), t.randint(0, 2048, (16,))


MODELS: Final = {"mlp": _mlp, "convnet": _convnet, "wide": _wide}
