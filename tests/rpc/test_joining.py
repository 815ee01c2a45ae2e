"""Workers that join one after the other, call each other, and leave while others go on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import autograd, rpc, world
from tests.ports import free_port
from tests.rpc import test_rref, worlds
from tests.rpc.worlds import THREADS, add

PROCESSES = ("tcp://", "mqtt://")


def join(name: str = "", rank: int = -1, **options: Any) -> None:
    rank = world.current().rank if rank < 0 else rank
    rpc.init_rpc(
        name or f"w{rank}", rank=rank, world_size=0,
        rpc_backend_options=rpc.TensorPipeRpcBackendOptions(**options),
    )  # fmt: skip


def names() -> list[str]:
    return sorted(info.name for info in rpc._get_worker_infos())


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = world.place().clock.deadline(300)
    while not is_so():
        assert not deadline.is_over(), names()
        world.place().clock.sleep(0.02)


def one_by_one(size: int) -> None:
    """Each joins when the one before has; what each then sees, and can call."""
    rank = world.current().rank
    for comer in range(size):
        if comer == rank:
            join()
            assert names() == sorted(f"w{other}" for other in range(rank + 1))
        dist.barrier()
        if rank <= comer:
            for other in range(comer + 1):
                assert rpc.rpc_sync(other, worlds.name) == f"w{other}"
            assert rpc.get_worker_info(f"w{comer}").id == comer
        dist.barrier()
    x = mtd.ones(3, requires_grad=True)
    with autograd.context() as context_id:
        y = rpc.rpc_sync((rank + 1) % size, add, (x, x))
        autograd.backward(context_id, [y.sum()])
        assert autograd.get_gradients(context_id)[x].tolist() == [2.0] * 3
    dist.barrier()
    for leaver in range(size):  # the first to come is the first to go
        if leaver == rank:
            rpc.shutdown()
        dist.barrier()
        if rank > leaver:
            assert names() == sorted(f"w{other}" for other in range(leaver + 1, size))
            assert rpc.rpc_sync(size - 1, worlds.name) == f"w{size - 1}"
            with pytest.raises(RuntimeError, match=f"'w{leaver}' was here; it has left"):
                rpc.rpc_sync(f"w{leaver}", worlds.name)
            with pytest.raises(RuntimeError, match="could not find destination id"):
                rpc.rpc_sync(leaver, worlds.name)
        dist.barrier()


@pytest.mark.parametrize("transport", THREADS)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_one_after_the_other(transport: str, size: int) -> None:
    mtd.launch(one_by_one, size, transport, args=(size,), timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("transport", PROCESSES)
def test_processes_join_one_after_the_other(transport: str) -> None:
    mtd.launch(one_by_one, 3, transport, args=(3,), timeout=300)


@pytest.mark.parametrize("transport", THREADS)
def test_all_at_once(transport: str) -> None:
    """Nobody waits for anybody, and in the end all know all."""

    def worker() -> list[str]:
        join()
        dist.barrier()
        found = names()
        for name in found:
            assert rpc.rpc_sync(name, worlds.name) == name
        dist.barrier()
        rpc.shutdown()
        return found

    assert mtd.launch(worker, 8, transport, timeout=300) == [[f"w{n}" for n in range(8)]] * 8


@pytest.mark.parametrize("transport", THREADS)
def test_names_and_ids_are_refused_and_given_again(transport: str) -> None:
    def worker() -> None:
        rank = world.current().rank
        if rank == 0:
            join("ps")
        dist.barrier()
        if rank == 1:
            with pytest.raises(RuntimeError, match=r"name ps is not unique. Workers 1 and 0 share"):
                join("ps")
            with pytest.raises(
                RuntimeError, match=r"id 0 is not unique. Workers other and ps share"
            ):
                join("other", 0)
            with pytest.raises(RuntimeError, match="not been initialized"):
                names()
            join()  # who was refused has locked up nobody, as in torch
            assert rpc.rpc_sync("ps", worlds.name) == "ps"
            rpc.shutdown()
            join("again", 7)
            assert rpc.rpc_sync("ps", names) == ["again", "ps"]
            rpc.shutdown()
            join("w1")  # with what it was at first
            counter = rpc.remote("ps", test_rref.Counter, (3,))
            assert counter.rpc_sync().add(2) == 5
            del counter
        dist.barrier()
        if rank == 0:
            assert rpc.rpc_sync("w1", worlds.name) == "w1"
        dist.barrier()
        rpc.shutdown()

    mtd.launch(worker, 2, transport, timeout=300)


@pytest.mark.parametrize("transport", THREADS)
def test_objects_of_one_that_left(transport: str) -> None:
    def worker() -> None:
        rank = world.current().rank
        join()
        dist.barrier()
        held = rpc.remote("w1", test_rref.Counter, (3,)) if rank == 0 else None
        if held is not None:
            assert held.rpc_sync().add(0) == 3
        dist.barrier()
        if rank == 1:
            rpc.shutdown()
            join()  # the same name and id, and another worker
            fresh = rpc.RRef(test_rref.Counter(9))
        dist.barrier()
        if held is not None:
            with pytest.raises(rpc.WorkerLost, match=r"'w1', the owner of this RRef"):
                held.to_here()
            with pytest.raises(rpc.WorkerLost):
                held.rpc_sync().add(1)
        dist.barrier()
        if rank == 1:
            assert fresh.local_value().count == 9
        rpc.shutdown()

    mtd.launch(worker, 2, transport, timeout=300)


@pytest.mark.parametrize("transport", THREADS)
def test_devices_of_later_workers(transport: str) -> None:
    def program(rank: int) -> Any:
        if rank == 0:
            join(device_maps={"w1": {0: 1}})  # of one that has not joined yet
        dist.barrier()
        if rank == 1:
            join()
        dist.barrier()
        result = None
        if rank == 0:
            x = mtd.ones(2, device="cuda:0")
            result = rpc.rpc_sync("w1", device_of, (x,)), str(rpc.rpc_sync("w1", add, (x,)).device)
        dist.barrier()
        rpc.shutdown()
        return result

    def worker() -> Any:
        with mtd.cuda.simulated(2):
            return program(world.current().rank)

    assert mtd.launch(worker, 2, transport, timeout=300)[0] == ("cuda:1", "cuda:0")


def device_of(x: Any) -> str:
    return str(x.device)


@pytest.mark.parametrize("transport", THREADS)
def test_one_that_ends_without_a_word(transport: str) -> None:
    """Its name and number are free again; who called it hears that it is gone."""

    told: list[str] = []

    def worker() -> None:
        rank = world.current().rank
        join()
        dist.barrier()
        if rank == 2:
            return  # neither shutdown nor anything else
        wait_until(lambda: "w2" not in names() or bool(told))
        if rank == 1:
            with pytest.raises(RuntimeError, match="'w2' was here"):
                rpc.rpc_sync("w2", worlds.name)
            rpc.shutdown()
            join("w2", 2)
            assert rpc.rpc_sync("w0", names) == ["w0", "w2"]
            told.append("it came again")
        wait_until(lambda: bool(told))
        rpc.shutdown()

    mtd.launch(worker, 3, transport, timeout=300)


LISTENER = """
import os, signal, sys
from minitorch_dist.distributed import rpc
from minitorch_dist.distributed.rpc import init
from tests.rpc import worlds
from tests.rpc.test_joining import join, names

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

