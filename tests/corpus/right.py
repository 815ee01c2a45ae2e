"""Right programs. Each checks its own results, and bears every hardship and every fault that heals."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed import rpc, schedules
from minitorch_dist.distributed.fsdp import fully_shard
from minitorch_dist.nn.parallel import DistributedDataParallel
from mtd import zoo
from mtd.course import lesson
from mtd.course.path import searched

SIZES = (2, 3, 5)


class RightProgram(NamedTuple):
    """`sizes`: with how many ranks it can be run."""

    name: str
    function: Callable[..., object]
    args: tuple[Any, ...] = ()
    sizes: tuple[int, ...] = SIZES


def around() -> tuple[int, int, int, int]:
    """This rank, how many there are, and both neighbours in the ring."""
    rank, size = dist.get_rank(), dist.get_world_size()
    return rank, size, (rank + 1) % size, (rank - 1) % size


def store() -> Any:
    return dist.distributed_c10d._get_default_store()


def of_rank(rank: int, count: int = 4) -> Any:
    return torch.arange(count).float() + 10 * rank


def all_of(works: list[Any]) -> None:
    for work in works:
        work.wait()


# ------------------------------------------------------------------------- messages of two ranks


def exchange() -> None:
    rank, _, right, left = around()
    y = torch.zeros(4)
    work: Any = dist.isend(of_rank(rank), right)
    dist.recv(y, left)
    work.wait()
    assert y.equal(of_rank(left))


def batch() -> None:
    rank, size, right, left = around()
    one, two = torch.zeros(4), torch.zeros(4)
    mine, ops = of_rank(rank), dist.P2POp
    all_of(
        dist.batch_isend_irecv(
            [
                ops(dist.isend, mine, right),
                ops(dist.irecv, one, left),
                ops(dist.isend, mine + 1, left),
                ops(dist.irecv, two, right),
            ]
        )
    )
    if size == 2:  # both neighbours are one rank, whose messages come in order
        assert one.equal(of_rank(left)) and two.equal(of_rank(left) + 1)
    else:
        assert one.equal(of_rank(left)) and two.equal(of_rank(right) + 1)


def double_buffering() -> None:
    """While one buffer is computed with, the next message comes into the other."""
    rank, _, right, left = around()
    buffers, total = [torch.zeros(4), torch.zeros(4)], torch.zeros(4)
    coming: Any = dist.irecv(buffers[0], left)
    for step in range(5):
        sent: Any = dist.isend(of_rank(rank) * step, right)
        coming.wait()
        if step < 4:
            coming = dist.irecv(buffers[(step + 1) % 2], left)
        total += buffers[step % 2]
        sent.wait()
    assert total.equal(of_rank(left) * 10)


def double_buffered_sends() -> None:
    """A buffer is written to again when its send is over."""
    rank, _, right, left = around()
    buffers, sent = [torch.zeros(4), torch.zeros(4)], dict[int, Any]()
    y = torch.zeros(4)
    for step in range(5):
        if step >= 2:
            sent[step % 2].wait()
        buffers[step % 2].copy_(of_rank(rank) * step)
        sent[step % 2] = dist.isend(buffers[step % 2], right)
        dist.recv(y, left)
        assert y.equal(of_rank(left) * step)
    all_of(list(sent.values()))


def halo() -> None:
    """Each rank needs the edges of both neighbours, and computes inside meanwhile."""
    rank, size, _, _ = around()
    line = torch.zeros(6)
    line[1:5] = of_rank(rank)
    works: list[Any] = []
    if rank:
        works += [dist.irecv(line[0:1], rank - 1), dist.isend(line[1:2].clone(), rank - 1)]
    if rank + 1 < size:
        works += [dist.irecv(line[5:6], rank + 1), dist.isend(line[4:5].clone(), rank + 1)]
    inner = line[2:4] * 2
    all_of(works)
    assert inner.equal(of_rank(rank)[1:3] * 2)
    assert line[0].item() == (of_rank(rank - 1)[3].item() if rank else 0)


def token_ring() -> None:
    rank, _, right, left = around()
    y = torch.zeros(1)
    if rank:
        dist.recv(y, left)
    dist.send(y + 1, right)
    if rank == 0:
        dist.recv(y, left)
        assert y.item() == dist.get_world_size()


def tags() -> None:
    """Received in another order than sent, by tags."""
    rank, _, _, _ = around()
    if rank == 1:
        for tag in range(3):
            dist.send(torch.full((2,), float(tag)), 0, tag=tag)
    elif rank == 0:
        for tag in (2, 0, 1):
            y = torch.zeros(2)
            dist.recv(y, 1, tag=tag)
            assert y[0].item() == tag


def signals() -> None:
    """Messages whose values nobody reads may share a buffer."""
    rank, size, _, _ = around()
    nothing = torch.zeros(1)
    if rank:
        dist.send(nothing, 0)
    else:
        all_of([dist.irecv(nothing, src) for src in range(1, size)])


def pipeline() -> None:
    rank, size, _, _ = around()
    for number in range(4):
        x = torch.full((3,), float(number))
        if rank:
            dist.recv(x, rank - 1)
        if rank + 1 < size:
            dist.send(x + 1, rank + 1)
        else:
            assert x.tolist() == [number + size - 1.0] * 3


# ----------------------------------------------------------------------------- from anybody


def first_come_first_served() -> None:
    """A server answers requests as they come; clients check their own answers only."""
    rank, size, _, _ = around()
    y = torch.zeros(1)
    if rank:
        for number in range(3):
            dist.send(torch.full((1,), 10.0 * rank + number), 0)
            dist.recv(y, 0)
            assert y.item() == 2 * (10 * rank + number)
    else:
        for _ in range(3 * (size - 1)):
            client = dist.recv(y)
            dist.send(y * 2, client)


def sum_of_all() -> None:
    """Whole numbers add up to the same in any order."""
    rank, size, _, _ = around()
    if rank:
        return dist.send(torch.full((1,), float(rank)), 0)
    y, total = torch.zeros(1), 0.0
    for _ in range(size - 1):
        dist.recv(y)
        total += y.item()
    assert total == size * (size - 1) / 2


def work_queue() -> None:
    """Tasks go to a worker that is free, and then a word to stop."""
    rank, size, _, _ = around()
    y = torch.zeros(2)
    if rank:
        while True:
            dist.send(torch.tensor([float(rank), y[1].item()]), 0)
            dist.recv(y, 0)
            if y[0].item() < 0:
                return
            y[1] = y[0] ** 2
    total, task, stopped = 0.0, 0, 0
    while stopped < size - 1:
        worker = dist.recv(y)
        total += y[1].item()
        dist.send(torch.tensor([float(task) if task < 7 else -1.0, 0.0]), worker)
        stopped, task = stopped + (task >= 7), task + 1
    assert total == sum(n * n for n in range(7))


def two_phases() -> None:
    """Tags tell apart what comes from anybody."""
    rank, size, _, _ = around()
    for tag in (1, 2):
        if rank:
            dist.send(torch.full((1,), float(tag)), 0, tag=tag)
            continue
        for _ in range(size - 1):
            y = torch.zeros(1)
            work: Any = dist.irecv(y, tag=tag)
            work.wait()
            assert y.item() == tag and work.source_rank() > 0


# ------------------------------------------------------------------------- asynchronous collectives


def overlapped() -> None:
    _, size, _, _ = around()
    xs = [torch.full((4,), float(n)) for n in range(3)]
    works: list[Any] = [dist.all_reduce(x, async_op=True) for x in xs]
    sim.compute("30us")
    all_of(works)
    assert [x[0].item() for x in xs] == [0.0, size, 2.0 * size]


def asks_until_it_is_over() -> None:
    _, size, _, _ = around()
    x = torch.ones(4)
    work: Any = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        sim.compute("2us")
    assert x[0].item() == size


def chained_futures() -> None:
    _, size, _, _ = around()
    x = torch.ones(4)
    work: Any = dist.all_reduce(x, async_op=True)
    halved = work.get_future().then(lambda found: found.value()[0] / 2)
    assert halved.wait()[0].item() == size / 2


def two_groups() -> None:
    """Collectives of two groups beside each other."""
    rank, size, _, _ = around()
    everybody, same = dist.new_group(), dist.new_group([r for r in range(size) if r % 2 == 0])
    x, y = torch.ones(2), torch.ones(2)
    works: list[Any] = [dist.all_reduce(x, group=everybody, async_op=True)]
    if rank % 2 == 0:
        works.append(dist.all_reduce(y, group=same, async_op=True))
    all_of(works)
    assert x[0].item() == size and y[0].item() == ((size + 1) // 2 if rank % 2 == 0 else 1)


def collective_beside_messages() -> None:
    rank, size, right, left = around()
    x, y = torch.ones(4), torch.zeros(4)
    works: list[Any] = [dist.irecv(y, left), dist.all_reduce(x, async_op=True), dist.isend(of_rank(rank), right)]
    all_of(works)
    assert x[0].item() == size and y.equal(of_rank(left))


def gathers_and_scatters() -> None:
    rank, size, _, _ = around()
    out = [torch.zeros(4) for _ in range(size)]
    dist.all_gather(out, of_rank(rank))
    mine = torch.zeros(4)
    dist.scatter(mine, out if rank == 0 else None)
    assert mine.equal(of_rank(rank))
    told: list[Any] = [None] * size
    dist.all_gather_object(told, {"rank": rank})
    assert [each["rank"] for each in told] == list(range(size))


# ------------------------------------------------------------------------------ through the store


def counts() -> None:
    _, size, _, _ = around()
    store().add("n", 1)
    store().barrier("all", size)
    assert int(store().get("n")) == size


def says_that_it_waits_and_then_looks() -> None:
    rank, size, _, _ = around()
    if rank == 0:
        store().set("ready", b"1")
        if store().check(["waits"]):
            store().set("wake", b"1")
    elif rank == size - 1:
        store().set("waits", b"1")
        if not store().check(["ready"]):
            store().wait(["wake"])


def elects() -> None:
    """The first who sets the key leads, and all hear the same."""
    rank, _, _, _ = around()
    leader = int(store().compare_set("leader", "", str(rank)))
    heard: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(heard, leader)
    assert len(set(heard)) == 1


def hands_over_a_queue() -> None:
    rank, size, _, _ = around()
    if rank:
        store().queue_push("tasks", str(rank))
    else:
        assert sorted(int(store().queue_pop("tasks")) for _ in range(size - 1)) == list(range(1, size))


def polls_the_store() -> None:
    rank, size, _, _ = around()
    store().set(f"here/{rank}", b"1")
    while not store().check([f"here/{r}" for r in range(size)]):
        sim.compute("20us")


def optimistic_update() -> None:
    """Read, and write unless somebody was faster; then again."""
    store().compare_set("n", "", "0")
    while True:
        before = store().get("n").decode()
        if store().compare_set("n", before, str(int(before) + 1)).decode() == str(int(before) + 1):
            break  # only one rank makes this number of that one, as it grows
    dist.barrier()
    assert 1 <= int(store().get("n")) <= dist.get_world_size()


def comes_again() -> None:
    """The group is destroyed, and another one is made."""
    x = torch.ones(2)
    for _ in range(2):
        dist.monitored_barrier()
        dist.destroy_process_group()
        dist.init_process_group()
    dist.all_reduce(x)
    assert x[0].item() == dist.get_world_size()


# ---------------------------------------------------------------------------- locks, and remote calls

LOCK, OTHER, SEEN = threading.Lock(), threading.Lock(), dict[int, int]()


def _locked(worker: int) -> int:
    with LOCK:
        sim.compute("10us")
        with OTHER:
            return 2 * worker


def locks_in_handlers() -> None:
    rank, size, _, _ = around()
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    found = [rpc.rpc_async(f"worker{peer}", _locked, args=(rank,)) for peer in range(size) if peer != rank]
    assert [future.wait() for future in found] == [2 * rank] * (size - 1)
    rpc.shutdown()


def _served(worker: int) -> Any:
    return torch.full((2,), float(worker))


def remote_calls() -> None:
    rank, size, right, _ = around()
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=size)
    assert rpc.rpc_sync(f"worker{right}", _served, args=(rank,)).tolist() == [rank, rank]
    kept = rpc.remote(f"worker{right}", _served, args=(7,))
    assert kept.to_here()[0].item() == 7
    rpc.shutdown()


def producer_and_consumer() -> None:
    """A thread of this rank fills a list, and its main thread waits by a condition."""
    changed, filled = threading.Condition(), list[int]()

    def produce() -> None:
        for number in range(3):
            sim.compute("5us")
            with changed:
                filled.append(number)
                changed.notify()

    thread = sim.start(produce, "producer")
    with changed:
        while len(filled) < 3:
            changed.wait()
    thread.join()
    assert filled == [0, 1, 2]


# ------------------------------------------------------------------------------------- training


def _trained(wrap: Callable[[Any], Any]) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    wrapped = wrap(model)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    losses = []
    for step in range(2):
        optimizer.zero_grad()
        loss = wrapped(torch.full((3, 4), 0.5 + step)).pow(2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _alike(found: list[float], wanted: list[float]) -> None:
    assert all(abs(one - other) <= 1e-5 * abs(other) for one, other in zip(found, wanted, strict=True)), found


def ddp() -> None:
    _alike(_trained(DistributedDataParallel), _trained(lambda model: model))


def fsdp() -> None:
    def sharded(model: Any) -> Any:
        for layer in (model[0], model[2]):
            fully_shard(layer)
        fully_shard(model)
        return model

    _alike(_trained(sharded), _trained(lambda model: model))


def gradients_in_hooks() -> None:
    """One asynchronous all_reduce for all gradients, when the last hook was called: their order does not matter."""
    _, size, _, _ = around()
    model, done = nn.Linear(2, 2), list[Any]()
    left = [len(list(model.parameters()))]

    def hook(parameter: Any) -> None:
        left[0] -= 1
        if not left[0]:
            done.extend(dist.all_reduce(p.grad, async_op=True) for p in model.parameters())

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(hook)
    model(torch.ones(1, 2)).sum().backward()
    all_of(done)
    assert model.bias.grad.tolist() == [float(size)] * 2


def averages_by_hand() -> None:
    torch.manual_seed(dist.get_rank())
    model = nn.Linear(2, 2)
    for parameter in model.parameters():
        dist.broadcast(parameter.data, 0)
    model(torch.ones(1, 2)).sum().backward()
    works: list[Any] = [dist.all_reduce(p.grad, async_op=True) for p in model.parameters()]
    all_of(works)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    told: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(told, model.weight.tolist())
    assert all(each == told[0] for each in told)


OWN = (
    exchange, batch, double_buffering, double_buffered_sends, halo, token_ring, tags, signals, pipeline,
    first_come_first_served, sum_of_all, work_queue, two_phases, overlapped, asks_until_it_is_over, chained_futures,
    two_groups, collective_beside_messages, gathers_and_scatters, counts, says_that_it_waits_and_then_looks, elects,
    hands_over_a_queue, polls_the_store, optimistic_update, comes_again, locks_in_handlers, remote_calls,
    producer_and_consumer, ddp, fsdp, gradients_in_hooks, averages_by_hand,
)  # fmt: skip

# ---------------------------------------------------------- the gallery, the course and the zoo


def scheduled(kind: str, algorithm: str) -> None:
    """A collective by one of the built-in schedules, on whole numbers."""
    rank, size, _, _ = around()
    x, every = of_rank(rank, 3 * size), [of_rank(r, 3 * size) for r in range(size)]
    total = sum(every[1:], every[0])
    if kind == "all_reduce":
        dist.all_reduce(x, algorithm=algorithm)
        assert x.equal(total)
    elif kind == "broadcast":
        dist.broadcast(x, 1, algorithm=algorithm)
        assert x.equal(every[1])
    elif kind == "reduce":
        dist.reduce(x, 1, algorithm=algorithm)
        assert x.equal(total if rank == 1 else every[rank])
    elif kind == "all_gather":
        out = torch.zeros(size, 3 * size)
        dist.all_gather_into_tensor(out, x, algorithm=algorithm)
        assert out.equal(torch.stack(every))
    elif kind == "reduce_scatter":
        own = torch.zeros(3)
        dist.reduce_scatter_tensor(own, x, algorithm=algorithm)
        assert own.equal(total[3 * rank : 3 * rank + 3])
    elif kind == "all_to_all":
        out = torch.zeros(3 * size)
        dist.all_to_all_single(out, x, algorithm=algorithm)
        assert out.equal(torch.cat([each[3 * rank : 3 * rank + 3] for each in every]))
    elif kind == "barrier":
        dist.barrier(algorithm=algorithm)


def of_lesson(number: float, name: str) -> None:
    """A solution of the course, beside the library's collective of the same name."""
    rank, size, _, _ = around()
    module = importlib.import_module(lesson.find(number).module)
    mine, theirs = of_rank(rank, 2 * size), of_rank(rank, 2 * size)
    if name in ("all_reduce", "rabenseifner"):
        getattr(module, name)(mine)
        dist.all_reduce(theirs)
    elif name == "all_gather":
        found, theirs = torch.zeros(2 * size * size), torch.zeros(2 * size * size)
        module.all_gather(found, mine)
        dist.all_gather_into_tensor(theirs, mine)
        mine = found
    elif name == "reduce_scatter":
        found = torch.zeros(2)
        module.reduce_scatter(found, mine)
        theirs = torch.zeros(2)
        dist.reduce_scatter_tensor(theirs, mine)
        mine = found
    else:
        found = torch.zeros(2 * size)
        module.all_to_all(found, mine)
        dist.all_to_all_single(theirs, mine.clone())
        mine = found
    assert mine.equal(theirs)


SOLUTIONS = (
    (13, "all_reduce"),
    (13, "all_gather"),
    (13, "reduce_scatter"),
    (13, "all_to_all"),
    (14, "all_reduce"),
    (14, "rabenseifner"),
)


def all_programs() -> Iterator[RightProgram]:
    yield from (RightProgram(program.__name__, program) for program in OWN)
    for kind, algorithm in schedules.BUILT_IN:
        yield RightProgram(f"{kind} by {algorithm}", scheduled, (kind, algorithm))
    for number, name in SOLUTIONS:
        yield RightProgram(f"lesson {number}, {name}", of_lesson, (number, name))
    for name in zoo.NAMES:
        exhibit = zoo.exhibit(name)
        yield RightProgram(f"{name}, repaired", exhibit.repaired, (), (exhibit.RANKS,))


def with_lessons() -> Any:
    """Within the block the course's solutions can be imported."""
    return searched([lesson.find(number).folder for number in (13, 14)])
