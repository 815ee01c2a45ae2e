"""Calls: results, exceptions, names, timeouts, and no deadlock whoever calls whom."""

from __future__ import annotations

import re
import threading
import time
import warnings
from datetime import timedelta
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import codec, rpc, world
from minitorch_dist.distributed.rpc.agent import current
from tests.rpc import worlds
from tests.rpc.worlds import Refused, Tools, add, add_later, fibonacci, me, name, refuse, run, same

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


@pytest.mark.parametrize("transport", worlds.THREADS)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_everybody_calls_everybody(size: int, transport: str) -> None:
    def program(rank: int) -> Any:
        futures = [rpc.rpc_async(other, add, (rank, 10 * other)) for other in range(size)]
        assert mtd.futures.wait_all(futures) == [rank + 10 * other for other in range(size)]
        assert rpc.rpc_sync(f"w{size - 1}", name) == f"w{size - 1}"
        return rpc.rpc_sync(rpc.get_worker_info(f"w{(rank + 1) % size}"), me)

    assert run(program, size, transport) == [(rank + 1) % size for rank in range(size)]


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_values_and_functions_of_every_kind(transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        x = mtd.ones(2, 3)
        assert mtd.equal(rpc.rpc_sync("w1", mtd.add, args=(x, 2)), x + 2)
        assert rpc.rpc_sync("w1", min, [3, 1, 2]) == 1
        assert rpc.rpc_sync("w1", add, (1,), {"b": 5}) == 6
        assert rpc.rpc_sync("w1", Refused, ("a", 1)).when == 1
        large = mtd.randn(300, 300)
        small, again, twin = rpc.rpc_sync("w1", same, ((large[:2], large, large),))
        assert mtd.equal(again, large) and again is twin and small.shape == (2, 300)

    run(program, 2, transport)


def test_a_call_to_oneself_copies() -> None:
    def program(rank: int) -> None:
        x = mtd.ones(3)
        found = rpc.rpc_sync("w0", same, (x,))
        assert found is not x and mtd.equal(found, x)

    run(program, 1)


def test_arguments_are_read_when_the_call_is_made() -> None:
    def program(rank: int) -> None:
        if rank == 0:
            x = mtd.zeros(300, 300)
            future = rpc.rpc_async("w1", mtd.sum, (x,))
            x += 1
            assert future.wait() == 0

    run(program, 2)


# --------------------------------------------------------------------------------------- exceptions


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_an_exception_comes_back_as_itself(transport: str) -> None:
    def program(rank: int) -> None:
        if rank:
            return
        with pytest.raises(Refused, match="中文") as caught:
            rpc.rpc_sync("w1", refuse, ("me",))
        assert (caught.value.who, caught.value.when) == ("me", 3)
        assert "in refuse" in str(caught.value.__cause__)
        assert "refuse on 'w1', called at test_calls.py" in caught.value.__notes__[0]
        with pytest.raises(KeyError) as missing:
            rpc.rpc_sync("w1", dict.__getitem__, ({}, "k"))
        assert missing.value.args == ("k",)
        with pytest.raises(rpc.RpcError, match=r"SystemExit\(3\)"):
            rpc.rpc_sync("w1", exit_with, (3,))
        assert rpc.rpc_sync("w1", add, (1, 1)) == 2  # the callee lives on

    run(program, 2, transport)


def exit_with(code: int) -> None:
    raise SystemExit(code)


def through(to: str) -> None:
    rpc.rpc_sync(to, refuse, ("far away",))


def test_an_exception_passes_through_several_workers() -> None:
    def program(rank: int) -> None:
        if rank == 0:
            with pytest.raises(Refused) as caught:
                rpc.rpc_sync("w1", through, ("w2",))
            assert "in through" in str(caught.value.__cause__)
            assert "in refuse" in str(caught.value.__cause__)

    run(program, 3)


def give_lock() -> Any:
    return {"a": [1, threading.Lock()]}


def test_what_cannot_be_sent_is_named_at_the_caller() -> None:
    def program(rank: int) -> None:
        if rank:
            return
        with pytest.raises(codec.Unsendable, match=r"args\[0\]\['x'\]: a lambda cannot be sent"):
            rpc.rpc_sync("w1", same, ({"x": lambda: 0},))
        with pytest.raises(codec.Unsendable, match=r"kwargs\['b'\]: a generator"):
            rpc.rpc_sync("w1", add, (1,), {"b": (i for i in ())})
        with pytest.raises(codec.Unsendable, match="use a module-level function"):
            rpc.rpc_async("w1", lambda: 0)
        with pytest.raises(codec.Unsendable, match=r"result of give_lock on 'w1'\['a'\]\[1\]: a _th"):
            rpc.rpc_sync("w1", give_lock)
        assert rpc.rpc_sync("w1", add, (1, 1)) == 2

    run(program, 2)


def test_wrong_names_and_arguments() -> None:
    with pytest.raises(RuntimeError, match="RPC has not been initialized"):
        rpc.rpc_sync("w1", add, (1, 1))
    for bad in ("", "a b", "x" * 128):
        with pytest.raises(RuntimeError, match="worker's name"):
            rpc.init_rpc(bad)

    def program(rank: int) -> None:
        with pytest.raises(RuntimeError, match=r"could not find destination nobody.*0 w0, 1 w1"):
            rpc.rpc_sync("nobody", add, (1, 1))
        with pytest.raises(RuntimeError, match="could not find destination 7; the workers are 0 w0"):
            rpc.rpc_sync(7, add, (1, 1))
        with pytest.raises(ValueError, match="Cannot get WorkerInfo from"):
            rpc.rpc_sync(1.0, add, (1, 1))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="callable"):
            rpc.rpc_sync("w1", 3)  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match="already initialized"):
            rpc.init_rpc("again")
        assert repr(rpc.get_worker_info()) == f"WorkerInfo(id={rank}, name=w{rank})"
        assert {rpc.get_worker_info("w1"): 1}[rpc.WorkerInfo("w1", 1)] == 1
        assert rpc.rpc_sync("w1", same, (rpc.get_worker_info(),)) == rpc.get_worker_info()

    run(program, 2)


