"""Wrong programs, a bug each. Each passes at times, unless its docstring says that it never does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed import rpc
from minitorch_dist.sim.hardship import ALL, STRICTLY
from tests.corpus.right import all_of, around, of_rank, store


class WrongProgram(NamedTuple):
    """`named`: words that the report has to have."""

    function: Callable[[], object]
    named: tuple[str, ...]
    hardships: str = ALL
    size: int = 3

    @property
    def name(self) -> str:
        return self.function.__name__.replace("_", " ")


class FoundBug(NamedTuple):
    """In how many of the seeds it was found, in how many named, the first one, and as what."""

    found: int
    named: int
    first: int | None
    kinds: str

    @classmethod
    def of(cls, bug: WrongProgram, seeds: Sequence[int]) -> FoundBug:
        found = {seed: sim.survey(bug.function, bug.size, [seed], hardships=bug.hardships).failure for seed in seeds}
        failures = {seed: failure for seed, failure in found.items() if failure is not None}
        named = [failure for failure in failures.values() if all(word in failure.explain() for word in bug.named)]
        kinds = dict.fromkeys(type(failure.error).__name__ for failure in failures.values())
        return cls(len(failures), len(named), min(failures, default=None), ", ".join(kinds))


# ------------------------------------------------------------------------------ through the store


def lost_wake_up() -> None:
    rank, size, _, _ = around()
    if rank == 0:
        store().set("ready", b"1")
        if store().check(["waits"]):
            store().set("wake", b"1")
    elif rank == size - 1 and not store().check(["ready"]):
        store().set("waits", b"1")
        store().wait(["wake"])


def lost_count() -> None:
    store().add("n", 0)
    dist.barrier()
    store().set("n", str(int(store().get("n")) + 1))
    dist.barrier()
    assert int(store().get("n")) == dist.get_world_size()


def two_leaders() -> None:
    """Looks whether somebody leads, and then says so."""
    rank, size, _, _ = around()
    leads = not store().check(["leader"])
    if leads:
        store().set("leader", str(rank))
    led: list[Any] = [None] * size
    dist.all_gather_object(led, leads)
    assert sum(led) == 1, f"{sum(led)} leaders"


def one_key_for_all_rounds() -> None:
    """The key of the first round lets everybody through the second."""
    rank, _, _, _ = around()
    for number in range(2):
        if rank == 0:
            store().set("value", str(number))
            store().set("go", b"1")
        store().wait(["go"])
        assert int(store().get("value")) == number
        dist.barrier()


def counts_on_the_start() -> None:
    """Rank 0 thinks that the others have begun a millisecond later."""
    rank, size, _, _ = around()
    if rank:
        store().set(f"here/{rank}", b"1")
    else:
        sim.compute("1ms")
        assert store().check([f"here/{r}" for r in range(1, size)])


# --------------------------------------------------------------- before it is over


def reads_before_its_wait() -> None:
    rank, _, right, left = around()
    y = torch.zeros(4)
    coming: Any = dist.irecv(y, left)
    sent: Any = dist.isend(of_rank(rank), right)
    sim.compute("1ms")
    assert y.equal(of_rank(left))
    all_of([coming, sent])


def one_buffer_for_all() -> None:
    rank, size, _, _ = around()
    if rank:
        return dist.send(of_rank(rank), 0)
    y, total = torch.zeros(4), torch.zeros(4)
    for work in [dist.irecv(y, src) for src in range(1, size)]:
        work.wait()  # type: ignore[union-attr]
        total += y
    assert total.equal(of_rank(1) + of_rank(2))


def writes_before_its_wait() -> None:
    rank, _, right, left = around()
    x, y = of_rank(rank), torch.zeros(4)
    work: Any = dist.isend(x, right)
    x.zero_()
    dist.recv(y, left)
    work.wait()
    assert y.equal(of_rank(left))


def steps_before_the_gradients() -> None:
    model = nn.Linear(2, 2)
    model(torch.ones(1, 2)).sum().backward()
    works: list[Any] = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
    sim.compute("1ms")
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    all_of(works)


def passes_on_before_it_came() -> None:
    rank, size, _, _ = around()
    y = of_rank(0) if rank == 0 else torch.zeros(4)
    work: Any = dist.irecv(y, rank - 1) if rank else None
    sim.compute("1ms")
    if rank + 1 < size:
        dist.send(y, rank + 1)
    if work is not None:
        work.wait()
    assert y.equal(of_rank(0))


def asks_once() -> None:
    """Takes the first answer for the last."""
    _, size, _, _ = around()
    x = torch.ones(4)
    work: Any = dist.all_reduce(x, async_op=True)
    sim.compute("1ms")
    work.is_completed()
    assert x.sum().item() == 4 * size
    work.wait()


def computes_in_the_next_buffer() -> None:
    """Double buffering with one buffer."""
    rank, _, right, left = around()
    y, total = torch.zeros(4), torch.zeros(4)
    coming: Any = dist.irecv(y, left)
    for step in range(3):
        sent: Any = dist.isend(of_rank(rank), right)
        coming.wait()
        if step < 2:
            coming = dist.irecv(y, left)
        total += y
        sent.wait()
    assert total.equal(of_rank(left) * 3)


# ------------------------------------------------------------------------------- who comes first


def expects_their_order() -> None:
    rank, size, _, _ = around()
    if rank:
        return dist.send(of_rank(rank), 0)
    y = torch.zeros(4)
    for src in range(1, size):
        dist.recv(y)
        assert y.equal(of_rank(src)), f"this is not from rank {src}"


def answers_another() -> None:
    """A server answers in the order of the ranks, in whatever order they asked."""
    rank, size, _, _ = around()
    y = torch.zeros(4)
    if rank:
        dist.send(of_rank(rank), 0)
        dist.recv(y, 0)
        assert y.equal(of_rank(rank) * 2)
    else:
        for client in range(1, size):
            dist.recv(y)
            dist.send(y * 2, client)


def mixes_two_phases() -> None:
    """A message of the second phase is taken in the first."""
    rank, size, _, _ = around()
    for phase in (1.0, 2.0):
        if rank:
            dist.send(torch.full((1,), phase), 0)
            continue
        for _ in range(size - 1):
            y = torch.zeros(1)
            dist.recv(y)
            assert y.item() == phase


def stops_too_early() -> None:
    """One worker's word to stop is taken for that of all."""
    rank, size, _, _ = around()
    y, got = torch.zeros(1), 0
    if rank:
        for _ in range(2):
            dist.send(torch.ones(1), 0)
        return dist.send(torch.zeros(1), 0)
    while True:
        dist.recv(y)
        if not y.item():
            break
        got += 1
    assert got == 2 * (size - 1), f"{got} of {2 * (size - 1)} results"


