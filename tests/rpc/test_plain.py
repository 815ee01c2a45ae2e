"""The plain remote call returns and raises what `rpc_sync` does."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.distributed import rpc
from minitorch_dist.distributed.rpc.plain import PlainAgent
from minitorch_dist.launching import launch


def add(a: Any, b: Any = 1) -> Any:
    return a + b


def fail(text: str) -> None:
    raise KeyError(text)


def where() -> int:
    return dist.get_rank()


CALLS: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (add, (2, 3), {}),
    (add, ("a",), {"b": "b"}),
    (add, ([1], [2]), {}),
    (fail, ("missing",), {}),
    (fail, (), {}),
    (where, (), {}),
    (add, (torch.arange(3.0), torch.tensor([0.5])), {}),
]


def told(call: Any) -> str:
    try:
        return repr(call())
    except Exception as error:
        return f"{type(error).__name__}: {error.args[:1]}"


def plain() -> list[str]:
    agent, size, rank = PlainAgent(), dist.get_world_size(), dist.get_rank()
    to = (rank + 1) % size
    found = [told(lambda call=call: agent.rpc_sync(to, *call)) for call in CALLS]
    agent.shutdown()
    return found


def fast() -> list[str]:
    rank, size = dist.get_rank(), dist.get_world_size()
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    to = f"worker{(rank + 1) % size}"
    found = [
        told(lambda call=call: rpc.rpc_sync(to, call[0], args=call[1], kwargs=call[2])) for call in CALLS
    ]
    rpc.shutdown()
    return found


@pytest.mark.parametrize("address", ["sim://", "queue://"])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_it_returns_and_raises_what_rpc_sync_does(size: int, address: str) -> None:
    assert launch(plain, size, address) == launch(fast, size, address)


_agents: dict[int, PlainAgent] = {}


def circle(rounds: int, size: int) -> int:
    """Calls the next rank, which calls the one after it."""
    rank = dist.get_rank()
    if rounds == 0:
        return rank
    return 10 * _agents[rank].rpc_sync((rank + 1) % size, circle, (rounds - 1, size)) + rank


def circles(rounds: int) -> int:
    rank, size = dist.get_rank(), dist.get_world_size()
    _agents[rank] = PlainAgent()
    found = circle(rounds, size)
    _agents[rank].shutdown()
    return found


@pytest.mark.parametrize("size", [2, 3, 5])
def test_calls_go_in_circles_and_all_ranks_call_at_the_same_time(size: int) -> None:
    rounds = 4
    expected = [sum(10**n * ((rank + n) % size) for n in range(rounds + 1)) for rank in range(size)]
    assert launch(circles, size, "sim://", (rounds,)) == expected
