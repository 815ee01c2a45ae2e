"""torch's workers for tests: messages that fail, come late, and are sent again. In virtual time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.distributed import rpc, world
from minitorch_dist.distributed.rpc import backend_registry
from minitorch_dist.distributed.rpc._testing import FaultyTensorPipeRpcBackendOptions
from tests.rpc.worlds import add, same

RETRIED = ["RREF_FORK_REQUEST", "RREF_CHILD_ACCEPT", "RREF_USER_DELETE"]


def now() -> float:
    return float(world.current().clock.now() / 1e12)


def owned() -> int:
    return int(rpc._rref_context_get_debug_info()["num_owner_rrefs"])


def options(
    fail: list[str], times: int = 1, delay: dict[str, float] | None = None
) -> FaultyTensorPipeRpcBackendOptions:
    return FaultyTensorPipeRpcBackendOptions(4, 60.0, "env://", fail, delay or {}, times)


def run(program: Callable[[int], Any], size: int, given: Any, address: str = "sim://") -> list[Any]:
    def worker() -> Any:
        rank = world.current().rank
        backend = backend_registry.BackendType.FAULTY_TENSORPIPE
        rpc.init_rpc(f"w{rank}", backend, rpc_backend_options=given)
        try:
            return program(rank)
        finally:
            rpc.shutdown()

    return mtd.launch(worker, size, address, timeout=100)


def value_of(rref: Any) -> Any:
    return rref.to_here()


def keep(rref: Any, kept: list[Any] = []) -> None:  # noqa: B006  # it is kept on purpose
    kept[:] = [rref]


def let_go() -> None:
    keep(None)


@pytest.mark.parametrize("times", [1, 3])
def test_a_reference_is_passed_on_and_freed_though_its_messages_fail(times: int) -> None:
    def program(rank: int) -> Any:
        if rank:
            return None
        rref: Any = rpc.remote("w1", add, (1, 2))
        found = rpc.rpc_sync("w2", value_of, (rref,)), rpc.rpc_sync("w1", owned)
        begun = now()
        del rref
        while rpc.rpc_sync("w1", owned):
            world.current().clock.sleep(0.1)
        return *found, now() - begun

    value, count, seconds = run(program, 3, options(RETRIED, times))[0]
    # w2 enters its fork, then tells its parent, then gives it back; then w0's is given back
    wait = sum(1.5**retry for retry in range(times))
    assert (value, count) == (3, 1)
    assert 2 * wait < seconds < 4 * wait + 1


def test_a_fork_that_is_entered_late_is_no_leak(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Workers shut down while the owner has not heard of a fork: it hears of the fork's end first."""
    monkeypatch.setattr(rpc.api, "_ignore_rref_leak", False)

    def program(rank: int) -> None:
        if rank == 0:
            rpc.rpc_sync("w2", keep, (rpc.remote("w1", add, (1, 2)),))
        if rank == 1:
            world.current().clock.sleep(0.5)

    run(program, 3, options(["RREF_FORK_REQUEST", "RREF_USER_DELETE"], 1))
    assert "leaked" not in caplog.text


def test_a_deletion_that_fails_for_good_is_a_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc.api, "_ignore_rref_leak", False)

    def program(rank: int) -> None:
        if rank == 0:
            rpc.remote("w1", same, ([7],)).to_here()

    with pytest.raises(RuntimeError, match=r"Leaking RRefs: .*list, held by w0"):
        run(program, 2, options(["RREF_USER_DELETE"], 100))
    monkeypatch.setattr(rpc.api, "_ignore_rref_leak", True)
    run(program, 2, options(["RREF_USER_DELETE"], 100))


def test_a_call_fails_so_often_and_is_then_made() -> None:
    def program(rank: int) -> Any:
        if rank:
            return None
        for _ in range(2):
            with pytest.raises(rpc.RpcTimeout, match="failed intentionally for add on 'w1'"):
                rpc.rpc_sync("w1", add, (1, 2))
        with pytest.raises(RuntimeError, match="failed intentionally"):
            rpc.rpc_async("w1", add, (5, 2)).wait()
        return rpc.rpc_sync("w1", add, (1, 2)), rpc.rpc_sync("w1", mtd.add, (mtd.ones(2), 1))

    assert run(program, 2, options(["PYTHON_CALL"], 2))[0][0] == 3


