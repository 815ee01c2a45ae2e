"""Worlds begin, end and begin again; and each way to fail has a message of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import world
from transports.clock import SYSTEM
from transports.errors import Deadlock

SECOND = timedelta(seconds=1)


def in_threads(acts: list[Callable[[], Any]]) -> list[Any]:
    """Run each in a thread that is a place of its own; what they return or raise."""
    results: list[Any] = [None] * len(acts)

    def one(number: int) -> None:
        with world.StandingIn(world.WorldScope()):
            try:
                results[number] = acts[number]()
            except Exception as error:
                results[number] = error
            finally:
                if dist.is_initialized():
                    dist.destroy_process_group()

    threads = [SYSTEM.start(lambda n=n: one(n), f"rank {n}") for n in range(len(acts))]
    for thread in threads:
        thread.join()
    return results


def exchange() -> list[int]:
    """Everybody sends to everybody."""
    me, size = dist.get_rank(), dist.get_world_size()
    got = [torch.zeros(1) for _ in range(size)]
    works = [dist.irecv(got[r], r) for r in range(size)]
    works += [dist.isend(torch.tensor([10.0 * me + r]), r) for r in range(size)]
    for work in works:
        work.wait()
    return [int(t.item()) for t in got]


def expected(size: int) -> list[list[int]]:
    return [[10 * src + me for src in range(size)] for me in range(size)]


@pytest.mark.parametrize("backend", ["queue", "tcp", "gloo"])
def test_destroy_and_init_again_with_the_same_store(backend: str) -> None:
    store = dist.HashStore()

    def rank(me: int) -> list[Any]:
        said = []
        for turn in range(3):
            dist.init_process_group(backend, store=store, rank=me, world_size=3)
            assert dist.get_backend() == backend
            said.append(exchange())
            if turn < 2:
                dist.destroy_process_group()
        return said

    said = in_threads([lambda me=me: rank(me) for me in range(3)])
    assert said == [[row] * 3 for row in expected(3)], said


def test_init_again_at_the_same_port() -> None:
    with contextlib.closing(dist.TCPStore("localhost", 0, is_master=True)) as free:
        port = free.port

    def rank(me: int) -> list[Any]:
        said = []
        for _ in range(4):
            dist.init_process_group("tcp", f"tcp://localhost:{port}", rank=me, world_size=3)
            said.append(exchange())
            dist.destroy_process_group()
        return said

    said = in_threads([lambda me=me: rank(me) for me in range(3)])
    assert said == [[row] * 4 for row in expected(3)], said


def test_who_is_missing_is_named() -> None:
    store = dist.HashStore()
    said = in_threads(
        [
            lambda me=me: dist.init_process_group("queue", store=store, rank=me, world_size=4, timeout=SECOND / 4)
            for me in (0, 2)
        ]
    )
    for error in said:
        assert isinstance(error, dist.DistNetworkError)
        assert "for ranks 1, 3 of a world of 4; 0, 2 came" in str(error)

    def again(me: int) -> list[int]:
        dist.init_process_group("tcp", store=dist.PrefixStore("2", store), rank=me, world_size=4)
        return exchange()

    assert in_threads([lambda me=me: again(me) for me in range(4)]) == expected(4)


def test_a_rank_that_is_taken() -> None:
    store = dist.HashStore()
    give_up = {"timeout": SECOND / 2}
    said = in_threads(
        [
            lambda me=me: dist.init_process_group("queue", store=store, rank=me, world_size=3, **give_up)
            for me in (0, 1, 1)
        ]
    )
    assert sum("rank 1 is taken" in str(error) for error in said) == 1, said


def test_world_sizes_that_differ() -> None:
    store = dist.HashStore()
    said = in_threads(
        [
            lambda me=me: dist.init_process_group(
                "queue", store=store, rank=me, world_size=3 + (me == 1), timeout=SECOND / 4
            )
            for me in (0, 1)
        ]
    )
    texts = [str(error) for error in said if isinstance(error, ValueError)]
    assert len(texts) == 1 and "All ranks must be given the same world size" in texts[0]


def test_a_master_that_is_not_there() -> None:
    with contextlib.closing(dist.TCPStore("localhost", 0, is_master=True)) as free:
        port = free.port
    with pytest.raises(dist.DistNetworkError, match=str(port)):
        dist.init_process_group("tcp", f"tcp://localhost:{port}", rank=1, world_size=3, timeout=SECOND / 4)


def test_a_path_with_two_slashes_is_explained() -> None:
    with pytest.raises(ValueError, match=r"write three: file:///mnt/nfs/x"):
        dist.init_process_group("tcp", "file://mnt/nfs/x", rank=0, world_size=1)


def test_tracebacks_are_signed(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.excepthook
    dist.init_process_group("queue", store=dist.HashStore(), rank=0, world_size=1)
    try:
        sys.excepthook(ValueError, ValueError("oh"), None)
        assert capsys.readouterr().err == "[rank0]: ValueError: oh\n"
    finally:
        dist.destroy_process_group()
    assert sys.excepthook is before


# ------------------------------------------------------------------------------------------ launch


def over_processes(offset: int) -> tuple[int, list[int], float, str]:
    dist.init_process_group("gloo")  # takes over what the launcher has made
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
    return offset + int(os.environ["LOCAL_RANK"]), exchange(), torch.rand(1).item(), os.environ["RANK"]


def fails_in_rank_1() -> None:
    if dist.get_rank() == 1:
        raise KeyError("of rank 1")
    dist.recv(torch.zeros(1), 1)


def killed_in_rank_1() -> None:
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.recv(torch.zeros(1), 1)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_launch_threads(size: int) -> None:
    torch.manual_seed(5)
    random = torch.rand(1).item()
    torch.manual_seed(5)

    def rank() -> Any:
        return dist.get_rank(), exchange(), torch.rand(1).item(), torch.rand(1).item() != random

    found = torch.launch(rank, size)
    assert found == [(r, expected(size)[r], random, True) for r in range(size)]
    assert torch.rand(1).item() == random and not dist.is_initialized()


@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_a_launched_world_has_the_backend_of_its_address(transport: str) -> None:
    def rank() -> Any:
        return dist.get_backend(), dist.get_backend(dist.new_group([0, 1]))

    assert torch.launch(rank, 2, transport) == [(transport.partition(":")[0],) * 2] * 2


def test_rooms_above_open_when_named() -> None:
    program = """
