"""Planted bugs are found, named, made small and seen again; what is correct passes."""

from __future__ import annotations

from typing import Any

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, fully_shard
from minitorch_dist.nn.parallel import DistributedDataParallel
from minitorch_dist.sim import replay_token
from minitorch_dist.sim.hardship import ALL
from minitorch_dist.tensors.core import observers


def correct(steps: int = 2) -> list[float]:
    """A little of everything that does not depend on who comes first."""
    rank, size = dist.get_rank(), dist.get_world_size()
    x = torch.full((7,), float(rank + 1))
    for _ in range(steps):
        sim.compute("50us")
        dist.all_reduce(x, op=dist.ReduceOp.AVG)
        dist.broadcast(x, size - 1)
    came = 0.0
    if rank == 0:
        for _ in range(size - 1):
            y = torch.zeros(1)
            dist.recv(y)
            came += float(y.item())
    else:
        dist.isend(torch.full((1,), float(rank)), 0).wait()  # type: ignore[union-attr]
    work: Any = dist.all_reduce(x, async_op=True)
    while not work.is_completed():
        sim.compute("1us")
    return [float(x[0].item()), came]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_what_is_correct_passes(size: int) -> None:
    calm = sim.run(correct, size).results

    def same(report: sim.Report[list[float]]) -> None:
        assert report.results == calm

    assert sim.explore(correct, size, seeds=12, check=same) is None


def first_is_rank_one() -> None:
    if dist.get_rank() == 0:
        came = [dist.recv(torch.zeros(1)) for _ in range(dist.get_world_size() - 1)]
        assert came == sorted(came), f"rank {came[0]} came first"
    else:
        sim.compute(dist.get_rank() * 1e-5)
        dist.send(torch.ones(1), 0)


def done_when_asked() -> None:
    """It takes for granted that what was sent long ago has arrived."""
    if dist.get_rank() == 0:
        work: Any = dist.irecv(torch.zeros(1), 1)
        sim.compute("10ms")
        assert work.is_completed(), "it has had time enough"
        work.wait()
    elif dist.get_rank() == 1:
        dist.send(torch.ones(1), 0)


def not_twice() -> None:
    """It counts what comes; correct only where nothing comes twice."""
    if dist.get_rank() == 0:
        for number in range(3):
            dist.send(torch.tensor([float(number)]), 1)
    elif dist.get_rank() == 1:
        for number in range(3):
            x = torch.zeros(1)
            dist.recv(x, 0)
            assert float(x.item()) == number, f"{x.item()} instead of {number}"


def averaged_as_they_come() -> None:
    """Each parameter's hook reduces its gradient: right if all ranks call their hooks in one order.
    Both are equally long, so no rank can see that it was given the sum of the other."""
    size = dist.get_world_size()
    ours, other = (torch.full((2,), k, requires_grad=True) for k in (3.0, 4.0))
    for x in (ours, other):
        x.register_post_accumulate_grad_hook(lambda leaf: dist.all_reduce(leaf.grad))
    (ours * other).sum().backward()
    assert ours.grad.tolist() == [4.0 * size] * 2, "that is not the sum of these gradients"
    assert other.grad.tolist() == [3.0 * size] * 2, "that is not the sum of those gradients"


@pytest.mark.parametrize(
    ("program", "faults", "needed"),
    [
        (first_is_rank_one, None, 1),
        (done_when_asked, None, 1),
        (averaged_as_they_come, None, 1),
        (not_twice, sim.Plan((sim.duplicate(0.2),), reliable=False), 1),
    ],
)
@pytest.mark.parametrize("size", [3, 5])
def test_planted_bugs_are_found_made_small_and_replayed(program: Any, faults: Any, needed: int, size: int) -> None:
    bug = sim.explore(program, size, seeds=100, faults=faults)
    assert bug is not None and isinstance(bug.error, AssertionError)
    small = bug.minimise()
    assert len(small.case.hardships) + len(small.faults) == needed <= small.tries
    for failure in (bug, small):
        token = failure.replay_token
        assert replay_token.parse(token) == failure.case and str(replay_token.parse(token)) == token
        with pytest.raises(AssertionError) as caught:
            sim.replay(token, program)
        assert str(caught.value) == str(failure.error)
        assert not any("event" in note for note in caught.value.__notes__)  # the same event
        explained = failure.explain()
        assert f"seed {failure.seed}: AssertionError in rank " in explained
        assert token in explained and f"after event {failure.event}" in explained


def layers() -> torch.nn.Sequential:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))


def trained(kind: str) -> list[float]:
    """Two steps of training; whatever order hooks are called in, the same weights."""
    model: Any = layers()
    if kind == "ddp":
        model = DistributedDataParallel(model, bucket_cap_mb=1e-5)
    elif kind == "fsdp":
        model = FullyShardedDataParallel(model)
    else:
        for layer in (model[0], model[2], model):
            fully_shard(layer)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(2):
        loss = (model(torch.ones(2, 3) * (dist.get_rank() + 1)) ** 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.item()))
    return losses


@pytest.mark.parametrize("kind", ["ddp", "fsdp", "fully_shard"])
def test_the_order_of_hooks_does_not_show_in_training(kind: str) -> None:
    calm = sim.run(trained, 3, (kind,)).results
    for seed in range(4):
        report = sim.run(trained, 3, (kind,), seed=seed, hardships="g")
        for ours, expected in zip(report.results, calm, strict=True):
            assert ours == pytest.approx(expected, rel=1e-5)  # sums of other buckets round otherwise