def test_an_object_of_ones_own_that_is_not_made() -> None:
    def program(rank: int) -> None:
        rref = rpc.remote(rank, add, (1, 2))
        with pytest.raises(RuntimeError, match="RRef creation"):
            rref.to_here()
        assert rpc.remote(rank, mtd.add, (mtd.ones(2), 1)).to_here().tolist() == [2, 2]

    run(program, 2, options(["PYTHON_REMOTE_CALL"]))


def test_a_creation_that_comes_late_and_is_made_all_the_same() -> None:
    def program(rank: int) -> None:
        if rank == 0:
            rref: Any = rpc.remote("w1", add, (1, 2), timeout=0.5)
            with pytest.raises(RuntimeError, match="RPC ran for more than"):
                rref._get_future().wait()
            for use in (
                rref.to_here,
                rref.rpc_sync().bit_length,
                lambda: rpc.rpc_sync("w2", value_of, (rref,)),
            ):
                with pytest.raises(RuntimeError, match="RRef creation"):
                    use()
            world.current().clock.sleep(2)
            assert rpc.rpc_sync("w1", owned) == 1  # made, and held by us

    run(program, 3, options([], 0, {"PYTHON_REMOTE_CALL": 1.5}))


def test_a_call_is_late_by_its_delay_and_says_what_it_was_told() -> None:
    def program(rank: int) -> Any:
        if rank:
            return None
        begun, x = now(), mtd.zeros(20_000)
        future = rpc.rpc_async("w1", same, (x,))
        x += 1  # it was read already
        at_once = now() - begun
        rpc.rpc_sync("w1", mtd.add, (1.0, mtd.ones(1)))
        in_between = now() - begun
        return at_once, in_between, float(future.wait().sum()), now() - begun

    at_once, in_between, total, seconds = run(program, 2, options([], 0, {"PYTHON_CALL": 1.5}))[0]
    assert at_once < 0.1 and in_between < 1 and total == 0 and 1.5 <= seconds < 2


def test_a_call_in_a_context_of_autograd_is_of_another_kind() -> None:
    def program(rank: int) -> None:
        if rank == 0:
            with mtd.distributed.autograd.context():
                assert rpc.rpc_sync("w1", add, (1, 2)) == 3

    run(program, 2, options(["PYTHON_CALL", "CLEANUP_AUTOGRAD_CONTEXT_REQ"], 1))


def test_what_is_no_option() -> None:
    given = rpc.TensorPipeRpcBackendOptions()
    with pytest.raises(TypeError, match="must be a `FaultyTensorPipeRpcBackendOptions`"):
        run(lambda rank: None, 1, given)
    with pytest.raises(RuntimeError, match="No mapping to rpc::MessageType exists for NONSENSE"):
        run(lambda rank: None, 1, options(["NONSENSE"]))
    with pytest.raises(TypeError):
        FaultyTensorPipeRpcBackendOptions(4)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="must be a member of BackendType"):
        rpc.init_rpc("w0", "TENSORPIPE")


def test_the_list_of_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_registry, "BackendType", backend_registry.BackendType)
    assert backend_registry.backend_registered("FAULTY_TENSORPIPE")
    assert not backend_registry.backend_registered("MINE")
    with pytest.raises(RuntimeError, match="RPC backend TENSORPIPE: already registered"):
        backend_registry.register_backend("TENSORPIPE", dict, dict)  # type: ignore[arg-type]
    made: list[Any] = []
    mine = backend_registry.register_backend(
        "MINE", lambda *args, **more: (args, more), lambda **more: made.append(more)  # type: ignore[arg-type]
    )  # fmt: skip
    assert repr(mine) == "BackendType.MINE" and mine in backend_registry.BackendType
    assert backend_registry.construct_rpc_backend_options(mine, 3, more=1) == (
        (3, "env://"),
        {"more": 1},
    )
    backend_registry.init_backend(mine, name="me")
    assert made == [{"name": "me"}]