import minitorch_dist.distributed as dist
assert {"rpc", "autograd", "algorithms"} <= set(dir(dist))
print(dist.rpc.rpc_sync.__name__, dist.autograd.context.__name__, dist.algorithms.Join.__name__)
print(hasattr(dist, "rooms"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "rpc_sync context Join\nFalse\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["tcp://", "file://"])
def test_launch_processes(transport: str) -> None:
    torch.manual_seed(5)
    found = torch.launch(over_processes, 3, transport, args=(100,))
    random = torch.rand(1).item()
    assert found == [(100 + r, expected(3)[r], random, str(r)) for r in range(3)]


def test_the_first_that_fails_ends_the_others() -> None:
    with pytest.raises(KeyError) as caught:
        torch.launch(fails_in_rank_1, 3)
    assert caught.value.__notes__ == ["(in rank 1 of 3, a thread over queue://)"]
    assert caught.traceback[-1].name == "fails_in_rank_1"


@pytest.mark.slow
def test_the_first_process_that_fails_ends_the_others() -> None:
    with pytest.raises(KeyError) as caught:
        torch.launch(fails_in_rank_1, 3, "tcp://")
    (note,) = caught.value.__notes__
    assert "in rank 1 of 3, a process over tcp://" in note and 'raise KeyError("of rank 1")' in note
    with pytest.raises(RuntimeError, match=r"ended by SIGKILL .*in rank 1 of 3"):
        torch.launch(killed_in_rank_1, 3, "tcp://")


def test_launch_refuses() -> None:
    with pytest.raises(ValueError, match="at least one rank"):
        torch.launch(exchange, 0)
    with pytest.raises(ValueError, match="scheme 'foo' is not known"):
        torch.launch(exchange, 3, "foo://")
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        torch.launch(functools.partial(print, threading.Lock()), 3, "tcp://")
    with pytest.raises(ValueError, match=r"launched with rank \d of 3"):
        torch.launch(lambda: dist.init_process_group(rank=7, world_size=8), 3)


def test_a_file_as_meeting_place(tmp_path: Path) -> None:
    where = f"file://{tmp_path / 'store'}"

    def rank(me: int) -> list[Any]:
        said = []
        for _ in range(2):
            dist.init_process_group("queue", where, rank=me, world_size=3)
            said.append(exchange())
            dist.destroy_process_group()
        return said

    said = in_threads([lambda me=me: rank(me) for me in range(3)])
    assert said == [[row] * 2 for row in expected(3)], said
    assert not list(tmp_path.iterdir())  # the last one to leave takes the file with him


@pytest.mark.slow
def test_a_rank_that_is_killed_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"ended by SIGKILL before it had a result \(in rank 2"):
        torch.launch(watch_rank_2_die, 4, "tcp://", args=(str(tmp_path),))
    for rank in (0, 1, 3):
        said = (tmp_path / str(rank)).read_text()
        assert "rank 2 is lost" in said and f"which rank {rank} needs in recv (float32[1])" in said
        assert "test_bootstrap.py:" in said and "of group 'default_pg'" in said


def watch_rank_2_die(folder: str) -> None:
    me, got = dist.get_rank(), torch.zeros(1)
    if me == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        dist.recv(got, 2)
    except dist.PeerLost as error:
        (Path(folder) / str(me)).write_text(str(error))
    dist.recv(got, (me + 1) % 2)  # for ever: the launcher ends us


@pytest.mark.parametrize("size", [1, 3, 8])
def test_launch_in_virtual_time(size: int) -> None:
    def rank() -> Any:
        return exchange(), world.current().clock.now()

    first, again = (torch.launch(rank, size, "sim://") for _ in range(2))
    assert [row for row, _ in first] == expected(size)
    assert first == again and (size == 1 or max(now for _, now in first) > 0)


def test_a_deadlock_in_virtual_time_is_told_at_once() -> None:
    def rank() -> None:
        dist.recv(torch.zeros(1), (dist.get_rank() + 1) % 3)

    with pytest.raises(Deadlock, match=r"recv \(float32\[1\]\) at test_bootstrap.py"):
        torch.launch(rank, 3, "sim://")
    with pytest.raises(KeyError):
        torch.launch(fails_in_rank_1, 3, "sim://")
