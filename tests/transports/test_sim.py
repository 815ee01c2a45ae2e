"""The simulated network: it keeps the contract, and its times are those of the textbook, exactly."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from math import ceil, log2
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.sim.nodes import SimulatedNode, SimulationOutcome, run
from transports import conformance, registry
from transports.clock import PICO
from transports.errors import ConnectError, Deadlock, PeerLost
from transports.queue import QueueTransport
from transports.sim import SimTransport
from transports.simulation import each_rank
from transports.stores.store import HashStore
from transports.virtual import deadlock, medium
from transports.virtual.clock import VirtualClock
from transports.virtual.network import Network
from transports.virtual.topology import Link, Topology, link, matrix, two_level, uniform

ALPHA, BETA = 5_000_000, 80  # 5 µs, 100 Gb/s
NET = uniform(ALPHA, BETA)
WORLDS = [*range(1, 34), 64]


def wire(nbytes: int) -> int:
    return ALPHA + BETA * nbytes


# ------------------------------------------------------------------------------------ the contract


@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(
    "network",
    [Network(), Network(eager=1000), Network(window=100_000), Network(NET, 0, 1), "shuffled"],
    ids=["eager", "rendezvous", "window", "all meet", "shuffled"],
)
def test_it_keeps_the_contract(world_size: int, network: Network | str) -> None:
    clock = VirtualClock(seed=world_size if network == "shuffled" else None)
    medium.attach(clock, network if isinstance(network, Network) else Network())
    launch = conformance.in_threads(lambda r, n, _: SimTransport(r, n, clock=clock), clock)
    conformance.check(launch, [world_size])


@pytest.mark.parametrize("world_size", [1, 3, 5])
def test_the_queue_transport_runs_in_virtual_time_too(world_size: int) -> None:
    clock = VirtualClock()
    launch = conformance.in_threads(lambda r, n, _: QueueTransport(r, n, clock=clock), clock)
    conformance.check(launch, [world_size])


# ------------------------------------------------------------------------------- the closed forms


def ping_pong(node: SimulatedNode, turns: int, nbytes: int) -> None:
    peer = 1 - node.rank
    for _ in range(turns):
        if node.rank == 0:
            node.send(peer, bytes(nbytes))
        node.receive(peer)
        if node.rank == 1:
            node.send(peer, bytes(nbytes))


def chain(node: SimulatedNode, parts: int, nbytes: int) -> None:
    """Broadcast along a chain, in parts."""
    for _ in range(parts):
        part = node.receive(node.rank - 1) if node.rank else bytes(nbytes)
        if node.rank + 1 < node.world_size:
            node.send(node.rank + 1, part)


def fan_in(node: SimulatedNode, nbytes: int) -> None:
    if node.rank:
        node.send(0, bytes(nbytes))
    else:
        for src in range(1, node.world_size):
            node.receive(src)


def ring(node: SimulatedNode, steps: int, nbytes: int) -> None:
    for _ in range(steps):
        node.exchange((node.rank + 1) % node.world_size, bytes(nbytes), (node.rank - 1) % node.world_size)


def doubling(node: SimulatedNode, nbytes: int, gamma: int = 0) -> None:
    """Recursive doubling; ranks beyond a power of two are folded in before and out after."""
    rank, core = node.rank, 1 << (node.world_size.bit_length() - 1)
    extra = node.world_size - core
    if rank < 2 * extra and rank % 2:
        node.send(rank - 1, bytes(nbytes))
        node.receive(rank - 1)
        return
    if rank < 2 * extra:
        node.receive(rank + 1)
        node.compute(gamma)
    number = rank // 2 if rank < 2 * extra else rank - extra
    for bit in range(core.bit_length() - 1):
        other = number ^ 1 << bit
        peer = 2 * other if other < extra else other + extra
        node.exchange(peer, bytes(nbytes), peer)
        node.compute(gamma)
    if rank < 2 * extra:
        node.send(rank + 1, bytes(nbytes))


def binomial(node: SimulatedNode, nbytes: int) -> None:
    """Broadcast from rank 0: in round k the ranks below 2^k send to those below 2^(k+1)."""
    have = node.rank == 0
    for k in range((node.world_size - 1).bit_length()):
        if have and node.rank + (1 << k) < node.world_size:
            node.send(node.rank + (1 << k), bytes(nbytes))
        elif not have and node.rank < 2 << k:
            node.receive(node.rank - (1 << k))
            have = True


def binomial_reduce(node: SimulatedNode, nbytes: int, gamma: int) -> None:
    for k in range((node.world_size - 1).bit_length()):
        if node.rank >> k & 1:
            return node.send(node.rank - (1 << k), bytes(nbytes))
        if node.rank + (1 << k) < node.world_size:
            node.receive(node.rank + (1 << k))
            node.compute(gamma)
    return None


def dissemination(node: SimulatedNode) -> None:
    for k in range((node.world_size - 1).bit_length()):
        node.exchange((node.rank + (1 << k)) % node.world_size, b"", (node.rank - (1 << k)) % node.world_size)


def pairwise(node: SimulatedNode, nbytes: int) -> None:
    for step in range(1, node.world_size):
        node.exchange((node.rank + step) % node.world_size, bytes(nbytes), (node.rank - step) % node.world_size)


def bruck(node: SimulatedNode, nbytes: int) -> None:
    have = 1
    while have < node.world_size:
        blocks = min(have, node.world_size - have)
        node.exchange(
            (node.rank - have) % node.world_size, bytes(blocks * nbytes), (node.rank + have) % node.world_size
        )
        have += blocks


def play(
    program: Callable[..., Any], size: int, *arguments: Any, network: Any = NET, **how: Any
) -> SimulationOutcome[Any]:
    return run(lambda node: program(node, *arguments), size, network, **how)


def test_two_ranks_and_a_ball() -> None:
    outcome = play(ping_pong, 2, 7, 1000)
    assert outcome.time == 14 * wire(1000)
    assert [(r.messages_sent, r.bytes_sent, r.bytes_received) for r in outcome.ranks] == [(7, 7000, 7000)] * 2
    assert [r.idle for r in outcome.ranks] == [14 * wire(1000), 13 * wire(1000)]
    assert repr(outcome) == "<Outcome of 2 ranks: 71.12 µs, 14 messages>"


@pytest.mark.parametrize("size", WORLDS)
def test_the_textbook_is_right_to_the_picosecond(size: int) -> None:
    """simulator.md §2.1: α and nβ of each, and how many messages there are."""
    rounds, core = ceil(log2(size)), 1 << (size.bit_length() - 1)
    folds = 2 if size > core else 0
    expected = [
        (play(ring, size, 2 * (size - 1), 10), 2 * (size - 1) * wire(10) if size > 1 else 0, None),
        (play(fan_in, size, 99), (size - 1) * wire(99), size - 1),
        (
            play(doubling, size, 64),
            (core.bit_length() - 1 + folds) * wire(64) if size > 1 else 0,
            core * (core.bit_length() - 1) + 2 * (size - core),
        ),
        (play(binomial, size, 70), rounds * wire(70), size - 1),
        (play(binomial_reduce, size, 70, 0), rounds * wire(70), size - 1),
        (play(dissemination, size), rounds * ALPHA, size * rounds),
        (play(pairwise, size, 30), (size - 1) * wire(30), size * (size - 1)),
        (play(bruck, size, 30), rounds * ALPHA + (size - 1) * 30 * BETA, size * rounds),
    ]
    for parts in (1, 2, 5):
        time = (size - 2 + parts) * wire(40) if size > 1 else 0
        expected.append((play(chain, size, parts, 40), time, parts * (size - 1)))
    for outcome, time, messages in expected:
        assert outcome.time == time
        assert messages is None or outcome.messages == messages


@pytest.mark.parametrize("size", [2, 3, 5, 6, 7, 8, 11, 13, 16, 23])
def test_reductions_cost_what_they_cost_when_sends_meet_their_receivers(size: int) -> None:
    """simulator.md §2.3, trap 3: eager sends overlap with reductions, and are faster than the book."""
    gamma, meet = 3_000_000, Network(NET, eager=0)
    core = 1 << (size.bit_length() - 1)
    levels, folds = core.bit_length() - 1, 2 if size > core else 0
    book = (levels + folds) * wire(64) + (levels + folds // 2) * gamma
    assert play(doubling, size, 64, gamma, network=meet).time == book
    assert play(doubling, size, 64, gamma).time <= book
    book = ceil(log2(size)) * (wire(64) + gamma)
    assert play(binomial_reduce, size, 64, gamma, network=meet).time == book
    assert play(binomial_reduce, size, 64, gamma).time <= book


def test_latency_on_the_wire_is_paid_once_by_an_incast() -> None:
    """LogGP: gap and wire apart (trap 2)."""
    loggp = uniform(0, BETA, wire=ALPHA)
    assert play(fan_in, 9, 1000, network=loggp).time == ALPHA + 8 * 1000 * BETA
    assert play(chain, 9, 1, 1000, network=loggp).time == 8 * wire(1000)


# ------------------------------------------------------------------------------ links of all kinds


def test_fast_links_within_a_node_and_slow_ones_between() -> None:
    fast, slow = link("2us", "150GB/s"), link("5us", "100Gb/s")
    assert (fast.time(3), fast.per_byte, slow.time(100)) == (2_000_020, Fraction(20, 3), 5_008_000)
    net = two_level(nodes=3, gpus=2, intra=fast, inter=slow)
    times = [[net.route(a, b).link.time(600) for b in range(6)] for a in range(6)]
    assert times[2] == [slow.time(600)] * 2 + [fast.time(600)] * 2 + [slow.time(600)] * 2
    assert play(ring, 6, 4, 600, network=net).time == 4 * slow.time(600)

    def across(node: SimulatedNode) -> None:  # everybody with the same place on the next node
        node.exchange((node.rank + 2) % 6, bytes(600), (node.rank - 2) % 6)

    shared = two_level(3, 2, fast, slow, nic="per_node")
    assert play(across, 6, network=net).time == slow.time(600)
    assert play(across, 6, network=shared).time == 2 * slow.time(600)
    with pytest.raises(ValueError, match="rank 6 has no place: a network of 3 nodes with 2 ranks each holds 6"):
        play(ring, 7, 1, 1, network=net)
    with pytest.raises(ValueError, match="not 'shared'"):
        two_level(3, 2, fast, slow, nic="shared")


def test_every_pair_as_you_say() -> None:
    rows = [[Link(1000 * (a + 1), b) for b in range(3)] for a in range(3)]
    assert play(chain, 3, 1, 10, network=matrix(rows)).time == 1000 + 10 + 2000 + 20
    with pytest.raises(ValueError, match="row 1 has 2 links, but there are 3 ranks"):
        matrix([rows[0], rows[1][:2], rows[2]])


def test_networks_by_address() -> None:
    assert Network.parse("sim://") == Network()
    net = Network.parse("sim://?latency=2us&rate=80Gb/s&wire=1ns&eager=64KB&window=1MiB&detection=2ms")
    assert net == Network(uniform("2us", 100, 1000), 64_000, 1 << 20, 2 * 10**9)
    assert run(lambda node: chain(node, 1, 10), 2, "sim://?latency=7ps&rate=8Tb/s").time == 17
    for address, error in {
        "sim://?speed=1": "no 'speed'; there are latency, rate, wire, eager, window, detection",
        "sim://?latency=2": "not a span of time",
        "sim://?rate=2us": "not a rate",
        "sim://?eager=x": "number",
        "sim://?rate=0Gb/s": "not a rate",
        "sim://?eager=3QB": "'Q' is none of k, K, M",
    }.items():
        with pytest.raises(ValueError, match=error):
            Network.parse(address)
    for bad in (-1, "-1us"):
        with pytest.raises(ValueError):
            link(bad, 1)
    assert registry.find("sim://") is SimTransport
    with pytest.raises(ValueError, match="needs virtual time"):
        SimTransport(0, 1)


# ---------------------------------------------------------------------------------- what must hold


def talk(node: SimulatedNode, seed: int, turns: int) -> bytes:
    """Everybody sends to everybody, as much and as late as the seed says; then all is read."""
    got = b""
    for turn in range(turns):
        node.compute(conformance.bench.draw(10_000_000, seed, node.rank, turn))
        for dst in range(node.world_size):
            node.send(dst, bytes([conformance.bench.draw(256, seed, node.rank, dst, turn)]) * (turn + node.rank))
        for src in range(node.world_size):
            got += node.receive(src)
    return got


NETWORKS: list[Network | Topology] = [
    NET,
    Network(NET, eager=2),
    Network(NET, window=3),
    two_level(3, 3, link("1us", "80GB/s"), link("9us", "10Gb/s"), nic="per_node"),
]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("seed", [None, 3])
def test_the_same_program_twice_is_the_same_twice(network: Any, seed: int | None) -> None:
    first, second = (play(talk, 5, 1, 4, network=network, seed=seed) for _ in range(2))
    assert first == second and len(first.digest) == 32
    assert play(talk, 5, 1, 4, network=network, seed=4).results == first.results
    assert play(talk, 5, 2, 4, network=network, seed=seed).digest != first.digest


@pytest.mark.parametrize("network", NETWORKS[:3])
def test_a_silent_rank_changes_nothing(network: Any) -> None:
    def silent_last(node: SimulatedNode) -> None:
        if node.rank < 4:
            node.world_size = 4
            talk(node, 7, 3)

    alone, beside = play(talk, 4, 7, 3, network=network), run(silent_last, 5, network)
    assert (beside.time, beside.digest) == (alone.time, alone.digest)
    assert beside.ranks[:4] == alone.ranks and beside.ranks[4].messages_sent == 0


@pytest.mark.slow
@given(st.integers(2, 8), *[st.integers(0, 10**7)] * 2, *[st.integers(0, 10**4)] * 2, *[st.integers(0, 1000)] * 2)
def test_time_grows_with_latency_and_size(
    size: int, alpha: int, more: int, beta: int, dearer: int, nbytes: int, longer: int
) -> None:
    for program, rest in ((doubling, ()), (fan_in, ()), (ring, (3,)), (chain, (3,)), (pairwise, ())):
        times = [
            play(program, size, *rest, n, network=uniform(a, b)).time
            for a, b, n in [
                (alpha, beta, nbytes),
                (alpha + more, beta, nbytes),
                (alpha, beta + dearer, nbytes),
                (alpha, beta, nbytes + longer),
            ]
        ]
        assert times[0] <= min(times[1:])


def test_what_a_rank_sends_itself_costs_nothing() -> None:
    def program(node: SimulatedNode) -> bytes:
        node.send(node.rank, b"me")
        return node.receive(node.rank)

    outcome = run(program, 3)
    assert outcome.results == [b"me"] * 3 and outcome.time == outcome.messages == 0


def test_a_message_that_is_there_costs_no_switch() -> None:
    def program(node: SimulatedNode) -> None:
        if node.rank == 0:
            for _ in range(1000):
                node.send(1, b"x")
        else:
            node.compute(PICO)
            for _ in range(1000):
                node.receive(0)

    assert run(program, 2).switches < 12


def test_timeouts_fire_at_their_instant_and_cost_nothing() -> None:
    def program(node: SimulatedNode) -> int:
        with pytest.raises(TimeoutError, match=r"waited 1800.25 s for a message from rank 0"):
            node.receive(0, timeout=1800.25)
        return node.now()

    assert run(program, 1).results == [1800_250_000_000_000]


def test_a_send_loses_its_patience() -> None:
    def program(node: SimulatedNode) -> Any:
        if node.rank:
            return node.compute(100 * PICO)
        node.transport.patience = 1.5
        with pytest.raises(PeerLost, match=r"rank 1 is lost: it took nothing for 1.5 s"):
            node.send(1, bytes(10))
        with pytest.raises(PeerLost):
            node.send(1, b"")
        return node.now()

    assert run(program, 2, Network(eager=5)).results[0] == 1_500_000_000_000


def test_a_window_makes_sends_wait() -> None:
    def program(node: SimulatedNode) -> int:
        if node.rank == 0:
            for _ in range(4):
                node.send(1, bytes(100))
        sent = node.now()
        for _ in range(4 * node.rank):
            node.receive(0)
        return sent

    assert run(program, 2, Network(NET, window=200)).results[0] == 2 * wire(100)
    assert run(program, 2, Network(NET, window=1)).results[0] == 3 * wire(100)
    assert run(program, 2, Network(NET)).results[0] == 0


# -------------------------------------------------------------------------------------- bad endings


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("network", [Network(), Network(eager=0)])
def test_a_circle_of_waiting_ranks(size: int, network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlock, "INSIDE", (*deadlock.INSIDE, "tests"))
    monkeypatch.setitem(globals(), "PROGRAM", True)  # this file is the user's, and `nodes` is not

    def program(node: SimulatedNode) -> None:
        node.compute(1_204_000_000)
        node.receive((node.rank + 1) % size)

    with pytest.raises(Deadlock) as caught:
        run(program, size, network)
    place = program.__code__.co_firstlineno + 2
    circle = " → ".join(map(str, [*range(size), 0]))
    ranks = "ranks 0, 1" if size == 2 else f"ranks 0-{size - 1}"
    first, *lines, last = str(caught.value).splitlines()
    assert first.startswith(f"deadlock at 1.204 ms: {ranks} of {size} wait, and nothing is under way")
    assert lines == [
        f"  rank {rank} waits for rank {(rank + 1) % size} in receive, at test_sim.py:{place}" for rank in range(size)
    ]
    assert last.startswith(f"In a circle each rank waits for the next: {circle}. One of them has to")


def test_a_deadlock_of_helpers() -> None:
    def program(node: SimulatedNode) -> None:
        if node.rank < 2:
            worker = node.clock.start(partial(node.receive, 1 - node.rank), "worker")
            worker.join()

    net = Network(detection=10**30)
    with pytest.raises(Deadlock) as caught, unhandled_errors_are_dropped():
        run(program, 3, net)
    words = str(caught.value)
    assert "rank 0 waits for the end of 'worker', at test_sim.py" in words
    assert "rank 1, thread 'worker', waits for rank 0 in receive" in words
    assert "rank 2 is finished, since 0 ps" in words and "0 → 1 → 0" in words


@contextmanager
def unhandled_errors_are_dropped() -> Iterator[None]:
    """Those of helpers, which threading else reports."""
    before, threading.excepthook = threading.excepthook, lambda arguments: None
    try:
        yield
    finally:
        threading.excepthook = before


def test_a_rank_that_fails_is_lost_to_the_others() -> None:
    def program(node: SimulatedNode) -> None:
        if node.rank == 2:
            node.send(0, b"last words")
            raise ZeroDivisionError("here")
        if node.rank == 0:
            assert node.receive(2) == b"last words"
        node.receive(2)

    with pytest.raises(ZeroDivisionError) as caught:
        run(program, 4)
    assert caught.value.__notes__[0] == "raised by rank 2 of 4 in a simulation"
    assert "PeerLost: rank 2 is lost: it closed its transport" in caught.value.__notes__[1]


def test_a_rank_that_dies_is_noticed_after_a_while() -> None:
    clock = VirtualClock()
    store = HashStore(clock)

    def program(rank: int) -> Any:
        transport = SimTransport(rank, 2, clock=clock)
        tray = conformance.bench.Tray(lambda n: False)
        transport.connect(store, tray)
        if rank == 0:
            return transport.send(1, b"", bytes(1000))
        transport.progress(None, lambda: bool(tray.lost_ranks))
        with pytest.raises(PeerLost, match="rank 0 is lost: its thread ended without close"):
            transport.send(0, b"", b"")
        return clock.now(), tray.count(0)

    assert each_rank(clock, 2, program)[0][1] == (PICO, 1)


def test_worlds_that_do_not_fit() -> None:
    def connect(*sizes: int, ranks: tuple[int, ...] = (0, 1)) -> None:
        clock = VirtualClock()
        store = HashStore(clock)

        def program(rank: int) -> None:
            transport = SimTransport(ranks[rank], sizes[rank], clock=clock)
            transport.connect(store, conformance.bench.Tray(lambda n: False), 5)

        each_rank(clock, 2, program)

    with pytest.raises(ConnectError, match="rank 1 expects a world of 3, but others one of 2"):
        connect(2, 3)
    with pytest.raises(ConnectError, match="rank 0 is taken"):
        connect(2, 2, ranks=(0, 0))
    with pytest.raises(ConnectError, match=r"waited 5.0 s over sim for ranks 2 of a world of 3"):
        connect(3, 3)


# ------------------------------------------------------------------------------------------- scale


def test_nothing_stays_in_memory() -> None:
    clocks = []
    run(lambda node: clocks.append(weakref.ref(node.clock)), 2)
    gc.collect()
    assert clocks[0]() is None


@pytest.mark.slow
def test_a_thousand_ranks_exchange_in_seconds() -> None:
    outcome = play(ring, 1000, 3, 8)
    assert outcome.time == 3 * wire(8) and outcome.messages == 3000
    assert play(doubling, 1024, 8).time == 10 * wire(8)


@pytest.mark.slow
def test_many_timeouts_are_no_deadlock_while_something_is_to_come() -> None:
    def program(node: SimulatedNode) -> int:
        if node.rank == 0:
            node.compute(120 * 10**12)
            node.send(1, b"at last")
            return 0
        for turn in range(200_000):
            try:
                node.receive(0, timeout=1e-3)
            except TimeoutError:
                continue
            return turn
        return -1

    assert run(program, 2).results[1] > 100_000
