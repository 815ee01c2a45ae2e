"""One worker of three, in torch or here: the same lines, and what came of each as JSON.

python -m tests.parity.rpc_program library rank port
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

library, rank, port = (sys.argv[1:4] + ["", "0", "0"])[:3]
torch: Any = importlib.import_module(library)
rpc: Any = importlib.import_module(f"{library}.distributed.rpc")
autograd: Any = importlib.import_module(f"{library}.distributed.autograd")
optim: Any = importlib.import_module(f"{library}.distributed.optim")


def add(a: Any, b: Any = 1) -> Any:
    return a + b


def same(x: Any) -> Any:
    return x


def fail(kind: str) -> None:
    raise {"value": ValueError, "type": TypeError, "index": IndexError}[kind]("expected error")


def is_owner(rref: Any) -> bool:
    return bool(rref.is_owner())


def use(rref: Any, n: int) -> Any:
    return rref.rpc_sync().more(n)


@rpc.functions.async_execution
def later(to: str, x: Any) -> Any:
    return rpc.rpc_async(to, add, args=(x, 1)).then(lambda future: future.wait() * 2)


class Counter:
    def __init__(self, start: int) -> None:
        self.count = start

    def more(self, n: int = 1) -> int:
        self.count += n
        return self.count

    @staticmethod
    @rpc.functions.async_execution
    def static(to: str) -> Any:
        return rpc.rpc_async(to, add, args=(1, 1))

    @classmethod
    @rpc.functions.async_execution
    def of_class(cls, to: str) -> Any:
        return rpc.rpc_async(to, add, args=(2, 2))


def weight_of(layer: Any) -> Any:
    return layer.local_value().weight


def filled(n: int, m: int) -> Any:
    layer = torch.nn.Linear(n, m)
    with torch.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.25)
    return layer


def told(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return ["tensor", value.tolist(), bool(value.requires_grad)]
    if isinstance(value, tuple | list):
        return [told(item) for item in value]
    return repr(value)


def outcome(line: Callable[[], Any]) -> Any:
    try:
        return told(line())
    except Exception as error:
        return ["raised", next(k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins")]


def lines() -> dict[str, Callable[[], Any]]:
    x = torch.ones(2, 2)
    counter = rpc.remote("w1", Counter, args=(3,))
    own = rpc.RRef([1])

    def gradients() -> Any:
        a, b = torch.full((2,), 3.0, requires_grad=True), torch.ones(2, requires_grad=True)
        with autograd.context() as context_id:
            c = rpc.rpc_sync("w1", add, args=(a, b))
            d = rpc.rpc_sync("w2", torch.mul, args=(c, a))
            autograd.backward(context_id, [d.sum()], retain_graph=True)
            autograd.backward(context_id, [d.sum()])
            grads = autograd.get_gradients(context_id)
            return grads[a], grads[b], a.grad, c.requires_grad, c.is_leaf, len(grads)

    def training() -> Any:
        layer = rpc.remote("w1", filled, args=(3, 2))
        weight = rpc.remote("w1", weight_of, args=(layer,))
        optimizer = optim.DistributedOptimizer(torch.optim.SGD, [weight], lr=0.5)
        for _ in range(3):
            with autograd.context() as context_id:
                loss = layer.rpc_sync().forward(torch.ones(4, 3)).pow(2).sum()
                autograd.backward(context_id, [loss])
                optimizer.step(context_id)
        return weight.to_here().detach()

    def nested() -> None:
        with autograd.context(), autograd.context():
            pass

    return {
        "builtin": lambda: rpc.rpc_sync("w1", min, args=(3, 1)),
        "operator": lambda: rpc.rpc_sync("w1", torch.add, args=(x, 3)),
        "list args": lambda: rpc.rpc_sync("w1", add, args=[1, 2]),
        "kwargs": lambda: rpc.rpc_sync("w1", add, args=(1,), kwargs={"b": 7}),
        "by rank": lambda: rpc.rpc_sync(1, add, args=(1,)),
        "by info": lambda: rpc.rpc_sync(rpc.get_worker_info("w2"), add, args=(1,)),
        "info": lambda: (rpc.get_worker_info().name, rpc.get_worker_info("w1").id),
        "async": lambda: rpc.rpc_async("w1", add, args=(x, x)).wait(),
        "then": lambda: rpc.rpc_async("w1", add, args=(1, 1)).then(lambda f: f.wait() + 1).wait(),
        "view": lambda: rpc.rpc_sync("w1", same, args=(torch.arange(12).reshape(3, 4)[:, 1:3],)),
        "nested values": lambda: rpc.rpc_sync("w1", same, args=({"a": [1, (x, None)]},))["a"],
        "requires grad": lambda: rpc.rpc_sync("w1", same, args=(torch.ones(2, requires_grad=True),)),
        "dtype": lambda: rpc.rpc_sync("w1", same, args=((torch.float16, torch.Size([2])),)),
        "bfloat16": lambda: rpc.rpc_sync("w1", same, args=(torch.ones(2).to(torch.bfloat16),)),
        "to oneself": lambda: rpc.rpc_sync("w0", add, args=(x, 1)),
        "async_execution": lambda: rpc.rpc_sync("w1", later, args=("w2", 5)),
        "static": lambda: rpc.rpc_sync("w1", Counter.static, args=("w2",)),
        "class": lambda: rpc.rpc_sync("w1", Counter.of_class, args=("w2",)),
        "ValueError": lambda: rpc.rpc_sync("w1", fail, args=("value",)),
        "TypeError": lambda: rpc.rpc_sync("w1", fail, args=("type",)),
        "IndexError": lambda: rpc.rpc_async("w1", fail, args=("index",)).wait(),
        "unknown worker": lambda: rpc.rpc_sync("nobody", add, args=(1,)),
        "float worker": lambda: rpc.rpc_sync(1.0, add, args=(1,)),
        "no function": lambda: rpc.rpc_sync("w1", 3, args=(1,)),
        "timeout": lambda: rpc.rpc_sync("w1", __import__("time").sleep, args=(0.3,), timeout=0.05),
        "timeouts": lambda: rpc.get_rpc_timeout() if hasattr(rpc, "get_rpc_timeout") else 60.0,
        "rref owner": lambda: (counter.is_owner(), counter.owner().id, counter.owner_name()),
        "rref method": lambda: counter.rpc_sync().more(2),
        "rref async": lambda: counter.rpc_async().more().wait(),
        "rref remote": lambda: counter.remote().more().to_here(),
        "rref type": lambda: counter._get_type().__name__,
        "rref passed": lambda: rpc.rpc_sync("w2", use, args=(counter, 10)),
        "rref to its owner": lambda: rpc.rpc_sync("w1", is_owner, args=(counter,)),
        "rref back": lambda: rpc.rpc_sync("w1", same, args=(own,)).is_owner(),
        "rref confirmed": lambda: counter.confirmed_by_owner(),
        "rref local": lambda: counter.local_value(),
        "own rref": lambda: (own.is_owner(), own.to_here() is own.local_value()),
        "rref of an error": lambda: rpc.remote("w1", fail, args=("value",)).to_here(),
        "no attribute": lambda: counter.rpc_sync().nothing(),
        "instance attribute": lambda: counter.rpc_sync().count(),
        "pickled rref": lambda: __import__("pickle").dumps(own),
        "gradients": gradients,
        "training": training,
        "nested contexts": nested,
        "unknown context": lambda: autograd.backward(12345, [x.sum()]),
        "again": lambda: rpc.init_rpc("w0", rank=0, world_size=3),
    }


def main() -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    rpc.init_rpc(f"w{rank}", rank=int(rank), world_size=3)
    if rank == "0":
        print("found", json.dumps({name: outcome(line) for name, line in lines().items()}), flush=True)
    rpc.shutdown()
    if rank == "0":
        print("after", json.dumps(outcome(rpc.shutdown)), flush=True)


if __name__ == "__main__":
    sys.modules["rpc_program"] = sys.modules["__main__"]
    main()
