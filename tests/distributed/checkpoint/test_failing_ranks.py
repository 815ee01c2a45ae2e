"""A rank that fails in any phase of a save: all ranks raise the same error at once, with its reason, and live on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist.distributed.checkpoint import CheckpointException, values, writing
from minitorch_dist.distributed.checkpoint.folder import INDEX
from minitorch_dist.launching import launch
from tests.odd_files import snapshot
from transports import keeper

PHASES = {
    "plan": (values, "packed"),
    "part": (writing, "write_part"),
    "index": (writing, "write_index"),
    "lock": (keeper, "holding"),
    "sweep": (writing, "_sweep"),
}


def mine(turn: int) -> dict[str, Any]:
    return {f"x{dist.get_rank()}": mt.full((4,), turn), "turn": turn}


def save(folder: Path, turn: int) -> None:
    dcp.save(mine(turn), checkpoint_id=folder)


CASES = [
    (phase, size, victim)
    for phase in PHASES
    for size, victim in ((1, 0), (2, 0), (3, 2), (5, 0))
    if victim == 0 or phase not in ("index", "lock", "sweep")  # only rank 0 does these
]


@pytest.mark.parametrize(("phase", "size", "victim"), CASES)
def test_all_ranks_hear_why(
    phase: str, size: int, victim: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, function = PHASES[phase]
    right = getattr(module, function)
    armed = [False]

    def failing(*args: Any, **more: Any) -> Any:
        if armed[0] and dist.get_rank() == victim:
            raise OSError(28, "No space left on device")
        return right(*args, **more)

    monkeypatch.setattr(module, function, failing)

    def rank() -> tuple[str, list[int]]:
        save(tmp_path, 1)
        dist.barrier()
        armed[0] = True
        dist.barrier()
        with pytest.raises(CheckpointException) as caught:
            save(tmp_path, 2)
        dist.barrier()
        armed[0] = False
        dist.barrier()
        before = snapshot(tmp_path)
        dist.barrier()
        found = {f"x{rank}": mt.zeros(4) for rank in range(size)} | {"turn": 0}
        dcp.load(found, checkpoint_id=tmp_path)
        assert found["turn"] == 1 and found[f"x{size - 1}"].tolist() == [1.0] * 4
        assert set(before) == {INDEX, *(name for name in before if name.endswith(f"{size:05d}.safetensors"))}
        assert len(before) == 1 + size, "the failed save left something behind"
        dist.barrier()
        save(tmp_path, 3)
        dist.barrier()
        dcp.load(found, checkpoint_id=tmp_path)
        assert found["turn"] == 3
        return str(caught.value), sorted(caught.value.failures)

    told = launch(rank, size)
    assert len({words for words, _ in told}) == 1, told
    assert f"rank {victim}: OSError: [Errno 28] No space left on device" in told[0][0]
    assert all(ranks == [victim] for _, ranks in told)


def test_ctrl_c_on_rank_0_does_not_let_the_others_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook lives on after it."""
    for function in ("prepare", "write_index"):
        right = getattr(writing, function)

        def interrupted(*args: Any, right: Any = right) -> Any:
            raise KeyboardInterrupt

        def rank(place: Path) -> None:
            expected = KeyboardInterrupt if dist.get_rank() == 0 else CheckpointException
            with pytest.raises(expected):
                dcp.save(mine(1), checkpoint_id=place)
            dist.barrier()
            assert not list(place.glob("*"))

        with monkeypatch.context() as patched:
            patched.setattr(writing, function, interrupted)
            launch(rank, 3, args=(tmp_path / function,))


def test_an_object_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    class Config:
        def __init__(self) -> None:
            self.width = 3

    def rank() -> str:
        things = mine(1) | ({"config": Config()} if dist.get_rank() == 1 else {})
        with pytest.raises(CheckpointException) as caught:
            dcp.save(things, checkpoint_id=tmp_path / "it")
        return str(caught.value)

    for told in launch(rank, 3):
        assert "rank 1: Unsendable: config cannot be saved: " in told
        assert "Save vars(config) or a dict " in told and "call Config(**…)" in told
        assert "\n" not in told
    assert not (tmp_path / "it").exists()
