"""With MINITORCH_DIST_ALLOW_PICKLE=0 peers call what was registered, and nothing else."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import autograd, optim, rpc
from minitorch_dist.distributed.codec import CodecError, UnknownName, trust
from minitorch_dist.distributed.codec.failures import RemoteException
from tests.rpc import worlds
from tests.rpc.attacks import Shelf, Unregistered, fail, not_registered, same
from tests.rpc.worlds import run


@pytest.fixture(autouse=True)
def forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(trust.VARIABLE, "0")


@rpc.functions.register
class Server:
    """A parameter server, as tutorials have it."""

    def __init__(self, size: int) -> None:
        self.model = mtd.nn.Linear(size, 1)

    def weight(self) -> Any:
        return self.model.weight

    def rrefs(self) -> list[Any]:
        return [rpc.RRef(parameter) for parameter in self.model.parameters()]

    @staticmethod
    @rpc.functions.async_execution
    def later(to: str, x: Any) -> Any:
        return rpc.rpc_async(to, same, (x,))

    @rpc.functions.async_execution
    def later_by_method(self, to: str, x: Any) -> Any:
        return rpc.rpc_async(to, same, (x,))

    @classmethod
    def sized(cls, size: int) -> Server:
        return cls(size)


@rpc.functions.register
class Own(mtd.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = mtd.nn.Linear(2, 1)

    def forward(self, x: Any) -> Any:
        return self.inner(x)

    def rrefs(self) -> list[Any]:
        return [rpc.RRef(parameter) for parameter in self.parameters()]


class Private(RuntimeError):
    pass


@rpc.functions.register
def fail_privately() -> None:
    raise Private("words")


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_what_was_registered_works(transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        right = "w1"
        assert rpc.rpc_sync(right, same, ({"a": (1, mtd.ones(2))},))["a"][0] == 1
        server = rpc.remote(right, Server, (3,))
        assert server.rpc_sync().weight().shape == (1, 3)
        assert server.rpc_async().later_by_method("w0", 3).wait() == 3
        assert rpc.rpc_sync(right, Server.later, ("w2", 4)) == 4
        assert rpc.remote(right, Server.sized, (5,)).rpc_sync().weight().shape == (1, 5)
        assert server.remote().weight().to_here().shape == (1, 3)
        with pytest.raises(RemoteException, match="Private"):
            rpc.rpc_sync(right, fail_privately)
        with pytest.raises(KeyError):
            rpc.rpc_sync(right, fail, (1,))
        x, layer = mtd.ones(1, 2), rpc.remote(right, Own)
        optimizer = optim.DistributedOptimizer(mtd.optim.SGD, layer.rpc_sync().rrefs(), lr=0.5)
        before = layer.rpc_sync().forward(x)
        with autograd.context() as context_id:
            autograd.backward(context_id, [layer.rpc_sync().forward(x).sum()])
            optimizer.step(context_id)
        assert mtd.allclose(layer.rpc_sync().forward(x), before - 1.5)
        made = rpc.remote(right, mtd.nn.Linear, (2, 1))
        assert made.rpc_sync().forward(x).shape == (1, 1)
        assert [p.shape for p in made.rpc_sync().state_dict().values()] == [(1, 2), (1,)]

    run(program, 3, transport)


def test_what_was_not_registered_is_refused_where_it_is_sent() -> None:
    def program(rank: int) -> None:
        for function in (
            not_registered,
            Unregistered,
            functools.partial(same, 1),
            [].append,
            print,
            os.system,
            Shelf().put,
            lambda: 0,
            mtd.add,
            Shelf.touched,
            Shelf.Inner,
            subprocess.Popen,
        ):
            with pytest.raises(CodecError, match="cannot be sent"):
                rpc.rpc_sync(0, function, (1,))
        with pytest.raises(CodecError, match="cannot be sent"):
            rpc.rpc_sync(0, same, (Unregistered(),))
        with pytest.raises(UnknownName, match="not registered to be called"):
            rpc.rpc_sync(0, KeyError, (1,))  # a name that values need

    run(program, 1)


def test_methods_that_may_not_be_called_by_name() -> None:
    def program(rank: int) -> None:
        shelf = rpc.remote(0, Shelf, (1, 2))
        for name in ("touched", "tool", "object", "program", "Inner", "secret", "_hidden", "things"):
            with pytest.raises(UnknownName, match="may not be called by name"):
                getattr(shelf.rpc_sync(), name)()
        for name in ("__call__", "__len__", "__getitem__"):  # the only ones that a proxy asks for
            with pytest.raises(UnknownName, match="may not be called by name"):
                getattr(shelf.rpc_sync(), name)()
        shelf.local_value().get = os.getcwd  # what the instance has hides the method
        with pytest.raises(UnknownName, match="no method of its class"):
            shelf.rpc_sync().get()
        for value in (3, "text", [1], mtd, Shelf, same, KeyError("k"), mtd.ones(2)):
            rref = rpc.RRef(value)
            for name in ("add", "mro", "append", "with_traceback", "format", "load"):
                with pytest.raises(UnknownName, match="may not be called by name"):
                    getattr(rref.rpc_sync(), name)()

    run(program, 1)


def attacked(*more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, trust.VARIABLE: "0"}
    return subprocess.run(
        [sys.executable, "-m", "tests.rpc.attacks", *more],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_a_hostile_peer_runs_nothing() -> None:
    done = attacked("60")
    assert done.returncode == 0 and "nothing was run" in done.stdout, done.stderr[-3000:]


def test_that_a_hostile_peer_would_be_found() -> None:
    done = attacked("500", "--any-method")
    assert done.returncode == 1 and "AssertionError" in done.stderr, done.stdout + done.stderr[-3000:]


def test_with_pickle_any_method_may_be_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in torch."""
    monkeypatch.delenv(trust.VARIABLE)

    def program(rank: int) -> None:
        assert rpc.RRef([1, 2]).rpc_sync().__getitem__(1) == 2
        assert rpc.rpc_sync(0, mtd.add, (mtd.ones(1), 1)).item() == 2

    run(program, 1)
