"""One worker of `mtd bench rpc`: torch's or ours, over TCP between two processes of this host.

Worker 1 only serves. Worker 0 reads lines "what repeats" and answers each with the seconds of one.
`python -m … LIBRARY WORLD ADDRESS RANK 2`, as for the worlds of `mtd bench comm`.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from mtd.cli.bench.turns import answer_commands

warnings.simplefilter("ignore")
library, rank = sys.argv[1], int(sys.argv[4])
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[3].rpartition(":")[2])
torch: Any = importlib.import_module(library)
rpc: Any = importlib.import_module(f"{library}.distributed.rpc")
autograd: Any = importlib.import_module(f"{library}.distributed.autograd")
optim: Any = importlib.import_module(f"{library}.distributed.optim")


def same(x: Any) -> Any:
    return x


class Thing:
    def add(self, x: int) -> int:
        return x + 1


def main() -> None:
    options: dict[str, Any] = {"num_worker_threads": 16}
    if library == "torch":
        torch.set_num_threads(1)
        options["_transports"] = ["uv"]  # torch's TCP; shared memory would be another contest
    rpc.init_rpc(f"w{rank}", rank=rank, world_size=2, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(**options))
    things = what_to_do() if rank == 0 else {}
    answer_commands(things.__getitem__, lambda: None, commands=sys.stdin if rank == 0 else ())
    rpc.shutdown()


def what_to_do() -> dict[str, Callable[[], Any]]:
    thing = rpc.remote("w1", Thing)
    layer = rpc.remote("w1", torch.nn.Linear, args=(64, 64))
    weights = [rpc.remote("w1", parameter, args=(layer, n)) for n in range(2)]
    optimizer = optim.DistributedOptimizer(torch.optim.SGD, weights, lr=0.01)
    tensors = {"1KB": torch.ones(1 << 8), "1MB": torch.ones(1 << 18), "16MB": torch.ones(1 << 22)}
    x = torch.ones(32, 64)

    def many() -> None:
        for future in [rpc.rpc_async("w1", same, args=(n,)) for n in range(1000)]:
            future.wait()

    def train() -> None:
        with autograd.context() as context_id:
            loss = layer.rpc_sync().forward(x).sum()
            autograd.backward(context_id, [loss])
            optimizer.step(context_id)

    return {
        "int": lambda: rpc.rpc_sync("w1", same, args=(3,)),
        "method": lambda: thing.rpc_sync().add(3),
        "remote": lambda: rpc.remote("w1", same, args=(3,)).to_here(),
        **{f"echo-{size}": partial(rpc.rpc_sync, "w1", same, args=(x,)) for size, x in tensors.items()},
        "1000-async": many,
        "train": train,
    }


def parameter(layer: Any, number: int) -> Any:
    return list(layer.local_value().parameters())[number]


if __name__ == "__main__":
    main()
