"""Seven public hangs are found, and explained with the right rank and line; what is repaired passes."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from minitorch_dist import sim
from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout, PeerLost
from mtd import zoo

FOUND = {
    "sglang_33289": (DistMismatch, "op #5 of group 'default_pg' is {all_gather: 0, 2, 3; broadcast: 1}"),
    "torchrec_4149": (sim.Deadlock, "op #0 of group 'mesh_shard' is {all_to_all_single (float32): 0-5; missing: 6, 7}"),
    "unsloth_zoo_967": (PeerLost, "op #2 of group 'default_pg' is the first that was called from different"),
    "lightning_19106": (DistMismatch, "op #2 of group 'default_pg' is {barrier: 0, 2; all_reduce: 1}"),
    "transformers_17478": (DistMismatch, "op #3 of group 'default_pg' is {all_reduce: 0-2; barrier: 3}"),
    "flight_recorder_3814": (
        DistTimeout,
        "rank 2 is in no operation; it waits for the end of a sleep, at flight_recorder_3814.py",
    ),
    "pytorch_90339": (AssertionError, "(in rank 1 of 4"),
}


def words_of(error: BaseException) -> str:
    return "\n".join([str(error), *error.__notes__])


def line_of_the_bug(exhibit: Any) -> int:
    lines = inspect.getsource(exhibit).splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if "the bug" in line)
    return number


@pytest.mark.parametrize("engine", ["auto", "threads"])
@pytest.mark.parametrize("name", zoo.NAMES)
def test_each_hang_is_found_and_explained(name: str, engine: str) -> None:
    exhibit, (kind, words) = zoo.exhibit(name), FOUND[name]
    with pytest.raises(kind) as caught:
        sim.run(exhibit.hang, exhibit.RANKS, engine=engine)
    said = words_of(caught.value)
    assert words in said
    place = f"{name}.py:{line_of_the_bug(exhibit)}"
    if name == "pytorch_90339":  # that line raises
        entries = caught.traceback
        assert any(place.endswith(f"{e.path.name}:{e.lineno + 1}") for e in entries)
    elif name != "sglang_33289":  # what is rank-local there is a condition, in front of a call
        assert place in said
    for rank in exhibit.CULPRITS:
        about = [line for line in said.splitlines() if f"rank {rank}" in line or f" {rank}" in line]
        assert about, said
    assert exhibit.ADDRESS.startswith("https://github.com/") and "Symptom" in (exhibit.__doc__ or "")


@pytest.mark.parametrize("name", zoo.NAMES)
def test_hardships_and_faults_do_not_hide_it(name: str) -> None:
    exhibit = zoo.exhibit(name)
    for seed in range(1, 6):
        bug = sim.explore(exhibit.hang, exhibit.RANKS, seeds=[seed])
        assert bug is not None and bug.replay_token.startswith(f"mtd1:seed={seed};")


@pytest.mark.parametrize("name", zoo.NAMES)
def test_what_is_mended_gives_no_alarm(name: str) -> None:
    exhibit = zoo.exhibit(name)
    assert sim.explore(exhibit.repaired, exhibit.RANKS, seeds=8) is None


def test_before_anybody_notices_the_numbers_are_wrong() -> None:
    exhibit = zoo.exhibit("unsloth_zoo_967")
    seen: list[list[float]] = []

    def watched() -> None:
        seen.append(exhibit.hang())  # type: ignore[arg-type]

    with pytest.raises(PeerLost):
        sim.run(watched, 4)
    assert seen and all(results[1] != 15.0 for results in seen)
    assert sim.run(exhibit.repaired, 4).results == [[15.0] * 3] * 4


def test_an_unknown_exhibit() -> None:
    with pytest.raises(ValueError, match="there are sglang_33289, torchrec_4149"):
        zoo.exhibit("nessie")
