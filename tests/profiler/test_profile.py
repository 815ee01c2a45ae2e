"""`profile` tells what was called, how often and in what; times are virtual in a simulation."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
from minitorch_dist import nn, sim
from minitorch_dist.profiler import ProfilerActivity, profile, record_function
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
    assert sum(e.cpu_time_total for e in inner) + step.self_cpu_time_total == pytest.approx(step.cpu_time_total)
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
    with pytest.raises(NotImplementedError, match="open the block around the steps"):
        profile(schedule=lambda step: step)
    with pytest.raises(AttributeError, match=r"left out.*PyTorch has it"):
        profile().step()  # type: ignore[attr-defined]


def test_a_trace_is_handed_over_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with profile(on_trace_ready=lambda prof: prof.export_chrome_trace(str(path))):
        mt.ones(2)
        assert not path.exists()
        mt.zeros(2)
    trace = json.loads(path.read_text())
    spans = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    assert [e["name"] for e in spans] == ["aten::ones", "aten::zeros"]
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
        assert names.count("AddmmBackward0") == 1 and names[-1] == "c10d::barrier"
        assert events[0][0] == "thinking" and events[0][2] - events[0][1] == 250 * 10**9