def test_two_workers_with_one_name() -> None:
    def worker() -> None:
        rpc.init_rpc("same")

    with pytest.raises(RuntimeError, match="two workers are called 'same': rank 0 and rank 1"):
        mtd.launch(worker, 2)


# ----------------------------------------------------------------------------------------- nesting


@pytest.mark.parametrize("transport", worlds.THREADS)
@pytest.mark.parametrize(("size", "threads"), [(1, 1), (2, 1), (3, 1), (3, 2), (5, 4)])
def test_calls_in_circles(size: int, threads: int, transport: str) -> None:
    def program(rank: int) -> int:
        return fibonacci(7)

    assert run(program, size, transport, threads) == [13] * size


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_nesting_is_deeper_than_the_pool(transport: str) -> None:
    """torch hangs here for ever, whatever its timeout."""

    def program(rank: int) -> int:
        return worlds.there_and_back(40)

    assert run(program, 2, transport, threads=1) == [40, 40]


lock = threading.Lock()


def with_lock(rank: int) -> bool:
    with lock:
        return True


def test_a_function_never_runs_on_top_of_one_that_waits() -> None:
    """The caller waits with a lock in its hand, and is called by somebody who wants that lock."""

    def program(rank: int) -> None:
        if rank == 0:
            with lock:
                asked = rpc.rpc_async("w1", ask_back, ())
                assert rpc.rpc_sync("w1", add, (1, 1)) == 2
            assert asked.wait()

    run(program, 2)


def ask_back() -> bool:
    return bool(rpc.rpc_sync("w0", with_lock, (1,)))


events = {"go": threading.Event()}


def wait_for_go() -> bool:
    return events["go"].wait(30)


def test_a_long_function_does_not_keep_others_out() -> None:
    """One function waits for what another one will do on the same worker."""
    events["go"] = threading.Event()

    def program(rank: int) -> None:
        if rank == 0:
            waits = rpc.rpc_async("w1", wait_for_go)
            rpc.rpc_sync("w1", set_go)
            assert waits.wait()

    run(program, 2)


def set_go() -> None:
    events["go"].set()


running = {"now": 0, "most": 0}


def count_running() -> None:
    with lock:
        running["now"] += 1
        running["most"] = max(running.values())
    time.sleep(0.02)
    with lock:
        running["now"] -= 1


@pytest.mark.parametrize("threads", [1, 3])
def test_as_many_functions_run_at_once_as_there_are_threads(threads: int) -> None:
    running.update(now=0, most=0)

    def program(rank: int) -> None:
        if rank == 0:
            mtd.futures.wait_all([rpc.rpc_async("w1", count_running) for _ in range(9)])

    run(program, 2, threads=threads)
    assert running["most"] <= threads


