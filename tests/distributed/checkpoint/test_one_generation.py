"""Ranks that load together, also while another job saves: all get one checkpoint, or all get an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist import sim
from minitorch_dist.distributed.checkpoint import CheckpointException, saving_and_loading
from minitorch_dist.launching import launch
from tests.distributed.checkpoint.test_folders import save

WORLDS = [("queue://", 1), ("queue://", 2), ("queue://", 5), ("sim://", 3)]


def load(place: Path, **more: Any) -> int:
    state: dict[str, Any] = {"x": mt.zeros(5, 3), "deep": {"y": mt.tensor(0)}, "turn": 0}
    dcp.load(state, checkpoint_id=place, **more)
    assert state["x"].tolist() == [[float(state["turn"])] * 3] * 5
    return int(state["turn"])


@pytest.mark.parametrize(("address", "size"), WORLDS)
@pytest.mark.parametrize("turns", [(2,), (2, 3)])
def test_others_save_when_the_first_rank_has_looked(
    turns: tuple[int, ...], address: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 1)
    look = saving_and_loading._looked_at
    has_looked: set[int] = set()

    def looks(*args: Any) -> Any:
        me, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
        if me in has_looked:
            return look(*args)
        has_looked.add(me)
        if me:
            store.wait(["saved"])
            return look(*args)
        found = look(*args)
        for turn in turns:
            save(tmp_path, turn)
        store.set("saved", "")
        return found

    monkeypatch.setattr(saving_and_loading, "_looked_at", looks)
    assert launch(lambda: load(tmp_path), size, address) == [turns[-1] if size > 1 else 1] * size


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_one_rank_finds_nothing_and_all_hear_of_it(size: int, tmp_path: Path) -> None:
    save(tmp_path, 1)

    def rank() -> str:
        is_last = dist.get_rank() == size - 1
        with pytest.raises(CheckpointException) as caught:
            load(tmp_path / "nothing" if is_last else tmp_path)
        assert load(tmp_path) == 1
        return str(caught.value)

    *others, last = launch(rank, size)
    assert last.startswith("there is no checkpoint in")
    for said in others:
        assert f"rank {size - 1}: CheckpointException: there is no checkpoint in" in said


def test_hosts_with_folders_of_their_own(tmp_path: Path) -> None:
    def rank() -> list[int]:
        place, turn = tmp_path / f"{dist.get_rank()}", dist.get_rank() + 1
        save(place, turn)
        with pytest.raises(CheckpointException, match=r"a mixture of checkpoints.*no_dist=True"):
            load(place)
        return [load(place, no_dist=True), turn]

    assert all(found == turn for found, turn in launch(rank, 3))


def test_groups_load_by_themselves(tmp_path: Path) -> None:
    def rank() -> int:
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        number = dist.get_rank() // 2
        if dist.get_rank() % 2 == 0:
            save(tmp_path / f"{number}", number + 1)
        dist.barrier()
        return load(tmp_path / f"{number}", process_group=groups[number])

    assert launch(rank, 4) == [1, 1, 2, 2]


def test_in_a_simulation_with_shapes_and_in_a_folded_one(tmp_path: Path) -> None:
    """One rank stands for others there, and cannot speak for them. So it loads alone."""
    save(tmp_path, 1)

    def program() -> None:
        state = {"x": mt.zeros(5, 3)}
        dcp.load(state, checkpoint_id=tmp_path)
        dist.all_reduce(state["x"])

    net = sim.two_level(8, 2, sim.link("2us", "450GB/s"), sim.link("5us", "400Gb/s"))
    full, folded = (sim.run(program, 8, shapes=True, fold=fold, net=net) for fold in (False, True))
    assert 0 < folded.time <= full.time and folded.folded
