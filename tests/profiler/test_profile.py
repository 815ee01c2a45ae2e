"""`profile` tells what was called, how often and in what; times are virtual in a simulation."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.launching import launch
from minitorch_dist.profiler import (
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)
from minitorch_dist.tensors.core import observers


def counts(prof: profile) -> dict[str, int]:
    return {one.key: one.count for one in prof.key_averages()}


def test_a_profiler_that_stopped_has_left_no_observer_behind() -> None:
    before = observers.around, observers.nodes.on
    with profile():
        assert len(observers.around) > len(before[0])
    assert (observers.around, observers.nodes.on) == before


def test_operations_blocks_gradients_and_steps() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = mt.optim.SGD(model.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        for _ in range(3):
            with record_function("a step"):
                model(mt.ones(5, 4)).sum().backward()
                optimizer.step()
        mt.ones(2).add_(1)
    found = counts(prof)
    assert found["aten::linear"] == 6 and found["aten::relu"] == 3 and found["a step"] == 3
    assert found["AddmmBackward0"] == 6 and found["Optimizer.step#SGD.step"] == 3
    assert found["aten::add_"] == 1
    (step, *_) = (one for one in prof.key_averages() if one.key == "a step")
    inner = [e for e in prof.events() if e.depth == 1]
    assert sum(e.cpu_time_total for e in inner) + step.self_cpu_time_total == pytest.approx(
        step.cpu_time_total
    )
    (linear, *_) = (one for one in prof.events() if one.name == "aten::linear")
    assert linear.shapes == [[5, 4], [8, 4], [8]]


def test_the_table_is_sorted_and_cut() -> None:
    with profile() as prof:
        for _ in range(3):
            mt.ones(2)
        mt.zeros(2)
    table = prof.key_averages().table(sort_by="count", row_limit=1)
    assert "aten::ones" in table and "aten::zeros" not in table
    assert "Self CPU time total" in table
    with pytest.raises(AttributeError, match="no column 'colour'"):
        prof.key_averages().table(sort_by="colour")


def test_an_error_inside_leaves_nothing_behind() -> None:
    block = record_function("a block")
    with pytest.raises(RuntimeError, match="shapes"), profile() as prof, block:
        mt.ones(2, 3) @ mt.ones(2, 3)
    assert sys.getprofile() is None
    assert set(counts(prof)) == {"a block", "aten::ones", "aten::matmul"}
    assert all(event.end >= event.start for event in prof.events())


def test_a_name_costs_nothing_without_a_profiler_and_names_a_function() -> None:
    @record_function("doubled")
    def double(x: Any) -> Any:
        return x * 2

    assert double(3) == 6
    with profile() as prof:
        double(mt.ones(1))
        with pytest.raises(RuntimeError, match="already enabled"), profile():
            pass
    assert counts(prof)["doubled"] == 1


def test_what_is_not_offered_says_so() -> None:
    with pytest.raises(NotImplementedError, match="with_stack"):
        profile(with_stack=True)
    prof = profile()
    with pytest.raises(RuntimeError, match="recorded nothing yet"):
        prof.key_averages()
    with pytest.raises(ValueError, match="active > 0"):
        schedule(wait=1, warmup=1, active=0)


def test_a_trace_for_each_circle_of_a_schedule(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(str(tmp_path / "log"), "me")
    when = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=when, on_trace_ready=handler) as prof:
        for _ in range(10):
            mt.ones(2)
            prof.step()
    names = sorted(path.name for path in (tmp_path / "log").iterdir())
    assert names == ["me.4.pt.trace.json", "me.8.pt.trace.json"]
    trace = json.loads((tmp_path / "log" / names[1]).read_text())
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in spans] == [
        "ProfilerStep#6", "aten::ones", "ProfilerStep#7", "aten::ones"
    ]  # fmt: skip
    assert {e["ph"] for e in trace["traceEvents"]} == {"X", "M"}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_in_a_simulation_times_are_virtual_and_each_rank_has_its_own(size: int) -> None:
    def rank() -> Any:
        dist.init_process_group()
        model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
        with profile() as prof:
            with record_function("thinking"):
                sim.compute(0.25)
            model(mt.ones(1, 3)).sum().backward()
            dist.barrier()
        return [(e.name, e.start, e.end) for e in prof.events()]

    results = sim.run(rank, size).results
    assert sim.run(rank, size).results == results
    for events in results:
        names = [name for name, *_ in events]
        assert names.count("AddmmBackward0") == 1 and names[-2:] == ["c10d::barrier", "sim:barrier"]
        assert events[0][0] == "thinking" and events[0][2] - events[0][1] == 250 * 10**9


@pytest.mark.parametrize("transport", ["queue", "sim", "tcp"])
@pytest.mark.parametrize("size", [2, 3])
def test_the_collectives_of_ddp_are_in_the_traces_which_can_lie_side_by_side(
    tmp_path: Path, transport: str, size: int
) -> None:
    launch(_trained, size, f"{transport}://", (tmp_path,))
    events = [
        json.loads((tmp_path / f"{rank}.json").read_text())["traceEvents"] for rank in range(size)
    ]
    for rank, mine in enumerate(events):
        assert {each["pid"] for each in mine} == {rank}
        spans = [each for each in mine if each.get("cat") == "collective"]
        sums = [each for each in spans if each["name"] == f"{transport}:all_reduce"]
        counts = [each["args"]["Input Dims"][0][0] for each in sums]
        # The gradients of two steps: in the second one they are in buckets, since their order is known.
        assert counts[-4:] == [36 + 36 + 6, 6, 36, 36]
        assert {each["tid"] for each in sums} == {1} and all(each["dur"] >= 0 for each in sums)
    named = [each["args"]["name"] for mine in events for each in mine if each["name"] == "process_name"]  # fmt: skip
    assert named == [f"rank {rank}" for rank in range(size)]


def _trained(folder: Path) -> None:
    with profile() as prof:  # the world is made within it, and gone when the trace is written
        dist.init_process_group()
        rank = dist.get_rank()
        model = nn.Sequential(*(nn.Linear(6, 6, bias=False) for _ in range(2)), nn.Linear(6, 1, bias=False))  # fmt: skip
        wrapped = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1e-6)
        for _ in range(2):
            wrapped(mt.ones(3, 6)).sum().backward()
        dist.destroy_process_group()
    prof.export_chrome_trace(str(folder / f"{rank}.json"))


def test_a_profile_leaves_the_journal_that_is_kept_as_it_is(tmp_path: Path) -> None:
    def rank(is_profiled: bool) -> None:
        dist.init_process_group()
        with profile() if is_profiled else nullcontext():
            dist.all_reduce(mt.ones(5))
        dist.barrier()

    plain, profiled = (str(tmp_path / name) for name in ("plain", "profiled"))
    sim.run(rank, 3, args=(False,), journal=plain)
    sim.run(rank, 3, args=(True,), journal=profiled)
    assert (tmp_path / "plain").read_text() == (tmp_path / "profiled").read_text()