# ----------------------------------------------------------------------------------- async_execution


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_async_execution(transport: str) -> None:
    def program(rank: int) -> None:
        assert rpc.rpc_sync("w1", add_later, ("w2", 1, 2, 3)) == 6
        for function in (Tools.below, Tools.above, Tools.of_class):
            assert rpc.rpc_sync("w1", function, ("w2", 4)) == 5
        with pytest.raises(RuntimeError, match=r"must return a torch.futures.Future object"):
            rpc.rpc_sync("w1", worlds.no_future)
        with pytest.raises(TypeError):
            rpc.rpc_sync("w1", add_later, ("w2", 1, None, 3))

    run(program, 3, transport, threads=1)


# ------------------------------------------------------------------------------------------ timeouts


def test_a_call_that_takes_too_long() -> None:
    events["go"] = threading.Event()

    def program(rank: int) -> None:
        if rank == 0:
            with pytest.raises(rpc.RpcTimeout, match=r"set timeout \(100 ms\).* may have run") as caught:
                rpc.rpc_sync("w1", wait_for_go, timeout=0.1)
            assert caught.value.may_have_run and isinstance(caught.value, RuntimeError)
            later = rpc.rpc_async("w1", wait_for_go, timeout=timedelta(milliseconds=50))
            together = later.then(lambda future: future.wait())
            with pytest.raises(TimeoutError):
                together.wait()
            rpc.rpc_sync("w1", set_go)
            assert rpc.rpc_sync("w1", wait_for_go, timeout=0)

    run(program, 2)


def test_the_default_timeout() -> None:
    events["go"] = threading.Event()

    def program(rank: int) -> None:
        if rank == 0:
            with pytest.raises(rpc.RpcTimeout):
                rpc.rpc_sync("w1", wait_for_go)
            rpc.rpc_sync("w1", set_go, timeout=30)

    run(program, 2, timeout=0.1)


def test_in_virtual_time_a_timeout_costs_nothing() -> None:
    def program(rank: int) -> float:
        clock = world.place().clock
        start = clock.now()
        if rank == 0:
            with pytest.raises(rpc.RpcTimeout):
                rpc.rpc_sync("w1", sleep_virtually, (40.0,), timeout=10)
        return (clock.now() - start) / 1e12

    took = run(program, 2, "sim://")[0]
    assert 10 <= took < 10.1


def sleep_virtually(seconds: float) -> None:
    world.place().clock.sleep(seconds)


# ---------------------------------------------------------------------------------------- endings


@pytest.mark.parametrize("transport", worlds.THREADS)
def test_shutdown_waits_for_all_work_everywhere(transport: str) -> None:
    seen: list[int] = []

    def program(rank: int) -> None:
        if rank == 0:
            rpc.rpc_async("w1", relay, (6,)).add_done_callback(lambda future: seen.append(future.value()))

    run(program, 3, transport, threads=1)
    assert seen == [0]


def relay(left: int) -> int:
    if left:
        world.place().clock.sleep(0.002)
        return int(rpc.rpc_sync((me() + 1) % 3, relay, (left - 1,)))
    return 0


def test_one_can_begin_again() -> None:
    def worker() -> int:
        rank = world.current().rank
        for turn in range(3):
            rpc.init_rpc(f"w{rank}-{turn}")
            assert rpc.rpc_sync(f"w{1 - rank}-{turn}", add, (turn, 1)) == turn + 1
            rpc.shutdown()
            with pytest.raises(RuntimeError, match="has not been initialized"):
                rpc.shutdown()
        return 1

    assert mtd.launch(worker, 2) == [1, 1]


@pytest.mark.parametrize("early", [0, 1])
def test_shutdown_names_who_has_not_come(early: int) -> None:
    events["go"] = threading.Event()

    def worker() -> None:
        rank = world.current().rank
        rpc.init_rpc(f"w{rank}")
        if rank != early:
            events["go"].wait(30)
            rpc.shutdown(graceful=False)
            return
        try:
            with pytest.raises(TimeoutError, match=r"it waits for w.* w2 \(last heard"):
                rpc.shutdown(timeout=0.2)
        finally:
            events["go"].set()

    mtd.launch(worker, 3)