def adds_as_they_come() -> None:
    """The last bit of a sum of floats depends on the order."""
    rank, size, _, _ = around()
    if rank:
        return dist.send(torch.full((1,), (0.0, 1e8, -1e8, 1.5)[rank]), 0)
    y, total = torch.zeros(1), torch.zeros(1)
    for _ in range(size - 1):
        dist.recv(y)
        total += y
    assert total.item() == 1.5


def asks_for_so_long() -> None:
    """Gives up after some questions."""
    _, _, right, left = around()
    y = torch.zeros(1)
    work: Any = dist.irecv(y, left)
    sent: Any = dist.isend(torch.ones(1), right)
    asked = 0
    while not work.is_completed():
        sim.compute("5us")
        asked += 1
        assert asked < 10, "nobody sends"
    sent.wait()


def reduces_in_each_hook() -> None:
    """Hooks of different ranks are called in different orders."""
    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: dist.all_reduce(p.grad))
    model(torch.ones(1, 2)).sum().backward()


# ---------------------------------------------------------------------------- they do not match


def another_order() -> None:
    """Never passes."""
    rank, _, _, _ = around()
    x, y = torch.ones(2), torch.ones(3)
    for each in (x, y) if rank else (y, x):
        dist.all_reduce(each)


def one_is_missing() -> None:
    """Never passes: an early return on one rank."""
    rank, _, _, _ = around()
    if rank == 1:
        return
    dist.barrier()


