"""Whole worlds at a broker: found through it, computing through it, and losing a rank."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist.launching import launch
from tests.distributed.test_bootstrap import exchange, expected, in_threads
from tests.transports.brokers import KEY, KINDS, Broker
from transports import conformance, keys
from transports.conformance import End
from transports.mqtt import MqttTransport

pytestmark = pytest.mark.slow


@pytest.fixture(params=KINDS)
def broker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    monkeypatch.setenv(keys.VARIABLE, KEY)
    made = Broker(request.param)
    yield made
    made.stop()


def sum_up() -> list[float]:
    rank = dist.get_rank()
    x = torch.arange(200_003, dtype=torch.float32) * (rank + 1)
    dist.all_reduce(x)
    dist.barrier()
    return [float(x[1].item()), float(x[200_002].item())]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_sum(broker: Broker, size: int) -> None:
    whole = size * (size + 1) / 2
    assert launch(sum_up, size, broker.address) == [[whole, whole * 200_002]] * size


def test_a_sum_with_the_broker_that_the_library_brings() -> None:
    assert launch(sum_up, 3, "mqtt://") == [[6.0, 6.0 * 200_002]] * 3


@pytest.mark.parametrize("size", [1, 2, 3])
def test_only_a_broker_is_needed(broker: Broker, size: int) -> None:
    """It is the meeting place and the wire; and the world can end and begin again."""

    def one(rank: int) -> list[list[int]]:
        found = []
        for _ in range(2):
            address = f"{broker.address}/job?broker_timeout=20"
            dist.init_process_group("mqtt", address, world_size=size, rank=rank)
            found.append(exchange())
            dist.barrier()
            dist.destroy_process_group()
        return found

    results = in_threads([lambda r=r: one(r) for r in range(size)])  # type: ignore[misc]
    assert results == [[row, row] for row in expected(size)]


class Killed:
    """Rank 1 is killed within an all_reduce; what the others are told, and after how long."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, end: End) -> str:
        dist.init_process_group(self.address, store=end.store, rank=end.rank, world_size=end.world_size)
        dist.all_reduce(torch.ones(3))
        end.store.set(f"came/{end.rank}", "")
        if end.rank == 1:  # what it has not yet written when it dies is lost with it
            end.store.wait(["came/0", "came/2"])
            end.die()
        try:
            dist.all_reduce(torch.ones(1_000_000))
        except dist.PeerLost as lost:
            return f"{lost}"
        finally:
            dist.destroy_process_group()
        return "nothing"


def test_a_rank_that_is_killed(broker: Broker) -> None:
    """It is told that the rank is lost. About 3 s pass before, for the last will and time to come back."""
    results = conformance.in_processes(MqttTransport)(3, Killed(broker.address))
    assert results[1] is None
    for text in (results[0], results[2]):
        assert "rank 1" in text and "all_reduce" in text, text