def test_leaving_at_once_fails_the_calls_of_others() -> None:
    events["go"] = threading.Event()

    def worker() -> None:
        rank = world.current().rank
        rpc.init_rpc(f"w{rank}")
        if rank == 0:
            call = rpc.rpc_async("w1", wait_for_go)
            rpc.rpc_sync("w1", add, (1, 1))
            events["leave"].set()
            with pytest.raises(rpc.WorkerLost, match=r"'w1'.*may have run") as caught:
                call.wait()
            assert caught.value.rank == 1 and caught.value.may_have_run
            with pytest.raises(rpc.WorkerLost, match="was not sent"):
                rpc.rpc_sync("w1", add, (1, 1))
            events["go"].set()
            rpc.shutdown(graceful=False)
        else:
            events["leave"].wait(30)
            agent = current()
            agent.transport.close()
            rpc.shutdown(graceful=False)

    events["leave"] = threading.Event()
    mtd.launch(worker, 2)


def test_a_function_cannot_shut_its_worker_down() -> None:
    def program(rank: int) -> None:
        if rank == 0:
            with pytest.raises(RuntimeError, match="would wait for itself"):
                rpc.rpc_sync("w1", rpc.shutdown)

    run(program, 2)


def test_tensors_on_devices_are_not_sent() -> None:
    def worker() -> None:
        with mtd.cuda.simulated(1):
            rpc.init_rpc(f"w{world.current().rank}")
            x = mtd.ones(2, device="cuda")
            assert rpc.rpc_sync(rpc.get_worker_info(), same, (x,)).device == x.device
            with pytest.raises(RuntimeError, match="only supports CPU tensors"):
                rpc.rpc_sync(1 - world.current().rank, same, (x,))
            rpc.shutdown()

    mtd.launch(worker, 2)


def test_options() -> None:
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=8, _transports=["uv"])
    assert options.rpc_timeout == 60 and options.init_method == "env://"
    assert rpc.is_available() and mtd.distributed.autograd.is_available()
    assert rpc.BackendType.PROCESS_GROUP in rpc.BackendType
    with pytest.raises(NotImplementedError, match="PyTorch has device_maps"):
        rpc.TensorPipeRpcBackendOptions(device_maps={"w1": {0: 1}})


def test_a_world_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    for told in ({}, {"world_size": 0}):
        with pytest.raises(RuntimeError, match=r"pass world_size=.*one by one are not offered"):
            rpc.init_rpc("w0", rank=0, **told)


def test_nonsense_from_a_peer_does_not_end_a_worker(caplog: pytest.LogCaptureFixture) -> None:
    from minitorch_dist.distributed.rpc import message

    def program(rank: int) -> None:
        if rank == 0:
            agent = current()
            for kind in (message.REQUEST, message.ANSWER):
                for body in (b"", b"\0", b"\xff" * 9, b"\x04\x0c\xff\xff\xff\xff"):
                    for flags in (0, message.SYSTEM, message.SYSTEM | message.ONE_WAY):
                        header = message.HEADER.pack(kind, flags, 0, 1, 1 << 40, 0)
                        agent.transport.send(1, header, body)
            assert rpc.rpc_sync("w1", add, (1, 1)) == 2

    def worker() -> None:
        rank = world.current().rank
        rpc.init_rpc(f"w{rank}")
        program(rank)
        both.wait(30)
        rpc.shutdown(graceful=False)

    both = threading.Barrier(2)
    mtd.launch(worker, 2)


def test_shutdown_says_for_whom_it_waits(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITORCH_DIST_SLOW", "0.05")
    caplog.set_level("WARNING", "minitorch_dist.distributed.rpc")

    said = re.compile(r"shutdown of 'w[02]': .*waiting for w1 \(last heard of \d+ s ago\)")

    def program(rank: int) -> None:
        deadline = time.monotonic() + 100
        while rank == 1 and not any(map(said.fullmatch, caplog.messages)):
            assert time.monotonic() < deadline, caplog.messages
            time.sleep(0.01)

    run(program, 3)


def test_no_program_is_warned_of_a_deprecation() -> None:
    """As every RPC program is under torch."""

    def program(rank: int) -> None:
        assert rpc.remote((rank + 1) % 2, add, (1, 2)).to_here() == 3
        assert rpc.rpc_sync((rank + 1) % 2, add, (mtd.ones(2), 1)).tolist() == [2.0, 2.0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(program, 2)
