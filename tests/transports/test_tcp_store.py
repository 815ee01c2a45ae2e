"""TCPStore beyond what all stores share: servers, workers, ports, and ends."""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.ports import free_port
from transports.clock import SystemClock
from transports.errors import DistNetworkError, DistStoreError, StoreTimeout
from transports.sockets import endpoints, liveness
from transports.stores import tcp
from transports.stores.store import PrefixStore, Store
from transports.stores.tcp import TCPStore


def master(**options: Any) -> TCPStore:
    return TCPStore("localhost", 0, is_master=True, **options)


def test_a_client_in_another_process() -> None:
    store = master()
    script = (
        "import sys; from transports.stores.tcp import TCPStore\n"
        "store = TCPStore('localhost', int(sys.argv[1]))\n"
        "store.set('answer', store.get('question') + b'!'); store.queue_push('q', 'x')"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(store.port)])
    store.set("question", "ready?")
    assert store.get("answer") == b"ready?!" and store.queue_pop("q") == b"x"
    assert process.wait(60) == 0
    store.close()


def test_a_thread_that_waits_holds_up_no_other_of_the_same_handle() -> None:
    store, got = master(), []
    waiting = [threading.Thread(target=lambda: got.append(store.get("late"))) for _ in range(3)]
    for thread in waiting:
        thread.start()
    store.set("late", "here")
    for thread in waiting:
        thread.join(300)
    assert got == [b"here"] * 3
    store.close()


def test_an_error_of_one_key_ends_nothing() -> None:
    """torch's server drops the client, and every later call of it fails."""
    store = master()
    store.set("text", "abc")
    for _ in range(2):
        with pytest.raises(DistStoreError, match="'text' holds b'abc', which is not a whole num"):
            store.add("text", 1)
    with pytest.raises(DistStoreError, match="no operation 'explode'"):
        store.command("explode", [], [], 1.0)
    with pytest.raises(DistStoreError, match="add with 0 keys"):
        store.command("add", [], [], 1.0)
    assert store.get("text") == b"abc" and store.num_keys() == 1
    store.close()


