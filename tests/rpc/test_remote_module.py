"""A module that lives on another worker."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import autograd, optim, rpc
from minitorch_dist.distributed.nn import RemoteModule
from tests.rpc import worlds
from tests.rpc.worlds import run


def weights(rref: Any) -> Any:
    return [parameter.detach() for parameter in rref.local_value().parameters()]


def is_training(rref: Any) -> bool:
    return bool(rref.local_value().training)


def call(module: RemoteModule, x: Any) -> Any:
    return module(x)


@pytest.mark.parametrize("transport", worlds.THREADS)
@pytest.mark.parametrize("where", ["w1/cpu", "w1", "rank:1/cpu"])
def test_it_computes_and_trains_where_it_is(where: str, transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        layer = RemoteModule(where, mtd.nn.Linear, (3, 2))
        weight, bias = rpc.rpc_sync("w1", weights, (layer.get_module_rref(),))
        x = mtd.ones(4, 3)
        assert mtd.equal(layer(x), mtd.nn.functional.linear(x, weight, bias))
        assert mtd.equal(layer.forward_async(x).wait(), layer(x))
        assert mtd.equal(rpc.rpc_sync("w2", call, (layer, x)), layer(x))
        optimizer = optim.DistributedOptimizer(mtd.optim.SGD, layer.remote_parameters(), lr=0.5)
        with autograd.context() as context_id:
            autograd.backward(context_id, [layer(x).sum()])
            optimizer.step(context_id)
        after = rpc.rpc_sync("w1", weights, (layer.get_module_rref(),))
        assert mtd.equal(after[0], weight - 2.0) and mtd.equal(after[1], bias - 2.0)

    run(program, 3, transport)


def test_what_stays_there() -> None:
    def program(rank: int) -> None:
        if rank:
            return
        layer = RemoteModule("w1", mtd.nn.Linear, (3, 2))
        layer.eval()  # reaches it (T2)
        assert not rpc.rpc_sync("w1", is_training, (layer.get_module_rref(),))
        for name in ("parameters", "state_dict", "to", "zero_grad", "modules", "children", "xpu"):
            with pytest.raises(ValueError, match=f"``{name}`` not supported for RemoteModule"):
                getattr(layer, name)()
        with pytest.raises(ValueError, match=r"subclass of nn\.Module"):
            RemoteModule("w1", int)  # type: ignore[type-var]

    run(program, 2)


def test_a_second_face_of_the_same_module() -> None:
    def program(rank: int) -> None:
        if rank:
            return
        first = RemoteModule("w1", mtd.nn.Linear, (3, 2))
        second = RemoteModule.init_from_module_rref("w1/cpu", first.get_module_rref())
        x = mtd.ones(4, 3)
        assert mtd.equal(first(x), second(x)) and second.on == "w1" and second.device == "cpu"
        assert mtd.equal(rpc.rpc_sync("w1", call, (second, x)), first(x))
        assert len(second.remote_parameters()) == 2
        with pytest.raises(ValueError, match="'w1', and `remote_device` says 'w2'"):
            RemoteModule.init_from_module_rref("w2", first.get_module_rref())

    run(program, 3)