for line in sys.stdin:
    try:
        print(eval(line), flush=True)
    except Exception as error:
        print(f"{type(error).__name__}: {error}".replace(chr(10), " "), flush=True)
"""


class Terminal:
    """A process that evaluates a line at a time."""

    def __init__(self, port: int) -> None:
        environment = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", LISTENER], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def __call__(self, line: str) -> str:
        """What it prints; nothing if it dies of it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("transport", PROCESSES)
def test_the_name_of_one_that_was_killed(transport: str) -> None:
    """One is killed as it joins, and another one after it: the next that comes gets the same name."""
    port = free_port()
    first, *comers = [Terminal(port) for _ in range(4)]
    joining = f"join('late', 5, _transports=[{transport!r}])"
    try:
        assert first(f"join('w0', 0, _transports=[{transport!r}])") == "None"
        comers[0]("setattr(init.Membership, 'greet', die)")
        assert comers[0](joining) == ""
        assert comers[1](joining) == "None"
        assert comers[2](joining).startswith("RuntimeError: RPC worker name late is not unique")
        assert comers[1]("names()") == "['late', 'w0']"
        assert first("rpc.rpc_sync('late', worlds.name)") == "late"
        comers[1].kill()
        assert "'late'" in first("rpc.rpc_sync('late', worlds.name)")  # lost, or not there any more
        assert comers[2](joining) == "None"
        assert first("rpc.rpc_sync('late', names)") == "['late', 'w0']"
        assert comers[2]("rpc.rpc_sync('w0', worlds.name)") == "w0"
        assert comers[2]("rpc.shutdown()") == "None"
        assert first("names()") == "['w0']"
        assert first("rpc.shutdown()") == "None"
    finally:
        for terminal in (first, *comers):
            terminal.kill()


def test_where_it_cannot_be(tmp_path: Path) -> None:
    def worker() -> None:
        with pytest.raises(RuntimeError, match="cannot join one by one over file://"):
            join(_transports=[f"file://{tmp_path}/rings"])
        with pytest.raises(RuntimeError, match="rank is 0 to 32767, but got 40000"):
            join("w", 40_000)
        join()  # nothing is left of that
        rpc.shutdown()

    mtd.launch(worker, 1, "queue://", timeout=300)
