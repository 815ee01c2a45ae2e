"""One rank of a world that `mtd bench train` times: waits for a line, trains as it says, answers.

The same lines run for torch and for minitorch_dist. A command is `model how repeats`: `ddp` trains in
DistributedDataParallel, `whole` in one whose gradients are one bucket (so nothing overlaps), `fsdp` and
`rows` with FullyShardedDataParallel and fully_shard, `plain` without. Each rank answers with the seconds of one step.
The models `thin384` and so on compute next to nothing, and have many parameters: they tell what a wrapper copies.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from mtd.cli.bench import steps
from mtd.cli.bench.turns import answer_commands

PROGRAM = True  # a user's program, to the library that is timed
Step = Callable[[], Any]
BATCHES = {"mlp": 128, "convnet": 32, "wide": 64}
TINY = "tiny"
THIN = {f"thin{width}": width for width in (384, 1152, 2560)}


def models(t: Any) -> dict[str, Callable[[], tuple[Any, Any, Any, Any]]]:
    """Of each: the model, an input, a target, the loss."""
    nn = t.nn

    def mlp() -> tuple[Any, Any, Any, Any]:
        layers = [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)]
        return nn.Sequential(*layers), t.randn(128, 784), t.randint(0, 10, (128,)), nn.CrossEntropyLoss()

    def convnet() -> tuple[Any, Any, Any, Any]:
        model = steps.model_source(t, "convnet").ConvNet()
        return model, t.randn(32, 1, 28, 28), t.randint(0, 10, (32,)), nn.functional.nll_loss

    def wide() -> tuple[Any, Any, Any, Any]:
        """64 MB of gradients in four layers, and little to compute."""
        layers = [layer for _ in range(4) for layer in (nn.Linear(2048, 2048), nn.ReLU())]
        return nn.Sequential(*layers), t.randn(64, 2048), t.randn(64, 2048), nn.MSELoss()

    def tiny() -> tuple[Any, Any, Any, Any]:
        """Four layers in which nothing takes time but Python."""
        layers = [layer for _ in range(4) for layer in (nn.Linear(8, 8), nn.ReLU())]
        return nn.Sequential(*layers), t.randn(8, 8), t.randn(8, 8), nn.MSELoss()

    def thin(width: int) -> tuple[Any, Any, Any, Any]:
        """Two layers of `width` × `width` parameters, and a batch of eight."""
        layers = [nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)]
        return nn.Sequential(*layers), t.randn(8, width), t.randn(8, width), nn.MSELoss()

    thins = {name: partial(thin, width) for name, width in THIN.items()}
    return {"mlp": mlp, "convnet": convnet, "wide": wide, TINY: tiny, **thins}


def step_of(t: Any, name: str, how: str) -> Step:
    t.manual_seed(0)
    model, x, y, loss = models(t)[name]()
    if how in ("fsdp", "rows"):
        model = sharded(t, model, how)
    elif how != "plain":
        cap = {"whole": 1 << 14}.get(how)
        model = t.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=cap)
    optimizer = t.optim.SGD(model.parameters(), lr=0.001)

    def step() -> None:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()

    return step


def sharded(t: Any, model: Any, how: str) -> Any:
    """Every layer with parameters a unit: by FullyShardedDataParallel, or by fully_shard."""
    fsdp = importlib.import_module(f"{t.__name__}.distributed.fsdp")
    wrap = importlib.import_module(f"{t.__name__}.distributed.fsdp.wrap")
    if how == "fsdp":
        policy = wrap.ModuleWrapPolicy({t.nn.Linear, t.nn.Conv2d})
        return fsdp.FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=t.device("cpu"))
    for layer in list(model.modules()):
        if isinstance(layer, (t.nn.Linear, t.nn.Conv2d)):
            fsdp.fully_shard(layer)
    return fsdp.fully_shard(model)


def serve(library: str, backend: str, address: str, rank: int, world: int) -> None:
    """Join the world and do what is asked until the input ends."""
    warnings.simplefilter("ignore")
    t = importlib.import_module(library)
    dist = importlib.import_module(f"{library}.distributed")
    importlib.import_module(f"{library}.nn.parallel")
    t.set_num_threads(1)  # else the products of all ranks would want all cores
    dist.init_process_group(backend, init_method=address, rank=rank, world_size=world)
    answer_commands(lambda what: step_of(t, *what.split()), dist.barrier)
    dist.destroy_process_group()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
