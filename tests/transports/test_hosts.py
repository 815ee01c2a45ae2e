"""Ranks on several hosts: namespaces of this machine, with cables between them."""

from __future__ import annotations

import pytest

from tests.transports import hosts
from transports import conformance
from transports.conformance.bench import End, Tray

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def possible() -> None:
    if reason := hosts.why_not():
        pytest.skip(reason)


def test_tcp_keeps_the_contract_between_hosts() -> None:
    with hosts.Hosts(2) as pair:
        conformance.check(pair.launch, [2, 3])


def where_from(end: End) -> str:
    transport = end.make()
    transport.connect(end.store, Tray(lambda n: True), 60)
    end.store.barrier("connected", end.world_size)
    transport.close()
    return transport.host  # type: ignore[attr-defined, no-any-return]


def test_each_rank_listens_where_the_others_reach_it() -> None:
    with hosts.Hosts(2) as pair:
        shown = pair.launch(3, where_from)
    assert shown == [f"10.99.0.{n}" for n in (1, 2, 1)]


def test_with_delay_and_loss() -> None:
    with hosts.Hosts(2) as pair:
        try:
            pair.disturb("delay", "3ms", "loss", "1%")
        except hosts.subprocess.CalledProcessError as error:
            pytest.skip(f"this kernel cannot disturb a network: {error.stderr}")
        conformance.check(pair.launch, [2], only=["sizes", "interleaved", "farewell"])


def wait_for_the_end(end: End) -> str:
    transport, tray = end.make(), Tray(lambda n: True)
    transport.connect(end.store, tray, 60)
    end.store.barrier("connected", 3)
    if end.rank == 0:
        print("connected", flush=True)
    deadline = transport.clock.deadline(90)
    while 1 not in tray.lost_ranks and not deadline.is_over():
        if end.rank == 2 and deadline.elapsed() < 3:
            transport.send(1, b"", b"are you there?")  # rank 0 only listens
        transport.progress(0.2)
    transport.close()
    return f"{tray.lost_ranks} {transport._links[1].lost}"


def test_a_host_whose_cable_is_pulled_is_lost() -> None:
    with hosts.Hosts(2) as pair:
        said = pair.launch(3, wait_for_the_end, pull=1)
    assert "rank 1 is lost" in said[0] and "rank 1 is lost: its host" in said[2], said
    assert said[1] is None
