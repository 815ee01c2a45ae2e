"""The same events as ever: what is made faster may not change what happens.

Each line is a hash over digest, times, switches, counters and results of a set of runs. They were taken
before the path of a message was made shorter, and change only if what happens changes: a schedule, the
model of the network, the order in which ranks wake. Who means to change that writes down the new ones:

    python -m tests.sim.test_same_events
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import schedules
from minitorch_dist.sim.fast.batched_engine import TOGETHER
from tests.fast_forms import needs_fast_forms
from tests.sim import nodes
from tests.sim.programs import collective
from transports.virtual.clock import has_greenlets
from transports.virtual.network import Network

NETS: dict[str, Any] = {
    "alike": sim.uniform("5us", "100Gb/s"),
    "wire": sim.uniform("1us", "100Gb/s", "3us"),
    "shared": sim.two_level(4, 4, sim.link("2us", "150GB/s"), sim.link("5us", "10Gb/s"), "per_node"),
    "rendezvous": sim.Network(sim.uniform("5us", "100Gb/s"), eager=16),
    "window": sim.Network(sim.uniform("5us", "100Gb/s"), window=40),
}
FAULTS = [sim.drop(0.05), sim.duplicate(0.05), sim.jitter("50us"), sim.delay("1ms", p=0.1)]


def incast(turns: int) -> list[int]:
    """From anybody, with two tags, so that half of it comes long before it is asked for."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank:
        for turn in range(turns):
            sim.compute(1e-6 * (rank * 7 % 5))
            dist.send(torch.full((3,), float(rank)), 0, tag=turn % 2)
        return []
    seen = []
    for tag in (1, 0):
        several = range((turns + 1 - tag) // 2 * (size - 1))
        seen += [dist.recv(torch.empty(3), tag=tag) or 0 for _ in several]
    return seen


def relay(turns: int) -> int:
    """Asynchronous sends and receives beside a collective."""
    rank, size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(3)
    for turn in range(turns):
        into = torch.empty(3)
        works = [dist.isend(token + rank, (rank + 1) % size, tag=turn), dist.irecv(into, (rank - 1) % size, tag=turn)]
        total = torch.ones(5)
        beside = dist.all_reduce(total, async_op=True)
        for work in (*works, beside):
            assert work is not None
            work.wait()
        token = into
        dist.barrier()
    return int(token.sum())


def raw(node: nodes.SimulatedNode) -> tuple[int, int]:
    """Bytes without anything above: to oneself, to all, with timeouts that end in vain."""
    size, heard = node.world_size, 0
    for turn in range(3):
        for step in range(size):
            node.send((node.rank + step) % size, bytes(turn * 5 + step))
        if turn == 1:
            node.compute(node.rank * 777)
        for step in range(size):
            heard += len(node.receive((node.rank - step) % size))
        with suppress(TimeoutError):
            node.receive(node.rank, timeout=1e-9)
    return heard, node.now()


def collectives_of(name: str, engine: str) -> Iterator[Any]:
    for kind, schedule in schedules.BUILT_IN.items():
        if kind[0] == name:
            for size in (3, 8):
                late = [(rank * 5 % size) * 10**6 for rank in range(size)]
                what = name, schedule.algorithm, 7
                for net in NETS.values():
                    yield sim.run(collective, size, what, net=net, engine=engine)
                what = *what, late
                yield sim.run(collective, size, what, engine=engine, adding="8GB/s", seed=size)
                yield sim.run(collective, size, what, engine=engine, faults=FAULTS, seed=size)


def together(name: str, engine: str) -> Iterator[Any]:
    """All ranks moved at once; where messages overtake each other, too."""
    for kind, schedule in schedules.BUILT_IN.items():
        if kind[0] == name:
            for size in (7, 16, 33):
                late = [(rank * 5 % size) * 10**6 for rank in range(size)]
                for entries in (None, late):
                    what = name, schedule.algorithm, 3, entries
                    yield sim.run(collective, size, what, engine="lockstep")


def point_to_point(name: str, engine: str) -> Iterator[Any]:
    for size in (2, 3, 5, 8):
        for program in (incast, relay):
            for net in NETS.values():
                yield sim.run(program, size, (4,), net=net, engine=engine, seed=size)
            yield sim.run(program, size, (4,), engine=engine, hardships="ojrwahgl", seed=size)


def bytes_only(name: str, engine: str) -> Iterator[Any]:
    for size in (1, 2, 3, 5, 8):
        for net in NETS.values():
            network = net if isinstance(net, Network) else Network(net)
            yield nodes.run(raw, size, network, engine=engine)


SETS = {"messages": collectives_of, "together": together, "pairs": point_to_point, "bytes": bytes_only}
ENGINE = "greenlet" if has_greenlets() else "threads"


def taken(name: str, engine: str) -> str:
    """What is done in `messages all_reduce` or another set, as a hash."""
    kind, _, what = name.partition(" ")
    digest = blake2b(digest_size=8)
    for run in SETS[kind](what, engine):
        digest.update(repr((run.digest, run.time, run.ranks, run.switches, run.results)).encode())
    return digest.hexdigest()


def names() -> list[str]:
    kinds = sorted({kind for kind, _ in schedules.BUILT_IN})
    together = [f"together {kind}" for kind in kinds if kind in TOGETHER]
    return [*(f"messages {kind}" for kind in kinds), *together, "pairs", "bytes"]


TAKEN: dict[str, str] = {
    "messages all_gather": "61ae260f0702d00b",
    "messages all_reduce": "fdb9b46ac4d5a0aa",
    "messages all_to_all": "806a0ab549a5e365",
    "messages barrier": "21512e9c75645cf5",
    "messages broadcast": "14fbeda8f008a6e6",
    "messages gather": "a6ed71dface67df7",
    "messages reduce": "7217908df8916916",
    "messages reduce_scatter": "cb697f60f50b5d75",
    "messages scatter": "adf0dc6293dcd3be",
    "together all_gather": "6b68a5b4397593ac",
    "together all_reduce": "a539609594f46175",
    "together all_to_all": "0c1f6bbf6717cbe9",
    "together barrier": "152e7699931d0044",
    "together reduce_scatter": "345717b4f37d98a8",
    "pairs": "0fa4d5402c3736d2",
    "bytes": "8d417551ce354b70",
}


def test_every_collective_is_there() -> None:
    assert sorted(TAKEN) == sorted(names())


@needs_fast_forms
@pytest.mark.parametrize("name", TAKEN)
def test_the_same_events_as_ever(name: str) -> None:
    assert taken(name, ENGINE) == TAKEN[name]


if __name__ == "__main__":
    for one in names():
        print(f'    "{one}": "{taken(one, ENGINE)}",')
