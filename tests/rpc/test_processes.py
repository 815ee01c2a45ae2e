"""Workers that are processes, over real wires: the same calls; one is killed; a stranger comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import autograd, rpc, world
from tests.ports import free_port
from tests.rpc import test_rref, worlds
from tests.transports.brokers import KINDS, Broker

pytestmark = pytest.mark.slow


def everything() -> int:
    rank = world.current().rank
    rpc.init_rpc(f"w{rank}", rpc_backend_options=rpc.TensorPipeRpcBackendOptions(num_worker_threads=1))
    assert worlds.fibonacci(6) == 8
    x = mtd.randn(400, 400, requires_grad=True)
    with autograd.context() as context_id:
        y = rpc.rpc_sync((rank + 1) % 3, worlds.add, (x, x))
        autograd.backward(context_id, [y.sum()])
        assert mtd.equal(autograd.get_gradients(context_id)[x], 2 * mtd.ones(400, 400))
    counter = rpc.remote((rank + 1) % 3, test_rref.Counter, (rank,))
    assert rpc.rpc_sync((rank + 2) % 3, add_to, (counter,)) == rank + 1
    with pytest.raises(worlds.Refused, match="中文"):
        rpc.rpc_sync((rank + 2) % 3, worlds.refuse, ("x",))
    rpc.shutdown()
    return rank


def add_to(counter: Any) -> int:
    return int(counter.rpc_sync().add(1))


@pytest.mark.parametrize("scheme", ["tcp", "file"])
def test_everything(scheme: str, tmp_path: Path) -> None:
    address = f"file://{tmp_path}/rings" if scheme == "file" else "tcp://"
    assert mtd.launch(everything, 3, address, timeout=300) == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_through_a_broker(kind: str) -> None:
    broker = Broker(kind)
    try:
        assert mtd.launch(everything, 3, broker.address, timeout=300) == [0, 1, 2]
    finally:
        broker.stop()


def test_only_the_broker_knows_the_workers() -> None:
    """It is the meeting place too: no rank listens."""
    broker = Broker("embedded")
    program = (
        "import sys; from minitorch_dist.distributed import rpc;"
        "options = rpc.TensorPipeRpcBackendOptions(init_method=sys.argv[2], _transports=['mqtt']);"
        "rpc.init_rpc('w' + sys.argv[1], rank=int(sys.argv[1]), world_size=2,"
        " rpc_backend_options=options);"
        "print(rpc.rpc_sync((int(sys.argv[1]) + 1) % 2, divmod, (7, 3)));"
        "rpc.shutdown()"
    )
    try:
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", program, str(rank), f"{broker.address}/job"],
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for rank in range(2)
        ]
        said = [worker.communicate(timeout=300) for worker in workers]
    finally:
        broker.stop()
    assert [out.strip() for out, _ in said] == ["(2, 1)"] * 2, said


def killed(folder: str) -> None:
    rank = world.current().rank
    rpc.init_rpc(f"w{rank}")
    if rank == 0:
        asked = rpc.rpc_async("w1", die)
        with pytest.raises(rpc.WorkerLost) as caught:
            asked.wait()
        Path(folder, "said").write_text(str(caught.value), encoding="utf-8")
    rpc.shutdown(graceful=rank != 0)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="SIGKILL"):
        mtd.launch(killed, 2, "tcp://", args=(str(tmp_path),), timeout=300)
    said = (tmp_path / "said").read_text(encoding="utf-8")
    assert "'w1'" in said and "die on 'w1', called at test_processes.py" in said


STRANGER = """
import sys, os
from minitorch_dist.distributed import codec, rpc
from minitorch_dist.distributed.codec import writer_and_reader as reader
def seen(*args, **kwargs):
    print("THE CODEC WAS REACHED", flush=True)
    os._exit(3)
reader.Reader.__init__ = seen
from datetime import timedelta
from minitorch_dist.distributed.rpc import init
init.CONNECT = timedelta(seconds=4)
print("ready", flush=True)
input()  # both have begun, however long that took
rpc.init_rpc("w" + sys.argv[1], rank=int(sys.argv[1]), world_size=2)
"""


def test_a_stranger_never_reaches_the_codec() -> None:
    port = str(free_port())
    workers = []
    for rank in range(2):
        environment = {
            **os.environ,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "MINITORCH_DIST_KEY": f"key {rank}",
        }
        workers.append(
            subprocess.Popen(
                [sys.executable, "-c", STRANGER, str(rank)],
                env=environment,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
    for worker in workers:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=300) for worker in workers]
    assert all(worker.returncode == 1 for worker in workers)
    assert all("CODEC" not in out for out, _ in said)
    assert "TrustError" in said[1][1] or "key" in said[1][1]
