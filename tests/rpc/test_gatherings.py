"""Workers that meet by calls alone, blocks that wait for all, and what torch shows of an agent."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as mtd
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import autograd, rpc, world
from tests.rpc.worlds import THREADS, add, refuse, run


@pytest.mark.parametrize("transport", THREADS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_all_get_all(transport: str, size: int) -> None:
    def program(rank: int) -> None:
        for turn in range(3):
            found = rpc.api._all_gather((rank, turn, mtd.ones(rank)))
            assert list(found) == [f"w{other}" for other in range(size)]
            for other in range(size):
                number, when, tensor = found[f"w{other}"]
                assert (number, when, len(tensor)) == (other, turn, other)
        rpc.api._barrier([f"w{other}" for other in range(size)])

    run(program, size, transport, threads=1)


@pytest.mark.parametrize("transport", THREADS)
def test_some_gather_while_others_do(transport: str) -> None:
    """The odd and the even, and neighbours; in another order on each."""

    def program(rank: int) -> None:
        mine = {f"w{n}" for n in range(rank % 2, 5, 2)}
        pair = {f"w{rank // 2 * 2}", f"w{min(4, rank // 2 * 2 + 1)}"}
        for names in (mine, pair) if rank < 2 else (mine, pair, mine):
            if rank < 2 and names is pair:
                assert rpc.api._all_gather(rank, mine) == {n: int(n[1:]) for n in sorted(mine)}
            assert rpc.api._all_gather(rank, names) == {n: int(n[1:]) for n in sorted(names)}

    run(program, 5, transport)


@pytest.mark.parametrize("transport", THREADS)
def test_who_is_missing_is_named(transport: str) -> None:
    is_virtual = transport == "sim://"
    of_time = " of virtual time" if is_virtual else ""

    def program(rank: int) -> None:
        if rank in (0, 2):
            late = (
                f"(w{2 - rank}, )?" if not is_virtual else ""
            )  # on a slow machine, the other one too
            names = {0: f"w1, {late}w3", 2: f"{late}w1, w3"}[rank]
            with pytest.raises(
                rpc.RpcTimeout, match=rf"'w{rank}' waited 0.3 s{of_time} for {names}\. Do"
            ):
                rpc.api._all_gather(rank, timeout=0.3)
        with pytest.raises(ValueError, match=r"gathers with w\d, and is none of them"):
            rpc.api._all_gather(rank, [f"w{(rank + 1) % 4}"])
        with pytest.raises(RuntimeError, match="could not find destination name nobody"):
            rpc.api._all_gather(rank, [f"w{rank}", "nobody"])

    run(program, 4, transport)


@pytest.mark.parametrize("transport", THREADS)
@pytest.mark.parametrize("is_early", [False, True])
def test_one_that_is_gone_is_not_waited_for(transport: str, is_early: bool) -> None:
    def worker() -> None:
        rank, pair = world.current().rank, dist.new_group([0, 1])
        rpc.init_rpc(f"w{rank}")
        if rank == 2:
            if not is_early:
                world.place().clock.sleep(0.05)
            rpc.shutdown(graceful=False)
            return
        if is_early:
            world.place().clock.sleep(0.05)
        with pytest.raises(rpc.WorkerLost, match="'w2', and w0, w1, w2 wait for each other"):
            rpc.api._all_gather(rank)
        dist.barrier(group=pair)
        rpc.shutdown(graceful=False)

    mtd.launch(worker, 3, transport, timeout=300)


def test_a_block_that_waits_for_all() -> None:
    def program(rank: int) -> None:
        if rank:
            return
        thing = rpc.remote("w1", list, ((3, 4),))
        with rpc.api._wait_all():
            futures = [rpc.rpc_async("w1", add, (n,)) for n in range(20)]
            futures.append(thing.rpc_async().index(4))
            with pytest.raises(ValueError, match="here"):
                rpc.rpc_sync("w1", refuse, ("here",))  # caught: the block does not raise it again
        assert all(future.done() for future in futures)
        with pytest.raises(ValueError, match="there"), rpc.api._wait_all():
            failed = rpc.rpc_async("w1", refuse, ("there",))
        assert failed.done()

    run(program, 2)


@pytest.mark.parametrize("transport", THREADS)
def test_operators_of_a_remote_object(transport: str) -> None:
    def program(rank: int) -> None:
        thing = rpc.remote("w1", dict)
        thing.rpc_sync().__setitem__("a", 3)
        assert thing.rpc_sync().__getitem__("a") == 3
        assert thing.rpc_async().__len__().wait() == 1
        assert not thing.remote().__contains__("b").to_here()
        with pytest.raises(AttributeError):
            thing.rpc_sync().__deepcopy__  # noqa: B018 - asked for by libraries that look

    run(program, 2, transport)


def test_what_torch_shows_of_an_agent() -> None:
    def program(rank: int) -> Any:
        agent = rpc._get_current_rpc_agent()
        assert agent.get_worker_info() == agent.get_worker_info(f"w{rank}") == rpc.get_worker_info()
        assert [info.id for info in agent.get_worker_infos()] == [0, 1]
        assert agent.get_debug_info()["agent.thread_pool_size"] == "4"
        assert agent.is_static_group and "w0" in repr(rpc._get_current_rpc_agent()) + "w0"
        assert rpc._is_current_rpc_agent_set() and rpc.api._is_current_rpc_agent_set()
        assert isinstance(rpc.RRef(3), rpc.PyRRef)
        with autograd.context():
            counts = autograd._get_debug_info()
        assert counts == {"num_autograd_contexts": 1, "num_current_backward_passes": 0}

    assert not rpc._is_current_rpc_agent_set()
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc._get_current_rpc_agent()
    run(program, 2)


@pytest.mark.parametrize(
    "named", [["uv"], ["shm", "uv"], ["ibv", "uv"], [], None, ["queue"], ["uv", "queue"]]
)
def test_names_of_tensorpipes_own_transports_say_nothing(named: list[str] | None) -> None:
    assert run(lambda rank: rank, 2, _transports=named) == [0, 1]


def test_an_unknown_transport() -> None:
    with pytest.raises(RuntimeError, match="Unknown transport: nonsense"):
        run(lambda rank: rank, 1, _transports=["nonsense"])
