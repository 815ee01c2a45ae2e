"""The critical path of any program ends, has no gap, and each of its links is a real dependency.

A calculator shows the last, which knows the order of a program's operations and nothing of the notes of a run. A longer computation on the path makes the run longer by as much. All others may take no time at all, and nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

import minitorch_dist as torch
from minitorch_dist import distributed as dist, nn, sim
from minitorch_dist.distributed.fsdp import FullyShardedDataParallel, fully_shard
from minitorch_dist.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
from minitorch_dist.nn.parallel import DistributedDataParallel
from mtd.timelines.critical_path import COLLECTIVE, COMPUTING, MESSAGE, CriticalPath
from mtd.timelines.timeline import ComputedSpan
from tests.deep import examples

# ------------------------------------------------------------------------------- random programs

NS = 1000
ROOTED = ("broadcast", "reduce")


class Act(NamedTuple):
    """A line of a program that all ranks go through in the same order; each does what concerns it."""

    kind: str
    rank: int = 0
    other: int = 0
    picos: int = 0


Times = Mapping[int, int]  # of computations, by their lines


@st.composite
def programs(draw: Any) -> tuple[int, int, list[Act]]:
    """Ranks, the latency of a message, and the lines. Collectives take no time, so they need a latency of 0."""
    size = draw(st.sampled_from([1, 2, 3, 5, 8]))
    latency = draw(st.sampled_from([0, 0, 1, 3])) * NS
    kinds = ["compute", "compute", "message"]
    if not latency:
        kinds += ["all_reduce", "begin", "wait", *ROOTED]
    ranks = st.integers(0, size - 1)
    act = st.builds(Act, st.sampled_from(kinds), ranks, ranks, st.integers(0, 4).map(lambda n: n * NS))
    length = draw(st.integers(0, 40))
    return size, latency, draw(st.lists(act, min_size=length, max_size=length))


def play(acts: Sequence[Act]) -> None:
    me, works = dist.get_rank(), []
    for at, act in enumerate(acts):
        x = torch.ones(at % 3)  # of no elements, too
        if act.kind == "compute" and act.rank == me:
            sim.compute(act.picos / 1e12)
        elif act.kind == "message" and act.rank != act.other:
            if act.rank == me:
                dist.send(x, act.other)
            if act.other == me:
                dist.recv(x, act.rank)
        elif act.kind == "all_reduce":
            dist.all_reduce(x)
        elif act.kind == "begin":
            works.append(dist.all_reduce(x, async_op=True))
        elif act.kind == "wait" and works and act.rank == me:
            works[act.other % len(works)].wait()  # type: ignore[union-attr]
        elif act.kind == "broadcast":
            dist.broadcast(x, act.rank)
        elif act.kind == "reduce":
            dist.reduce(x, act.rank)

    for work in works:
        work.wait()  # type: ignore[union-attr]


class Calculator:
    """When each computation begins, and when the program is over. Computations take what `times` says of their lines."""

    def __init__(self, size: int, latency: int, acts: Sequence[Act], times: Times) -> None:
        self.now, self._worker = ([0] * size, [0] * size)  # of each rank: its program, its group's worker
        self.begins: dict[int, int] = {}
        begun: list[list[int]] = []
        for at, act in enumerate(acts):
            if act.kind == "compute":
                self.begins[at] = self.now[act.rank]
                self.now[act.rank] += times[at]
            elif act.kind == "message":
                arrives = self.now[act.rank] + (0 if act.rank == act.other else latency)
                self._wait([arrives] * size, [act.other])
            elif act.kind == "begin":
                begun.append(self._meet(act))
            elif act.kind == "wait":
                self._wait(begun[act.other % len(begun)] if begun else [0] * size, [act.rank])
            else:
                self.now = self._meet(act)
        for works in begun:
            self._wait(works, range(size))
        self.end = max(self.now)

    def _meet(self, act: Act) -> list[int]:
        """When each rank has done its part of a collective that takes no time."""
        came = list(map(max, self.now, self._worker))
        late = max(came)
        if act.kind == "broadcast":
            self._worker = [max(each, came[act.rank]) for each in came]
        elif act.kind == "reduce":
            self._worker = [late if rank == act.rank else each for rank, each in enumerate(came)]
        else:
            self._worker = [late] * len(came)
        return list(self._worker)

    def _wait(self, until: Sequence[int], ranks: Iterable[int]) -> None:
        for rank in ranks:
            self.now[rank] = max(self.now[rank], until[rank])


def without_a_gap(path: CriticalPath, time: int) -> None:
    instants = [part.start for part in path.parts] + [time]
    assert instants[0] == 0
    assert all(a < b for a, b in pairwise(instants))
    assert [part.end for part in path.parts] == instants[1:]


@settings(max_examples=examples(60), deadline=None)
@given(programs())
def test_links_are_real(program: tuple[int, int, list[Act]]) -> None:
    size, latency, acts = program
    net = sim.LogGP(latency, 0, 0, 0)
    report = sim.run(play, size, [acts], net=net, timelines=True)
    times = {at: act.picos for at, act in enumerate(acts) if act.kind == "compute"}
    found = Calculator(size, latency, acts, times)
    assert report.timelines is not None and report.time == found.end
    path = report.timelines.critical_path
    assert path.time == report.time
    if not report.time:
        return
    without_a_gap(path, report.time)
    on_path = set()
    for part in path.parts:
        assert part.kind in (COMPUTING, MESSAGE), "all that takes time was noted"
        if part.kind == COMPUTING:
            [line] = [
                at
                for at, picos in times.items()
                if picos and acts[at].rank == part.rank and found.begins[at] == part.start
            ]
            assert part.picos == times[line]
            on_path.add(line)
        else:
            assert part.picos == latency
    for line in on_path:
        longer = {**times, line: times[line] + 7 * NS}
        assert Calculator(size, latency, acts, longer).end == found.end + 7 * NS
    alone = {at: picos if at in on_path else 0 for at, picos in times.items()}
    assert Calculator(size, latency, acts, alone).end == found.end


def parts_of(program: Any, size: int, net: Any) -> list[tuple[int, str, str]]:
    report = sim.run(program, size, net=net, timelines=True)
    assert report.timelines is not None
    without_a_gap(report.timelines.critical_path, report.time)
    return [(p.rank, p.kind, p.name) for p in report.timelines.critical_path.parts]


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_call_that_stands_behind_others_of_its_group(size: int) -> None:
    """As in DDP, where the bucket map is compared while buckets are on their way. The path never ended here."""

    def program() -> None:
        works: list[Any] = [dist.all_reduce(torch.ones(8), async_op=True) for _ in range(3)]
        dist.all_reduce(torch.ones(8))
        for work in works:
            work.wait()

    found = parts_of(program, size, sim.uniform("1us", "1GB/s"))
    assert [name for *_, name in found] == ["all_reduce"] * 4


def test_what_takes_no_time_leads_to_who_was_late() -> None:
    def program() -> None:
        rank = dist.get_rank()
        sim.compute(f"{rank + 1}us")
        dist.barrier()
        if rank == 0:
            sim.compute("5us")
            dist.send(torch.ones(1), 1)
        if rank == 1:
            dist.recv(torch.ones(1), 0)

    found = parts_of(program, 3, sim.LogGP(0, 0, 0, 0))
    assert [(rank, kind) for rank, kind, _ in found] == [(2, COMPUTING), (0, COMPUTING)]


def test_a_leaf_of_a_broadcast_does_not_wait_for_another() -> None:
    def program() -> None:
        if dist.get_rank() == 2:  # it comes while rank 1 still receives, and is no part of that
            sim.compute("4us")
        dist.broadcast(torch.ones(1000), 0)
        if dist.get_rank() == 1:
            sim.compute("50us")

    found = parts_of(program, 3, sim.uniform("5us", "1GB/s"))
    assert [kind for _, kind, _ in found] == [COLLECTIVE, COMPUTING]
    assert 2 not in [rank for rank, *_ in found]


# ------------------------------------------------------------------------------ training programs

NETS = [
    sim.LogGP(0, 0, 0, 0),
    sim.uniform("1us", "10GB/s"),
    sim.two_level(4, 2, sim.link("2us", "450GB/s"), sim.link("5us", "400Gb/s")),
]
WIDTH = 64


def layers(count: int) -> list[nn.Module]:
    return [nn.Linear(WIDTH, WIDTH, device="cuda") for _ in range(count)]


def train(model: Any, steps: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(8, WIDTH, device="cuda")).sum().backward()
        optimizer.step()


def ddp(steps: int, buckets: int) -> None:
    nbytes = WIDTH * (WIDTH + 1) * 4  # of a layer, and so of a bucket
    train(DistributedDataParallel(nn.Sequential(*layers(buckets)), bucket_cap_mb=nbytes / 2**20), steps)


def fsdp2(steps: int, buckets: int) -> None:
    model = nn.Sequential(*layers(buckets))
    for layer in model:
        fully_shard(layer)
    train(fully_shard(model), steps)


def fsdp1(steps: int, buckets: int) -> None:
    wrapped = [FullyShardedDataParallel(layer) for layer in layers(buckets)]
    train(FullyShardedDataParallel(nn.Sequential(*wrapped)), steps)


def pipeline(schedule: Any, stages: int, steps: int, buckets: int) -> None:
    """`buckets` are its micro-batches."""
    size, rank = dist.get_world_size(), dist.get_rank()
    found = [PipelineStage(layers(1)[0], rank + n * size, size * stages, torch.device("cuda")) for n in range(stages)]
    count = -(-buckets // size) * size if stages > 1 else buckets
    loss: Callable[..., Any] = lambda output, _: output.sum()  # noqa: E731
    plan = schedule(found if stages > 1 else found[0], count, loss_fn=loss)
    ones = torch.ones(count, WIDTH, device="cuda")
    for _ in range(steps):
        plan.step(*[ones] * (rank == 0), **({"target": ones} if rank == size - 1 else {}))


def gpipe(steps: int, buckets: int) -> None:
    pipeline(ScheduleGPipe, 1, steps, buckets)


def one_forward_one_backward(steps: int, buckets: int) -> None:
    pipeline(Schedule1F1B, 1, steps, buckets)


def interleaved(steps: int, buckets: int) -> None:
    pipeline(ScheduleInterleaved1F1B, 2, steps, buckets)


PROGRAMS = [ddp, fsdp2, fsdp1, gpipe, one_forward_one_backward, interleaved]


def check_page(program: Any, size: int, steps: int, buckets: int, net: Any, page: Path) -> None:
    report = sim.run(
        program, size, [steps, buckets], device=sim.gpu("h100", launch="4us"), net=net, shapes=True, timelines=True
    )
    assert report.timelines is not None
    path = report.timelines.critical_path
    assert path.time == report.time > 0
    without_a_gap(path, report.time)
    computed = {
        (line.rank, span.start): span.end
        for line in report.timelines.ranks
        for span in line.spans()
        if isinstance(span, ComputedSpan)
    }
    for part in path.parts:
        assert part.kind != COMPUTING or part.end <= computed[part.rank, part.start]
    report.save_page(page)
    assert "The run takes" in page.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages") / "step.html"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_two_steps_of_three_buckets(program: Any, page: Path) -> None:
    check_page(program, 2, 2, 3, NETS[1], page)


@pytest.mark.slow
@settings(max_examples=examples(6), deadline=None)
@given(
    st.sampled_from(PROGRAMS),
    st.sampled_from([1, 2, 3, 5, 8]),
    st.integers(1, 5),
    st.integers(1, 8),
    st.sampled_from(NETS),
)
def test_training_has_a_page(page: Path, program: Any, size: int, steps: int, buckets: int, net: Any) -> None:
    check_page(program, size, steps, buckets, net, page)
