"""Ranks that load together while another job saves: all get one checkpoint, or a rank says which one it missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist import sim
from minitorch_dist.distributed.checkpoint import CheckpointException
from minitorch_dist.launching import launch
from tests.distributed.checkpoint.test_folders import save

WORLDS = [("queue://", 2), ("queue://", 3), ("queue://", 5), ("sim://", 3)]


def load(place: Path, **more: Any) -> int:
    state: dict[str, Any] = {"x": mt.zeros(5, 3), "deep": {"y": mt.tensor(0)}, "turn": 0}
    dcp.load(state, checkpoint_id=place, **more)
    assert state["x"].tolist() == [[float(state["turn"])] * 3] * 5
    return int(state["turn"])


def in_turns(*acts: Any) -> list[Any]:
    """Each rank's part, one after another, without a collective: rank r waits in the store for those before it."""
    rank, found = dist.get_rank(), []
    store = dist.distributed_c10d._get_default_store()
    for number, (who, act) in enumerate(acts):
        if who == rank:
            if number:
                store.get(f"act/{number - 1}")
            try:
                found.append(act())
            except CheckpointException as error:
                found.append(error)
            store.set(f"act/{number}", "")
    return found


def saves(place: Path, *turns: int) -> None:
    for turn in turns:
        save(place, turn)


@pytest.mark.parametrize(("address", "size"), WORLDS)
def test_the_old_generation_serves_all_that_load_together(
    address: str, size: int, tmp_path: Path
) -> None:
    save(tmp_path, 1)

    def rank() -> list[Any]:
        me = dist.get_rank()
        saving = (0, lambda: save(tmp_path, 2))
        loads = [(each, lambda: load(tmp_path)) for each in range(size)]
        found = in_turns(loads[0], saving, *loads[1:])[:: 2 if me == 0 else 1]
        dist.barrier()
        return [found[0], load(tmp_path)]

    assert launch(rank, size, address) == [[1, 2]] * size


