"""Sends that wait until their receive is posted: as a network has it, and as exploring tries it."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed import rpc
from minitorch_dist.distributed.schedules import BUILT_IN
from tests.distributed.schedules.test_cost import FOLDED, GAMMA, TABLE, P, bytes_for
from tests.sim.programs import collective
from tests.sim.test_formulas import KEYS, NET, exact, per_rank
from transports.errors import NeedsBuffering

ALPHA = 5_000_000
LINK = sim.uniform(ALPHA, 0)
STRICT = sim.Network(LINK, rendezvous=0)
ENGINES = ["threads", "greenlet", "lockstep", "closed", "auto"]


def around() -> tuple[int, int]:
    rank, size = dist.get_rank(), dist.get_world_size()
    return (rank + 1) % size, (rank - 1) % size


def all_send_first(count: int = 4) -> None:
    right, left = around()
    x = torch.ones(count)
    dist.send(x, right)
    dist.recv(x, left)


def all_send_objects_first() -> None:
    right, left = around()
    dist.send_object_list([{"a": 1}], right)
    dist.recv_object_list([None], left)


def one_receives_first(count: int = 4) -> None:
    right, left = around()
    x, y = torch.ones(count), torch.zeros(count)
    if dist.get_rank() == 0:
        dist.recv(y, left)
        dist.send(x, right)
    else:
        dist.send(x, right)
        dist.recv(y, left)
    assert y.sum().item() == count


def begins_with_isend(count: int = 4) -> None:
    right, left = around()
    x, y = torch.ones(count), torch.zeros(count)
    work = dist.isend(x, right)
    assert work is not None and not work.is_completed()
    dist.recv(y, left)
    work.wait()
    assert y.sum().item() == count


def in_a_batch(count: int = 4) -> None:
    right, left = around()
    x, y = torch.ones(count), torch.zeros(count)
    ops = [dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, y, left)]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert y.sum().item() == count


def each_to_each_in_another_order() -> None:
    """Sends that were begun do not wait for each other: 0's to 1 is taken last of all."""
    rank, size = dist.get_rank(), dist.get_world_size()
    works = [dist.isend(torch.full((3,), float(rank)), to) for to in range(size) if to != rank]
    for source in reversed(range(size)):
        if source != rank:
            y = torch.zeros(3)
            dist.recv(y, source)
            assert y[0].item() == source
    for work in works:
        assert work is not None
        work.wait()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("program", [all_send_first, all_send_objects_first])
def test_a_circle_of_sends(program: Any, size: int, engine: str) -> None:
    sim.run(program, size, engine=engine)  # ours may send first
    with pytest.raises(NeedsBuffering) as caught:
        sim.run(program, size, net=STRICT, engine=engine)
    said = str(caught.value)
    assert " → ".join(map(str, [*range(size), 0])) in said
    assert "return" in said and "this is no deadlock there" in said
    assert f"test_rendezvous.py:{program.__code__.co_firstlineno + 2 + (program is all_send_first)}" in said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("program", [one_receives_first, begins_with_isend, in_a_batch, each_to_each_in_another_order])
def test_what_needs_no_buffer(program: Any, size: int, engine: str) -> None:
    if size == 1 and program is not each_to_each_in_another_order:
        return
    report = sim.run(program, size, net=STRICT, engine=engine)
    assert report.digest == sim.run(program, size, net=STRICT, engine="greenlet").digest
    assert report.ranks == sim.run(program, size, net=STRICT, engine=engine, seed=3).ranks


def test_only_what_is_long_enough_waits() -> None:
    net = sim.Network(LINK, rendezvous=16)
    sim.run(all_send_first, 3, (3,), net=net)
    with pytest.raises(NeedsBuffering):
        sim.run(all_send_first, 3, (4,), net=net)
    with pytest.raises(NeedsBuffering):
        sim.run(all_send_first, 3, (4,), net="sim://?rendezvous=16B")


def test_what_is_truly_a_deadlock_is_one_here_too() -> None:
    def all_receive_first() -> None:
        dist.recv(torch.zeros(1), around()[1])

    with pytest.raises(sim.Deadlock) as caught:
        sim.run(all_receive_first, 3, net=STRICT)
    assert not isinstance(caught.value, NeedsBuffering)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_transfer_takes_what_the_book_says(size: int) -> None:
    """max(send, receive) + α + βm, for both."""

    def pair(before_send: int, before_receive: int) -> None:
        rank, x = dist.get_rank(), torch.ones(100)
        if rank == 0:
            sim.compute(before_send / 1e12)
            dist.send(x, size - 1)
        elif rank == size - 1:
            sim.compute(before_receive / 1e12)
            dist.recv(x, 0)

    link = sim.uniform(ALPHA, 80)
    span = ALPHA + 400 * 80
    for a, b in ((0, 0), (10**9, 0), (0, 10**9), (10**6, 7 * 10**6)):
        report = sim.run(pair, size, (a, b), net=sim.Network(link, rendezvous=0))
        assert report.ranks[0].time == report.ranks[-1].time == max(a, b) + span
        assert sim.run(pair, size, (a, b), net=link).ranks[0].time == a


def test_messages_of_one_sender_keep_their_order() -> None:
    """A short one behind a long one that waits does not take its receive."""

    def program() -> list[float]:
        got = []
        if dist.get_rank() == 0:
            works = [dist.isend(torch.full((n,), float(n)), 1) for n in (8, 1, 8, 1, 2)]
            sim.compute("1ms")
            for work in works:
                assert work is not None
                work.wait()
        else:
            for n in (8, 1, 8, 1, 2):
                sim.compute("100us")
                x = torch.zeros(n)
                dist.recv(x, None if n == 2 else 0)
                got.append(x[0].item())
        return got

    for limit in (0, 8, 32, 33):
        net = sim.Network(LINK, rendezvous=limit)
        assert sim.run(program, 2, net=net).results[1] == [8, 1, 8, 1, 2]