def test_the_master_waits_for_its_workers() -> None:
    port = free_port()
    made: list[TCPStore] = []

    def join(is_master: bool) -> None:
        made.append(TCPStore("127.0.0.1", port, 3, is_master, timeout=60))

    threads = [threading.Thread(target=join, args=(role,)) for role in (False, True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert len(made) == 3
    with pytest.raises(StoreTimeout, match="3 of 3 have joined this store"):
        made[0].wait(["nothing"], 0)
    for store in sorted(made, key=lambda store: store._server is not None):
        store.close()


def test_workers_that_do_not_come_are_counted() -> None:
    with pytest.raises(DistStoreError, match=r"Timed out after 0\.1 seconds waiting for clients\. 1/2"):
        master(world_size=2, timeout=timedelta(milliseconds=100))


def test_a_port_in_use_is_named_with_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(DistNetworkError, match=rf"cannot listen on localhost:{port}") as caught:
            TCPStore("localhost", port, is_master=True)
    if os.path.isdir("/proc/self/fd"):  # noqa: PTH112 - not a real folder
        caught.match(rf"held by pid {os.getpid()} \(.*python")
    caught.match("MASTER_PORT")


def test_an_unreachable_master_is_named_and_the_timeout_kept() -> None:
    port = free_port()
    with pytest.raises(DistNetworkError, match=rf"localhost:{port} within 0\.2 s"):
        TCPStore("localhost", port, timeout=timedelta(seconds=0.2))
    with pytest.raises(DistNetworkError, match=r"no\.such\.host\.invalid:1 within 0\.2 s"):
        TCPStore("no.such.host.invalid", 1, timeout=timedelta(seconds=0.2))


def test_the_master_leaves_while_others_wait() -> None:
    store = master()
    other, errors = TCPStore("localhost", store.port), list[Exception]()

    def wait() -> None:
        try:
            other.get("never")
        except DistNetworkError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while not store._server._waiting._asked:  # type: ignore[union-attr]
        time.sleep(0.001)
    store.close()
    thread.join(300)
    assert "is gone" in str(errors[0]) and "rank 0" in str(errors[0])
    store.close()
    with pytest.raises(DistStoreError, match="was closed"):
        store.get("k")
    other.close()


def test_a_client_that_is_gone_is_forgotten() -> None:
    store = master()
    clients = [TCPStore("localhost", store.port) for _ in range(5)]
    for client in clients[:4]:
        client.close()
    del clients[:4]
    while len(store._server._clients) != 2:  # type: ignore[union-attr]
        time.sleep(0.001)
    client = clients.pop()
    store.close()
    client.close()


def test_a_handle_that_nobody_closes_leaves_nothing() -> None:
    store = master()
    store.set("k", "v")
    del store
    gc.collect()  # the fixture looks for threads and sockets


def test_masters_of_one_port_may_share_a_server() -> None:
    first = master(multi_tenant=True)
    second = TCPStore("localhost", first.port, is_master=True, multi_tenant=True)
    first.set("k", "v")
    first.close()
    assert second.get("k") == b"v"
    second.close()
    assert tcp._shared == {}


def test_by_name_by_address_and_from_outside() -> None:
    hosts = ["localhost", "127.0.0.1", socket.gethostname()]
    if endpoints_has_ipv6():
        hosts.append("::1")
    for host in hosts:
        store = TCPStore(host, 0, is_master=True)
        store.set("host", host)
        assert TCPStore("127.0.0.1" if host != "::1" else host, store.port).get("host") == host.encode()
        store.close()


def endpoints_has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def test_a_value_that_is_too_long_is_refused_here(monkeypatch: pytest.MonkeyPatch) -> None:
    store = master()
    monkeypatch.setattr("transports.stores.protocol.MAX_MESSAGE", 1000)
    with pytest.raises(DistStoreError, match="too many for a store"):
        store.set("k", bytes(2000))
    store.set("k", bytes(500))
    assert store.get("k") == bytes(500)
    store.close()


def test_big_values_pass() -> None:
    store = master()
    value = os.urandom(5_000_000)
    store.set("k", value)
    assert store.get("k") == value
    store.close()


def test_addresses() -> None:
    assert endpoints.split("tcp://[::1]:29500?a=b") == ("::1", 29500, {"a": "b"})
    assert endpoints.split("tcp://") == ("", 0, {}) and endpoints.split("tcp://h") == ("h", 0, {})
    with pytest.raises(ValueError, match="is no address"):
        endpoints.split("tcp://host:port")
    assert endpoints.shown("::1", 5) == "[::1]:5" and endpoints.shown("h", 5) == "h:5"


def test_a_name_that_leads_to_loopback_is_no_way_to_other_hosts() -> None:
    """Debian gives a host's own name 127.0.1.1; ranks elsewhere could not follow."""
    elsewhere = endpoints.own_address("192.0.2.1")  # loopback where there is no network at all
    assert endpoints.own_address("127.0.1.1") == endpoints.own_address("localhost") == elsewhere


def test_a_network_card_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("network cards are asked for their address in Linux's way")
    monkeypatch.delenv("MINITORCH_DIST_INTERFACE", raising=False)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    assert endpoints.own_address("192.0.2.7") == "127.0.0.1"
    monkeypatch.setenv("MINITORCH_DIST_INTERFACE", "nosuch0")
    with pytest.raises(DistNetworkError, match=r"MINITORCH_DIST_INTERFACE=nosuch0.*there are lo"):
        endpoints.own_address("192.0.2.7")


class Hasty(SystemClock):
    """A clock with which nobody can wait."""

    def sleep(self, seconds: float) -> None:
        raise AssertionError(f"slept {seconds} s")


EACH_COMMAND: list[Callable[[Store], Any]] = [
    lambda store: store.set("k", "v"),
    lambda store: store.get("k"),
    lambda store: store.add("k", 1),
    lambda store: store.wait(["k"], 60),
    lambda store: store.check(["k"]),
    lambda store: store.compare_set("k", "", "v"),
    lambda store: store.delete_key("k"),
    lambda store: store.num_keys(),
    lambda store: store.multi_get(["k"]),
    lambda store: store.queue_push("q", "v"),
    lambda store: store.queue_pop("q"),
    lambda store: store.queue_len("q"),
    lambda store: PrefixStore("p", store).get("k"),
]


def test_a_master_that_is_known_dead_is_not_waited_for() -> None:
    """Each further call fails at once with the first cause; no call sleeps between tries."""
    store = master()
    other = TCPStore("localhost", store.port, timeout=60, clock=Hasty())
    store.close()
    with pytest.raises(DistNetworkError, match="is gone") as first:
        other.get("k")
    for _ in range(2):
        for command in EACH_COMMAND:
            with pytest.raises(DistNetworkError) as again:
                command(other)
            assert str(again.value) == str(first.value)
    other.close()
    with pytest.raises(DistStoreError, match="was closed"):
        other.get("k")


def test_a_master_that_was_started_again_is_another_one() -> None:
    """It has no values of the first, so who used that one is told once and for all."""
    store = master()
    other = TCPStore("localhost", store.port, timeout=60, clock=Hasty())
    store.close()
    with pytest.raises(DistNetworkError, match="is gone"):
        other.get("k")
    second = TCPStore("localhost", store.port, is_master=True)
    second.set("k", "anew")
    with pytest.raises(DistNetworkError, match="is gone"):
        other.get("k")
    second.close()
    other.close()


def test_a_master_that_has_left_is_not_awaited_where_one_more_connection_is_needed() -> None:
    """Other threads use those that there are, and have not heard of its end yet."""
    master = TCPStore("localhost", 0, is_master=True)
    client = TCPStore("localhost", master.port, timeout=300)
    in_use = client._take("get")
    master.close()
    with pytest.raises(DistNetworkError, match="is gone"):
        client.set("k", b"")
    in_use.close()
    client.close()


def test_a_client_gives_up_a_host_that_acknowledges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it may wait for its key. (Two real hosts: tests/distributed/test_cables.py.)"""
    store = master()
    client = TCPStore("localhost", store.port)
    monkeypatch.setattr(liveness, "SLICE", 0.01)
    monkeypatch.setattr(liveness, "is_unheard", lambda connection: True)
    with pytest.raises(DistNetworkError, match="did not answer 'wait': its host has not ack"):
        client.wait(["never"], 3600.0)
    client.close()
    store.close()


def test_the_server_lets_go_of_a_client_whose_host_acknowledges_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness, "SLICE", 0.01)
    store = master()
    client = TCPStore("localhost", store.port)
    is_unheard = liveness.is_unheard
    ours = {end.getsockname() for end in [*store._idle, *client._idle]}
    monkeypatch.setattr(liveness, "is_unheard", lambda end: end.getsockname() not in ours)
    with pytest.raises(DistNetworkError, match="is gone"):
        client.wait(["never"], 3600.0)
    monkeypatch.setattr(liveness, "is_unheard", is_unheard)
    again = TCPStore("localhost", store.port)  # it may come again
    assert again.add("counter", 1) == 1
    again.close()
    client.close()
    store.close()


def test_every_connection_of_a_store_asks_whether_the_other_host_is_there() -> None:
    store = master()
    client = TCPStore("localhost", store.port)
    client.set("key", "value")
    assert store._server is not None
    ends = [*store._idle, *client._idle, *(c.socket for c in store._server._clients.values())]
    assert len(ends) == 4
    for end in ends:
        for name, value in liveness.KEEPALIVE:
            assert end.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == value
    client.close()
    store.close()
