"""References: what they can do, and that their objects live exactly as long as somebody can reach them."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import rpc, world
from minitorch_dist.distributed.rpc.agent import current
from minitorch_dist.distributed.rpc.rref_context import context_of
from tests.rpc import worlds
from tests.rpc.worlds import add, run

alive: weakref.WeakSet[Any] = weakref.WeakSet()


class Counter:
    def __init__(self, start: int = 0) -> None:
        self.count = start
        self.tool = lambda: 3
        alive.add(self)

    def add(self, more: int = 1) -> int:
        self.count += more
        return self.count

    def make(self, start: int) -> Counter:
        return Counter(start)

    @rpc.functions.async_execution
    def later(self, to: str) -> Any:
        return rpc.rpc_async(to, add, (self.count, 1))

    @property
    def double(self) -> int:
        return 2 * self.count


kept: dict[int, list[Any]] = {}


def keep(rref: Any) -> None:
    kept.setdefault(rpc.get_worker_info().id, []).append(rref)


def kept_count() -> int:
    return int(kept[rpc.get_worker_info().id][-1].rpc_sync().add(0))


def forget() -> None:
    kept.pop(rpc.get_worker_info().id, None)


def pass_on(rref: Any, *way: str) -> None:
    """Send it along a way, and let go of it at once."""
    if way:
        rpc.rpc_sync(way[0], pass_on, (rref, *way[1:]))
    else:
        keep(rref)


def give_back(rref: Any) -> Any:
    return rref


def is_owner(rref: Any) -> bool:
    return bool(rref.is_owner())


def fail() -> None:
    raise KeyError("no object")


def objects() -> int:
    book = context_of(current())
    book.release_dropped_refs()
    return len(book.owned)


def settle(workers: int) -> None:
    """Until nothing that was given back is on its way."""
    for _ in range(4):
        for worker in range(workers):
            rpc.rpc_sync(worker, objects)


def ends(program: Any, size: int, transport: str) -> None:
    """Run; afterwards no object may be left, on any worker."""
    alive.clear()
    kept.clear()

    def watched(rank: int) -> None:
        program(rank)

    run(watched, size, transport)
    kept.clear()
    gc.collect()
    assert not alive


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_what_a_reference_can_do(transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        rref = rpc.remote("w1", Counter, (3,))
        assert not rref.is_owner() and rref.owner_name() == "w1" and rref.owner().id == 1
        assert rref.rpc_sync().add() == 4
        assert rref.confirmed_by_owner()
        assert rref.rpc_async().add(2).wait() == 6
        assert rref.remote().add(1).to_here() == 7
        assert rref.rpc_sync().later("w2") == 8
        assert rref.remote().later("w2").to_here(timeout=60) == 8
        assert rref._get_type() is Counter
        assert rref.remote().make(5).rpc_sync().add() == 6
        assert repr(rref).startswith("UserRRef(RRefId = GloballyUniqueId(created_on=0, local_id=")
        with pytest.raises(RuntimeError, match=r"can't call localValue\(\) on user WorkerInfo\(id=0"):
            rref.local_value()
        with pytest.raises(AttributeError, match="type object 'Counter' has no attribute 'tool'"):
            rref.rpc_sync().tool()
        with pytest.raises(TypeError, match="not callable"):
            rref.rpc_sync().double()
        with pytest.raises(RuntimeError, match="Can not pickle rref"):
            pickle.dumps(rref)

    ends(program, 3, transport)


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_a_reference_to_an_object_of_ones_own(transport: str) -> None:
    def program(rank: int) -> None:
        rref = rpc.RRef([rank])
        assert rref.is_owner() and rref.confirmed_by_owner()
        assert rref.to_here() is rref.local_value() and rref.owner().id == rank
        assert repr(rref).startswith(f"OwnerRRef(GloballyUniqueId(created_on={rank}, local_id=")
        rref.rpc_sync().append(5)
        assert rref.local_value() == [rank, 5]
        assert rpc.remote(rank, add, (1, 2)).local_value() == 3
        other = (rank + 1) % 3
        assert not rpc.rpc_sync(other, is_owner, (rref,)) and rpc.rpc_sync(rank, is_owner, (rref,))
        assert rpc.rpc_sync(other, give_back, (rref,)).local_value() is rref.local_value()

    ends(program, 3, transport)


def test_before_init() -> None:
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc.RRef(1)
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc.remote("w1", add, (1, 2))


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_a_creation_that_fails_says_so_when_it_is_used(transport: str) -> None:
    def program(rank: int) -> None:
        if rank == 0:
            rref = rpc.remote("w1", fail)
            with pytest.raises(KeyError, match="no object"):
                rref.to_here()
            with pytest.raises(KeyError):
                rref.rpc_sync().anything()
            with pytest.raises(KeyError):
                rpc.remote("w0", fail).local_value()
            with pytest.raises(TypeError, match="lambda cannot be sent"):
                rpc.remote("w1", add, (lambda: 0,))

    ends(program, 2, transport)


# ------------------------------------------------------------------------------------- lifetime


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_an_object_lives_as_long_as_its_references(transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        rref = rpc.remote("w1", Counter, (7,))
        pass_on(rref, "w2", "w3", "w1", "w2")
        del rref
        settle(4)
        assert len(alive) == 1 and rpc.rpc_sync("w2", kept_count) == 7
        rpc.rpc_sync("w2", forget)
        settle(4)
        assert not alive and rpc.rpc_sync("w1", objects) == 0

    ends(program, 4, transport)


@pytest.mark.parametrize("owner", [0, 1, 2])
def test_every_way_of_a_reference(owner: int) -> None:
    """All ways through three workers with up to three messages."""
    names = ("w0", "w1", "w2")
    ways = [(a,) for a in names] + [(a, b) for a in names for b in names]
    ways += [(a, b, c) for a in names for b in names for c in names]

    def program(rank: int) -> None:
        if rank:
            return
        for way in ways:
            rref = rpc.remote(f"w{owner}", Counter, (1,))
            pass_on(rref, *way)
            del rref
            settle(3)
            assert len(alive) == 1 and rpc.rpc_sync(way[-1], kept_count) == 1
            rpc.rpc_sync(way[-1], forget)
            settle(3)
            assert not alive, way

    ends(program, 3, "sim://")


def test_a_dead_workers_references_are_given_back() -> None:
    kept.clear()
    done = threading.Event()

    def worker() -> None:
        rank = world.current().rank
        rpc.init_rpc(f"w{rank}")
        if rank == 0:
            rref = rpc.RRef(Counter())
            rpc.rpc_sync("w1", keep, (rref,))
            held = rref._held
            assert list(held.forks.values()) == [1]
            gone = rpc.remote("w1", Counter, (1,))
            gone.rpc_sync().add()
            done.set()
            with pytest.raises(rpc.WorkerLost):
                wait_for_loss()
            assert not held.forks
            with pytest.raises(rpc.WorkerLost):
                gone.to_here()
        else:
            done.wait(30)
        rpc.shutdown(graceful=False)

    mtd.launch(worker, 2)


def wait_for_loss() -> None:
    while True:
        rpc.rpc_sync("w1", add, (1, 1))


def test_shutdown_frees_what_is_still_held(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "minitorch_dist.distributed.rpc")
    held: list[Any] = []

    def program(rank: int) -> None:
        if rank == 0:
            held.append(rpc.remote("w1", Counter, (1,)))
            held[0].rpc_sync().add()

    ends(program, 2, "queue://")
    assert "still holds" in caplog.text and "created at test_rref.py" in caplog.text
    assert "leaked" not in caplog.text


@pytest.mark.parametrize("address", worlds.THREADS)
def test_what_is_never_given_back_is_reported(address: str, caplog: pytest.LogCaptureFixture) -> None:
    """A worker that forgets to give back: the owner says what it still holds for whom, and who made it."""
    held: list[Any] = []

    def program(rank: int) -> None:
        if rank == 0:
            held.append(rpc.remote("w1", Counter, (1,)))
            held[0].rpc_sync().add()
            agent = current()
            agent.before_end.remove(context_of(agent).close)

    ends(program, 2, address)
    (record,) = [one for one in caplog.records if "leaked" in one.message]
    assert record.levelname == "WARNING"
    assert "Counter, held by w0, created at test_rref.py" in record.message
    assert not record.args  # in words already: later there may be no worker to ask


def future() -> Any:
    return mtd.futures.Future()


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_operators_of_a_remote_object(transport: str) -> None:
    def program(rank: int) -> None:
        thing = rpc.remote("w1", dict)
        thing.rpc_sync().__setitem__("a", 3)
        assert thing.rpc_sync().__getitem__("a") == 3
        assert thing.rpc_async().__len__().wait() == 1
        assert not thing.remote().__contains__("b").to_here()

    run(program, 2, transport)


def test_a_future_is_not_sent_and_says_why() -> None:
    def program(rank: int) -> None:
        if rank:
            return
        with pytest.raises(Exception, match=r"args\[0\]: a Future cannot be sent: its value arrives"):
            rpc.rpc_sync("w1", give_back, (future(),))
        with pytest.raises(Exception, match="the result of future on 'w1': a Future cannot be sent"):
            rpc.rpc_sync("w1", future)

    run(program, 2)