@pytest.mark.parametrize(("address", "size"), WORLDS)
def test_a_rank_that_comes_too_late_says_so(address: str, size: int, tmp_path: Path) -> None:
    save(tmp_path, 1)

    def rank() -> list[Any]:
        loads = [(each, lambda: load(tmp_path)) for each in range(size)]
        first = in_turns(loads[0], (0, lambda: saves(tmp_path, 2, 3)), *loads[1:])[0]
        if dist.get_rank():
            with pytest.raises(
                CheckpointException, match="a mixture"
            ):  # trying alone does not help
                load(tmp_path)
        dist.barrier()
        return [first, load(tmp_path)]

    found = launch(rank, size, address)
    assert found[0][0] == 1
    for number, (first, _) in enumerate(found[1:], 1):
        assert isinstance(first, CheckpointException), first
        for word in ("Rank 0 loads", f"rank {number} finds", "no_dist=True"):
            assert word in str(first)
    assert {second for _, second in found} == {3}


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_rank_that_has_opened_the_old_one_takes_the_new_one(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last rank has looked at the old checkpoint when the others come, and load the next but one."""
    from minitorch_dist.distributed.checkpoint import agreement

    save(tmp_path, 1)
    right = agreement.JointLoad.other_than

    def late(self: Any, found: Any) -> Any:
        if dist.get_rank() == size - 1 and self._noted is None:
            store = dist.distributed_c10d._get_default_store()
            store.set("opened", "")
            store.wait([f"loaded/{rank}" for rank in range(size - 1)])
        return right(self, found)

    monkeypatch.setattr(agreement.JointLoad, "other_than", late)

    def rank() -> int:
        me, store = dist.get_rank(), dist.distributed_c10d._get_default_store()
        if me < size - 1:
            store.wait(["opened"])
        if me == 0:
            save(tmp_path, 2)
            save(tmp_path, 3)
            store.set("saved", "")
        elif me < size - 1:
            store.wait(["saved"])
        found = load(tmp_path)
        store.set(f"loaded/{me}", "")
        return found

    assert launch(rank, size) == [3] * size


# ---------------------------------------------------------------------------------- right programs


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_one_rank_loads_alone(size: int, tmp_path: Path) -> None:
    """Again and again, without `no_dist` and beside a job that saves: it has the newest each time."""

    def rank() -> None:
        for turn in range(1, 8):
            if dist.get_rank() == size - 1:
                save(tmp_path, turn)
                assert load(tmp_path) == turn
        dist.barrier()
        assert load(tmp_path) == 7

    launch(rank, size)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_ranks_that_load_different_numbers_of_times(size: int, tmp_path: Path) -> None:
    def rank() -> None:
        me = dist.get_rank()
        for turn in range(1, 4):
            for _ in range(me):  # rank 0 loads only with the others
                save(tmp_path / f"{me}", turn)
                assert load(tmp_path / f"{me}") == turn
            dist.barrier()
            if me == 0:
                for _ in range(3):
                    save(tmp_path, turn)
                    assert load(tmp_path) == turn
            dist.barrier()
            assert load(tmp_path) == turn
            if me == 1:
                assert load(tmp_path) == turn
            dist.barrier()

    launch(rank, size)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("later", [(2,), (2, 3)])
def test_a_rank_has_loaded_alone_before_and_there_is_no_collective(
    later: tuple[int, ...], size: int, tmp_path: Path
) -> None:
    """Its earlier load does not count, and nobody has the old checkpoint or an error."""
    save(tmp_path, 1)

    def rank() -> list[Any]:
        loads = [(each, lambda: load(tmp_path)) for each in range(size)]
        return in_turns(loads[0], (0, lambda: saves(tmp_path, *later)), *loads)[-1:]

    assert launch(rank, size) == [[later[-1]]] * size


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("later", [(2,), (2, 3)])
def test_a_rank_that_is_two_loads_behind(later: tuple[int, ...], size: int, tmp_path: Path) -> None:
    """Rank 0 has a model and an optimizer of two checkpoints; the second load of each other rank tells."""
    save(tmp_path, 1)

    def rank() -> list[Any]:
        loads = [(each, lambda: load(tmp_path)) for each in range(size)]
        rest = [each for each in loads[1:] for _ in range(2)]
        found = in_turns(loads[0], (0, lambda: saves(tmp_path, *later)), loads[0], *rest)
        return found[-1:] if dist.get_rank() else [found[0], found[-1]]

    first, *others = launch(rank, size)
    assert first == [1, later[-1]]
    assert all("a mixture of two" in str(error) for (error,) in others)


@pytest.mark.parametrize("alone", [False, True])
def test_the_limit_of_loads_alone(alone: bool, tmp_path: Path) -> None:
    """Rank 1 cannot know that rank 0 will load once more: only `no_dist=True` tells."""
    save(tmp_path, 1)

    def rank() -> list[Any]:
        return in_turns(
            (0, lambda: load(tmp_path, no_dist=alone)),
            (0, lambda: saves(tmp_path, 2)),
            (1, lambda: load(tmp_path)),
            (0, lambda: load(tmp_path)),
        )[-1:]

    assert launch(rank, 2) == ([[2], [2]] if alone else [[2], [1]])


@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_rank_says_that_it_loads_alone(size: int, tmp_path: Path) -> None:
    """Without a collective between: its loads do not count as those of all."""
    save(tmp_path, 1)

    def alone() -> int:
        found = load(tmp_path, no_dist=True)
        for turn in (2, 3):
            save(tmp_path, turn)
        return found

    def rank() -> list[Any]:
        loads = [(each, lambda: load(tmp_path)) for each in range(size)]
        return in_turns((0, alone), *reversed(loads))[-1:]

    assert launch(rank, size) == [[3]] * size


@pytest.mark.parametrize("size", [2, 3, 5])
def test_ranks_that_try_until_there_is_a_checkpoint(size: int, tmp_path: Path) -> None:
    """Their number of attempts differs, and still the first load of each is of one checkpoint."""

    def fails() -> None:
        with pytest.raises(CheckpointException, match="no checkpoint"):
            load(tmp_path)

    def rank() -> list[Any]:
        attempts = [(each, fails) for each in range(size) for _ in range(each)]
        loads = [(each, lambda: load(tmp_path)) for each in range(size)]
        acts = in_turns(
            *attempts,
            (0, lambda: saves(tmp_path, 1)),
            loads[0],
            (0, lambda: saves(tmp_path, 2)),
            *loads[1:],
        )
        return [each for each in acts if each is not None]

    assert launch(rank, size) == [[1]] * size


def test_an_index_that_would_be_too_long_leaves_out_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minitorch_dist.distributed.checkpoint import folder, writing

    save(tmp_path, 1)
    monkeypatch.setattr(writing, "MOST_INDEX", (tmp_path / folder.INDEX).stat().st_size + 100)
    for turn in (2, 3):
        save(tmp_path, turn)
        assert load(tmp_path) == turn
    index = folder.read_index(tmp_path)
    assert index is not None and index.replaced is None and index.before


@pytest.mark.parametrize("size", [2, 3, 5])
def test_folders_in_different_orders(size: int, tmp_path: Path) -> None:
    def rank() -> None:
        me = dist.get_rank()
        if me == 0:
            for number in range(size):
                save(tmp_path / f"{number}", number)
        dist.barrier()
        for number in range(size):
            which = (number + me) % size
            assert load(tmp_path / f"{which}") == which

    launch(rank, size)


def test_groups_load_by_themselves(tmp_path: Path) -> None:
    """Ranks 0 and 1 load the first checkpoint together; 2 and 3 come when it has gone."""
    save(tmp_path, 1)

    def rank() -> list[Any]:
        groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        mine = groups[dist.get_rank() // 2]

        def mine_load() -> int:
            return load(tmp_path, process_group=mine)

        between = (1, lambda: saves(tmp_path, 2, 3))
        loads = [(each, mine_load) for each in (0, 1, 3, 2)]
        return in_turns(*loads[:2], between, *loads[2:])[:1]

    assert launch(rank, 4) == [[1], [1], [3], [3]]


def test_nothing_stays_in_the_store(tmp_path: Path) -> None:
    save(tmp_path, 1)

    def rank() -> list[str]:
        dist.barrier()
        for _ in range(3):
            load(tmp_path)
        dist.barrier()
        keys = dist.distributed_c10d._get_default_store().list_keys()
        return [key for key in keys if "checkpoint/load" in key]

    assert launch(rank, 3) == [[]] * 3


def test_copies_on_disks_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host has another checkpoint under the same path, made by each rank alone: there is nothing to agree on."""
    from minitorch_dist.distributed.checkpoint import agreement

    monkeypatch.setattr(agreement, "host_mark", lambda: f"host {dist.get_rank()}")
    monkeypatch.setattr(
        agreement.JointLoad, "_key", lambda self, number: f"{self.counts.begun}/{number}"
    )

    def rank() -> int:
        place = tmp_path / f"{dist.get_rank()}"
        save(place, dist.get_rank() + 1)
        return load(place)

    assert launch(rank, 3) == [1, 2, 3]


def test_in_a_simulation_with_shapes_and_in_a_folded_one(tmp_path: Path) -> None:
    """One rank stands for others there, and cannot speak for them in the store. The times are the same."""
    save(tmp_path, 1)

    def program() -> None:
        state = {"x": mt.zeros(5, 3)}
        dcp.load(state, checkpoint_id=tmp_path)
        dist.all_reduce(state["x"])

    net = sim.two_level(8, 2, sim.link("2us", "450GB/s"), sim.link("5us", "400Gb/s"))
    full, folded = (sim.run(program, 8, shapes=True, fold=fold, net=net) for fold in (False, True))
    assert folded.time == full.time > 0 and folded.folded
