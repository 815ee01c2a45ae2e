"""Ranks that meet at a broker: the embedded one and mosquitto."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.transports.brokers import KINDS, Broker
from transports import conformance
from transports.conformance.bench import Tray
from transports.errors import ConnectError
from transports.mqtt import MqttTransport
from transports.stores.store import HashStore

ALIVE = [name for name in conformance.CHECKS if not name.startswith("death")]
DEADLY = [name for name in conformance.CHECKS if name.startswith("death")]


@pytest.fixture(scope="module", params=KINDS)
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    made = Broker(request.param)
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def address(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "broker" in request.fixturenames:
        monkeypatch.setenv("TEST_BROKER", request.getfixturevalue("broker").address)


def make(rank: int, world_size: int, folder: str) -> MqttTransport:
    return MqttTransport(rank, world_size, os.environ["TEST_BROKER"])


@pytest.mark.slow
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_it_keeps_the_contract_between_threads(broker: Broker, world_size: int) -> None:
    """All but death: where a thread ends, its process and so its connection live on."""
    conformance.check(conformance.in_threads(make), [world_size], only=ALIVE)


@pytest.mark.slow
@pytest.mark.parametrize("world_size", [2, 3])
def test_it_keeps_the_contract_between_processes(broker: Broker, world_size: int) -> None:
    """Death included: within the 12 s that are promised."""
    launch = conformance.in_processes(make)
    conformance.check(launch, [world_size], only=["sizes", *DEADLY], patience=12)


def test_what_others_could_read_is_told() -> None:
    transport = MqttTransport(0, 1, "mqtt://192.0.2.1")  # nobody's address
    with (
        pytest.warns(RuntimeWarning, match=r"192.0.2.1:1883 is not encrypted.*add \?tls=1"),
        pytest.raises(ConnectError),
    ):
        transport.connect(HashStore(), Tray(lambda n: True), 0.1)
    transport.close()