def all_receive_first() -> None:
    """Never passes."""
    rank, _, right, left = around()
    y = torch.zeros(4)
    dist.recv(y, left)
    dist.send(of_rank(rank), right)


def all_send_first() -> None:
    """Passes where sends are buffered."""
    rank, _, right, left = around()
    y = torch.zeros(4)
    dist.send(of_rank(rank), right)
    dist.recv(y, left)


def another_tag() -> None:
    """Never passes."""
    rank, _, _, _ = around()
    if rank == 0:
        dist.send(torch.ones(2), 1, tag=1)
    elif rank == 1:
        dist.recv(torch.zeros(2), 0, tag=2)


def another_shape() -> None:
    """Never passes."""
    rank, _, _, _ = around()
    dist.all_reduce(torch.ones(2 + (rank == 1)))


def waits_for_a_millisecond() -> None:
    """A timeout that is as long as a start may be late."""
    from datetime import timedelta

    rank, _, _, _ = around()
    if rank == 0:
        store().set("ready", b"1")
    store().wait(["ready"], timedelta(milliseconds=1))


ONE, OTHER = threading.Lock(), threading.Lock()


def _in_two_orders(worker: int) -> None:
    first, second = (ONE, OTHER) if worker % 2 else (OTHER, ONE)
    with first:
        sim.compute("10us")
        with second:
            pass


def locks_in_two_orders() -> None:
    rank, size, _, _ = around()
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    if rank:
        rpc.rpc_sync("worker0", _in_two_orders, args=(rank,))
    rpc.shutdown()


BUGS = (
    WrongProgram(lost_wake_up, ("rank 2 waits for the key", "what made the difference", "to check")),
    WrongProgram(lost_count, ("what made the difference", "to get")),
    WrongProgram(two_leaders, ("leaders", "what made the difference", "to check")),
    WrongProgram(one_key_for_all_rounds, ("to get 'default_pg/1/value', and heard '0'",)),
    WrongProgram(counts_on_the_start, ("what made the difference", "and heard no")),
    WrongProgram(reads_before_its_wait, ("read the tensor of its irecv", "Call wait()")),
    WrongProgram(one_buffer_for_all, ("two of its operations wrote at once", "from rank 1", "from rank 2")),
    WrongProgram(writes_before_its_wait, ("wrote to the tensor of its isend", "Wait for an isend")),
    WrongProgram(steps_before_the_gradients, ("read the tensor of its all_reduce #0", "Call wait()")),
    WrongProgram(passes_on_before_it_came, ("sent the tensor of its irecv", "Call wait()")),
    WrongProgram(asks_once, ("read the tensor of its all_reduce", "Call wait()")),
    WrongProgram(computes_in_the_next_buffer, ("read the tensor of its irecv", "Call wait()")),
    WrongProgram(expects_their_order, ("what made the difference", "where it takes from anybody", "passes: rank 1")),
    WrongProgram(answers_another, ("what made the difference", "where it takes from anybody")),
    WrongProgram(mixes_two_phases, ("where it takes from anybody",)),
    WrongProgram(stops_too_early, ("results", "where it takes from anybody")),
    WrongProgram(adds_as_they_come, ("what made the difference", "where it takes from anybody"), size=4),
    WrongProgram(asks_for_so_long, ("nobody sends", "asked is_completed()")),
    WrongProgram(reduces_in_each_hook, ("all_reduce", "op #0")),
    WrongProgram(another_order, ("op #0", "all_reduce")),
    WrongProgram(one_is_missing, ("barrier",)),
    WrongProgram(all_receive_first, ("In a circle each rank waits for the next",)),
    WrongProgram(all_send_first, ("In a circle each rank waits for the next", "sends are buffered"), STRICTLY),
    WrongProgram(another_tag, ("recv with tag 2", "send with tag 1", "do tag and group agree?")),
    WrongProgram(another_shape, ("op #0", "float32[3]", "float32[2]")),
    WrongProgram(waits_for_a_millisecond, ("ready",)),
    WrongProgram(locks_in_two_orders, ("lock",)),
)