def test_lots_change_the_order_of_hooks_and_nothing_else() -> None:
    def order() -> list[int]:
        leaves = [torch.full((2,), float(n), requires_grad=True) for n in range(5)]
        seen: list[int] = []
        for n, leaf in enumerate(leaves):
            leaf.register_post_accumulate_grad_hook(lambda _, n=n: seen.append(n))
        torch.stack(leaves).prod(0).sum().backward()
        return seen

    calm = sim.run(order, 3).results
    assert calm == [calm[0]] * 3
    drawn = [sim.run(order, 3, seed=seed, hardships="g").results for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len({tuple(seen) for seen in [*drawn[0], *drawn[2], calm[0]]}) == 7
    assert sim.run(order, 3, seed=1, hardships="ojrwah").results == calm
    assert not observers.passes  # no pass outside takes the longer way


def test_of_twenty_faults_one_remains() -> None:
    """The third message from rank 2 to rank 0 must not be late; everything else may go wrong."""

    def program() -> None:
        rank, size = dist.get_rank(), dist.get_world_size()
        for turn in range(6):
            dist.send(torch.ones(1), (rank + 1) % size)
            since = sim.now()
            dist.recv(torch.zeros(1), (rank - 1) % size)
            assert (rank, turn) != (0, 2) or sim.now() - since < 0.004

    faults: list[sim.Fault] = [
        sim.delay("5ms", src=2, dst=0, number=2),
        *(sim.jitter(f"{n}us") for n in range(1, 10)),
        *(sim.delay("3us", p=n / 10) for n in range(1, 7)),
        *(sim.duplicate(0.1, src=n) for n in range(3)),
        sim.slow(1, x=2),
    ]
    bug = sim.explore(program, 3, seeds=[5], faults=faults)
    assert bug is not None and len(bug.faults) == 20
    small = bug.minimise()
    assert small.replay_token.startswith("mtd1:seed=5;ranks=3;delay=2>0#2,5ms;event=")


def test_a_program_that_changed_is_noticed() -> None:
    bug = sim.explore(first_is_rank_one, 3, seeds=100)
    assert bug is not None

    def changed() -> None:
        sim.compute("1us")
        first_is_rank_one()

    with pytest.raises(AssertionError) as caught:
        sim.replay(bug.replay_token, changed)
    assert f"speaks of event {bug.event}, but this was event" in "".join(caught.value.__notes__)


def test_sometimes() -> None:
    def program() -> None:
        for _ in range(3):
            begun = sim.now()
            dist.barrier()
            sim.sometimes("a slow barrier", sim.now() - begun > 1e-3)

    found = sim.survey(program, 3, seeds=20)
    assert found.failure is None and 0 < found.sometimes["a slow barrier"] < 20
    assert "a slow barrier: true in" in str(found)
    with pytest.warns(sim.NeverTrue, match="'a slow barrier' was never true in 3 runs"):
        sim.explore(program, 3, seeds=3, faults=[], hardships="")

    launched: list[bool] = [sim.sometimes("anywhere", 1), sim.sometimes("anywhere", 0)]
    assert launched == [True, False]  # outside of a simulation they do no harm


def test_endless_talk_is_a_livelock() -> None:
    runs = []

    def talk() -> None:
        other = 1 - dist.get_rank()
        runs.append(dist.get_rank())
        while True:
            dist.send(torch.ones(1), other)
            dist.recv(torch.zeros(1), other)

    bug = sim.explore(talk, 2, seeds=1, events=2000)
    assert bug is not None and isinstance(bug.error, sim.Livelock)
    assert "2001 events happened" in str(bug.error) or "2002 events" in str(bug.error)
    assert sorted(runs) == [0, 1]  # one run tells it: a second would take as long and say no more
    with pytest.raises(sim.Livelock, match=str(bug.error)[:40]) as again:  # the token holds the limit
        sim.replay(bug.replay_token, talk)
    assert not any("The token speaks of" in note for note in getattr(again.value, "__notes__", ()))


def test_crashes_where_the_program_expects_them() -> None:
    def elastic() -> float:
        while True:
            if not dist.is_initialized():
                dist.init_process_group()
            try:
                return correct(3)[0]
            except dist.DistError:
                sim.sometimes("a world was lost", True)
                dist.destroy_process_group()

    chaos = sim.chaos(max_faults=1, kinds=(), crash=True)
    found = sim.survey(elastic, 3, seeds=30, faults=chaos, tolerate=dist.DistError)
    assert found.failure is None and found.sometimes["a world was lost"] > 5
    for_good = sim.chaos(max_faults=1, kinds=(), crash=True, restart=False)
    bug = sim.explore(correct, 3, seeds=30, faults=for_good, events=20_000)
    assert bug is not None and isinstance(bug.error, dist.DistError)
    assert "was killed at" in bug.explain() and "crash=" in bug.minimise().replay_token


def test_what_is_no_token_is_refused() -> None:
    for token, said in (
        ("seed=3", "begins with mtd1:"),
        ("mtd1:seed=3", "how many ranks"),
        ("mtd1:ranks=3;boom=1", "is not a fault"),
        ("mtd1:ranks=3;slow=3,x=2", "names rank 3 in a world of 3"),
    ):
        with pytest.raises(ValueError, match=said):
            sim.replay(token, correct)
    with pytest.raises(ValueError, match="no hardship is called x"):
        sim.run(correct, 2, hardships="ox")
    assert len(set(ALL)) == len(ALL)


def test_a_program_that_varies_is_warned_of() -> None:
    calls: list[int] = []

    def program() -> None:
        calls.append(1)
        assert len(calls) % 4, "every fourth call"

    with pytest.warns(RuntimeWarning, match="not the same when it is repeated"):
        sim.explore(program, 1, seeds=10)