def test_a_call_that_does_not_fit_is_told_as_ever() -> None:
    def program() -> None:
        x = torch.ones(4)
        if dist.get_rank() == 0:
            dist.all_reduce(x)
        else:
            dist.broadcast(x, 1)

    with pytest.raises(dist.DistError, match="these ranks should do the same"):
        sim.run(program, 2, net=STRICT)


SCHEDULES = [
    (name, algorithm)
    for name, algorithm in BUILT_IN
    if name in ("all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter",
                "reduce_scatter", "all_to_all", "barrier")
]  # fmt: skip


@pytest.mark.parametrize("key", SCHEDULES, ids=" ".join)
def test_our_schedules_need_no_buffer(key: tuple[str, str]) -> None:
    """And give the same values."""
    for size in (2, 3, 5, 8):
        for count in (0, 7):
            what = (*key, count)
            try:
                calm = sim.run(collective, size, what, net=LINK)
            except ValueError:
                break  # not for this many ranks
            strict = sim.run(collective, size, what, net=STRICT)
            assert [r[0] for r in strict.results] == [r[0] for r in calm.results]


@pytest.mark.parametrize("key", KEYS, ids=" ".join)
@pytest.mark.parametrize("gamma", [0, GAMMA])
def test_times_are_the_tables(key: tuple[str, str], gamma: int) -> None:
    """Also of what is asymmetric, and adds: nobody is ahead of its receiver. A chain is none any more:
    a rank that waits in a send receives nothing meanwhile."""
    name, algorithm = key
    for size in (2, 3, 5, 8):
        p = P(size)
        n = 0 if name == "barrier" else bytes_for(p)
        if algorithm in FOLDED and p.r and algorithm == "rabenseifner":
            continue  # its ranks beyond a power of two leave ports that others wait for
        adding = f"{1000 // gamma}GB/s" if gamma else None
        cost = -(-1000 // (1000 // gamma)) if gamma else 0
        net = sim.Network(NET, rendezvous=0)
        report = sim.run(collective, size, (name, algorithm, per_rank(name, n, size)), net=net, adding=adding)
        if algorithm == "chain" and size > 2:
            assert report.time > exact(key, p, n, cost)
        else:
            assert report.time == exact(key, p, n, cost), size
        assert report.messages == TABLE[key].messages(p)


def twice(x: int) -> int:
    return 2 * x


def calls() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    rpc.init_rpc(f"w{rank}", rank=rank, world_size=size)
    futures = [rpc.rpc_async(f"w{to}", twice, (to,)) for to in range(size)]
    dist.all_reduce(torch.ones(3))
    assert [f.wait() for f in futures] == [2 * to for to in range(size)]
    dist.barrier()
    rpc.shutdown()


def data_parallel() -> float:
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
    for _ in range(2):
        model(torch.ones(3, 4) * dist.get_rank()).sum().backward()
    return next(model.parameters()).grad.sum().item()


def objects() -> list[Any]:
    rank, size = dist.get_rank(), dist.get_world_size()
    got: list[Any] = [None] * size
    dist.all_gather_object(got, {"rank": rank})
    box = [rank]
    dist.broadcast_object_list(box, 0)
    out: list[Any] = [None]
    dist.scatter_object_list(out, list(range(size)) if rank == 0 else None, 0)
    return [got, box, out]


@pytest.mark.parametrize("program", [calls, data_parallel, objects])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_library_itself_needs_no_buffer(program: Any, size: int) -> None:
    assert sim.run(program, size, net=STRICT).results == sim.run(program, size).results


# --------------------------------------------------------------------------------------- exploring


def test_exploring_tells_who_leans_on_buffers() -> None:
    with pytest.warns(sim.LeansOnBuffering, match="0 → 1 → 2 → 0"):
        assert sim.explore(all_send_first, 3, seeds=4) is None
    found = sim.survey(all_send_first, 3, seeds=2)
    assert found.failure is None and found.buffering is not None
    assert found.buffering.case.hardships == "s"
    with pytest.raises(NeedsBuffering):
        sim.replay(found.buffering.replay_token, all_send_first)


def test_exploring_strictly_makes_it_a_failure() -> None:
    failure = sim.explore(all_send_first, 3, seeds=4, hardships=sim.STRICTLY)
    assert failure is not None and isinstance(failure.error, NeedsBuffering)
    small = failure.minimise()
    assert small.case.hardships == "s" and not small.faults


@pytest.mark.parametrize("program", [one_receives_first, in_a_batch, calls])
def test_exploring_says_nothing_of_others(program: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sim.explore(program, 3, seeds=6) is None
        assert sim.explore(program, 3, seeds=6, hardships=sim.STRICTLY) is None


def test_all_schedules_of_a_circle() -> None:
    found = sim.exhaust(all_send_first, 3)
    assert found.failure is None and found.buffering is not None and "buffered" in str(found)
    assert sim.exhaust(one_receives_first, 3).buffering is None


def anybody() -> list[int]:
    """Rank 0 takes what comes, and each send waits for that."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.tensor([rank])
    if rank:
        dist.send(x, 0)
        return []
    order = []
    for _ in range(size - 1):
        dist.recv(x)
        order.append(int(x.item()))
    return order


def test_all_orders_of_sends_that_wait_for_anybody() -> None:
    found = sim.exhaust(anybody, 4, net=STRICT)
    assert found.is_complete and found.failure is None
    assert sorted(r[0] for r in found.results) == sorted(
        [a, b, c] for a in (1, 2, 3) for b in (1, 2, 3) for c in (1, 2, 3) if len({a, b, c}) == 3
    )
