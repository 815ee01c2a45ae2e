"""The same program, seed and arguments are the same run: the same events, in any process and engine."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, sim
from minitorch_dist.sim.hardship import ALL

ROOT = Path(__file__).parent.parent.parent
FAULTS = ["drop=0.1", "jitter=30us", "crash=4,at=900us", "partition=0|1+2,at=1ms,heal=3ms"]


def program() -> float:
    x = torch.ones(10) * dist.get_rank()
    try:
        for _ in range(5):
            sim.compute("200us")
            dist.all_reduce(x)
            dist.recv(x) if dist.get_rank() == 0 else dist.send(x, 0)
            for _ in range(dist.get_world_size() - 2 if dist.get_rank() == 0 else 0):
                dist.recv(x)
    except dist.DistError:
        sim.compute("1ms")
    return sim.now()


def digest(engine: str = "auto", seed: int = 7) -> str:
    return sim.run(program, 5, seed=seed, faults=FAULTS, hardships=ALL, engine=engine).digest


def test_in_other_processes_and_engines() -> None:
    expected = digest()
    assert digest("threads") == digest("auto") == expected != digest(seed=8)
    code = "from tests.sim.test_determinism import digest; print(digest())"
    for hashes in ("0", "1234"):
        environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.stdout.strip() == expected, done.stderr


@pytest.mark.slow
def test_what_is_deterministic_passes() -> None:
    for seed in (0, 3):
        sim.check_determinism(program, 5, seed=seed, faults=FAULTS, hardships=ALL)
    sim.check_determinism(lambda: 1 / 0, 3)  # it fails alike
    sim.check_determinism(print, 1, args=("",))


counter = itertools.count()


def counts() -> None:
    dist.barrier()
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 1:
        dist.send(torch.ones(1 + next(counter)), 0)  # here
    elif dist.get_rank() == 0:
        dist.recv_object_list([None], 1)


def values() -> None:
    dist.all_reduce(torch.ones(2) * (next(counter) if dist.get_rank() == 2 else 1))


def computes() -> None:
    sim.compute(0.001 * (next(counter) + 1))


def returns() -> int:
    return next(counter)


def test_the_first_difference_is_shown_from_both_sides() -> None:
    line = counts.__code__.co_firstlineno + 4
    with pytest.raises(sim.NotDeterministic) as caught:
        sim.check_determinism(counts, 3)
    said = str(caught.value)
    assert said.count(f"test_determinism.py:{line} in counts") == 2
    assert "rank 1 sends 4 bytes to rank 0" in said and "rank 1 sends 8 bytes to rank 0" in said
    assert f"at first in event {caught.value.event}." in said and caught.value.event > 6


def test_values_times_and_results_count() -> None:
    with pytest.raises(sim.NotDeterministic, match="a value that is not the same"):
        sim.check_determinism(values, 3)
    with pytest.raises(sim.NotDeterministic, match="rank 0 computes for"):
        sim.check_determinism(computes, 2)
    with pytest.raises(sim.NotDeterministic, match=r"returns \[\d+, \d+\]"):
        sim.check_determinism(returns, 2)


# ------------------------------------------------------------------------------- between processes


def of_sets() -> None:
    for name in {"weight", "bias", "scale", "shift", "mean", "variance", "gamma", "beta"}:
        dist.all_reduce(torch.ones(len(name)))


def of_process_numbers() -> None:
    dist.all_reduce(torch.ones(2) * os.getpid())


def test_two_runs_of_one_process_do_not_show_what_differs_between_processes() -> None:
    with pytest.raises(sim.NotDeterministic, match=r"two processes .* differ") as caught:
        sim.check_determinism(of_sets, 3)
    assert "in of_sets" in str(caught.value)
    with pytest.raises(sim.NotDeterministic, match="two processes"):
        sim.check_determinism(of_process_numbers, 2)


def test_functions_without_a_name_are_sent_as_well() -> None:
    words, again = {"weight", "bias", "scale", "shift", "mean", "gamma", "beta"}, 2

    def outer(turns: int = 1) -> None:
        if turns:
            for word in words:
                dist.all_reduce(torch.ones(len(word)))
            outer(turns - 1)

    def ordered() -> None:
        for word in sorted(words):
            dist.all_reduce(torch.ones(again * len(word)))

    with pytest.raises(sim.NotDeterministic, match="two processes"):
        sim.check_determinism(outer, 3)
    with pytest.raises(sim.NotDeterministic, match="two processes"):
        sim.check_determinism(lambda: outer(2), 3)
    sim.check_determinism(ordered, 3)


def test_where_an_object_lies_is_no_difference() -> None:
    sim.check_determinism(object, 2)


def test_what_cannot_be_sent_is_said(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file, pytest.warns(RuntimeWarning, match="cannot be sent"):
        sim.check_determinism(lambda: file.name and None, 2)


def drawn() -> list[float]:
    torch.default_generator.get_state()
    return [torch.rand(1).item(), torch.rand(1, generator=torch.default_generator).item()]


def test_tensors_are_drawn_by_the_seed_of_the_run() -> None:
    code = (
        "import minitorch_dist as torch; from minitorch_dist import sim; "
        "from tests.sim.test_determinism import drawn; "
        "print(sim.run(drawn, 3, seed=5).results)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        ).stdout
        for _ in range(2)
    }
    assert len(found) == 1
    values = [value for rank in eval(found.pop()) for value in rank]
    assert len(set(values)) == 6  # each rank has a stream of its own


def test_a_generator_that_was_seeded_goes_on_in_each_rank() -> None:
    own = torch.random.get_rng_state()
    try:
        torch.manual_seed(3)
        expected = [torch.rand(1).item(), torch.rand(1).item()]
        torch.manual_seed(3)
        assert sim.run(drawn, 3, seed=1).results == [expected] * 3
        torch.seed()
        first, again, other = (sim.run(drawn, 3, seed=seed).results for seed in (1, 1, 2))
        assert first == again and len({x for run in (first, other) for two in run for x in two}) == 12
        assert sim.run(drawn, 3, seed=1).results == first
    finally:
        torch.random.set_rng_state(own)
