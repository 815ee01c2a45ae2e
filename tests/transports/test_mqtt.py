"""Ranks that meet at a broker: the embedded one and mosquitto."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from tests.transports.brokers import KINDS, Broker
from tests.transports.ends import Desk, Sink
from tests.transports.test_interrupted_calls import pair
from transports import conformance, mqtt
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


def test_who_has_given_the_turn_back_leaves_alone_what_the_next_driver_delivers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The next one begins between a driver's last two lines, and is in the middle of a message by then."""
    monkeypatch.setattr(mqtt, "BATCH", 1)
    with pair("mqtt://") as (ends, desks):
        end, desk = cast(MqttTransport, ends[0]), desks[0]
        is_amid, go_on = threading.Event(), threading.Event()
        next_one = threading.Thread(target=lambda: end.progress(60, lambda: len(desk.whole) == 2), daemon=True)

        def sink(src: int, header: bytes, nbytes: int) -> Sink:
            if threading.current_thread() is next_one:
                is_amid.set()
                go_on.wait(60)
            return Desk.sink(desk, src, header, nbytes)

        class Changed:
            """The transport's condition; the next driver comes first where the turn was just given back."""

            def __init__(self, real: Any) -> None:
                self.real = real

            def __enter__(self) -> Any:
                if not end._driving and end._deliveries == 1 and next_one.ident is None:
                    next_one.start()
                    is_amid.wait(60)
                return self.real.__enter__()

            def __exit__(self, *error: object) -> None:
                self.real.__exit__(*error)

            def __getattr__(self, name: str) -> Any:
                return getattr(self.real, name)

        for word in (b"one", b"two"):
            ends[1].send(0, b"", word)
        table = end._peer_table
        assert table is not None
        with end._changed:
            while len(table.arrived) < 2:
                end._changed.wait(60)
        desk.sink = sink  # type: ignore[method-assign]
        end._changed = cast(Any, Changed(end._changed))
        assert end.progress(60)
        go_on.set()
        next_one.join(60)
        assert is_amid.is_set() and [data for _, data in desk.whole] == [b"one", b"two"]
        assert not desk.lost_ranks
