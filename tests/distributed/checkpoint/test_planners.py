"""Planners and places of one's own, with several ranks."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist.distributed.checkpoint import (
    CheckpointException,
    DefaultLoadPlanner,
    DefaultSavePlanner,
)
from minitorch_dist.distributed.checkpoint.format_utils import dcp_to_torch_save
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor import Replicate, Shard, distribute_tensor, zeros
from minitorch_dist.launching import launch

X = np.arange(21.0).reshape(7, 3)


class Told(DefaultSavePlanner):
    """A planner like the usual one, which is not the usual one."""


class Heard(DefaultLoadPlanner):
    """The same."""


class Half(DefaultSavePlanner):
    def resolve_data(self, write_item: Any) -> Any:
        found = super().resolve_data(write_item)
        return found if isinstance(found, io.BytesIO) else found.half()


def state(fill: bool, placement: Any) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    whole = distribute_tensor(mt.tensor(X), mesh, [placement]) if fill else zeros(
        7, 3, device_mesh=mesh, placements=[placement], dtype=mt.float64
    )  # fmt: skip
    rank = dist.get_rank()
    return {
        "w": whole, "b": mt.ones(4) * fill, "s": mt.tensor(2.5 * fill), "step": 7 * fill,
        "list": [{"x": mt.full((2,), 3.0 * fill)}, {"x": mt.ones(1) * fill}], f"own{rank}": rank + fill,
    }  # fmt: skip


@pytest.mark.parametrize("planner", [Told, Half, lambda: Told(dedup_save_to_lowest_rank=True)])
@pytest.mark.parametrize("saved_by", [1, 2, 3, 5])
def test_saved_by_some_loaded_by_others(saved_by: int, planner: Any, tmp_path: Path) -> None:
    def save(placement: Any) -> Any:
        return dcp.save(state(True, placement), checkpoint_id=tmp_path, planner=planner())

    def load(placement: Any, reading: Any) -> None:
        found = state(False, placement)
        if dist.get_rank() >= saved_by:
            del found[f"own{dist.get_rank()}"]
        dcp.load(found, checkpoint_id=tmp_path, planner=reading() if reading else None)
        np.testing.assert_array_equal(found["w"].full_tensor().numpy(), X)
        assert (found["b"].tolist(), found["s"].item(), found["step"]) == ([1.0] * 4, 2.5, 7)
        assert [one["x"].tolist() for one in found["list"]] == [[3.0, 3.0], [1.0]]
        if dist.get_rank() < saved_by:
            assert found[f"own{dist.get_rank()}"] == dist.get_rank() + 1

    for metadata in launch(save, saved_by, args=(Shard(0),)):
        chunks = metadata.state_dict_metadata["w"].chunks
        assert sum(int(np.prod(chunk.sizes)) for chunk in chunks) == X.size
        assert len(metadata.state_dict_metadata["b"].chunks) == 1, "what all have is written once"
    for size in (1, 2, 3):
        for reading in (None, Heard):
            launch(load, size, args=(Shard(1) if size == 2 else Replicate(), reading))
    dcp_to_torch_save(tmp_path, tmp_path / "whole")
    whole = mt.load(tmp_path / "whole")
    np.testing.assert_array_equal(whole["w"].numpy(), X)
    assert [one["x"].tolist() for one in whole["list"]] == [[3.0, 3.0], [1.0]]


def test_what_a_planner_made_is_what_the_short_way_reads_and_the_other_way_round(
    tmp_path: Path,
) -> None:
    def run() -> None:
        for first, second in ((None, Heard()), (Told(), None)):
            dcp.save(state(True, Shard(0)), checkpoint_id=tmp_path, planner=first)
            found = state(False, Shard(1))
            dcp.load(found, checkpoint_id=tmp_path, planner=second)
            np.testing.assert_array_equal(found["w"].full_tensor().numpy(), X)
            assert found["step"] == 7

    launch(run, 2)


@pytest.mark.parametrize("where", ["set_up_planner", "create_global_plan", "resolve_data"])
def test_one_that_fails_ends_it_for_all_with_its_reason(where: str, tmp_path: Path) -> None:
    def broken(self: Any, *args: Any, **kwargs: Any) -> Any:
        if dist.get_rank() == 0:
            raise ZeroDivisionError("no disk")
        return getattr(DefaultSavePlanner, where)(self, *args, **kwargs)

    cls = type("Broken", (DefaultSavePlanner,), {where: broken})

    def run() -> None:
        dcp.save({"x": mt.ones(2)}, checkpoint_id=tmp_path, planner=Told())
        with pytest.raises(CheckpointException, match="rank 0: ZeroDivisionError: no disk"):
            dcp.save({"x": mt.zeros(2)}, checkpoint_id=tmp_path, planner=cls())
        found = {"x": mt.zeros(2)}
        dcp.load(found, checkpoint_id=tmp_path)
        assert found["x"].tolist() == [1.0, 1.0], "the old one is still there"

    launch(run, 3)


def test_async_with_a_planner(tmp_path: Path) -> None:
    saving = dcp.async_save({"x": mt.ones(2)}, checkpoint_id=tmp_path, planner=Half(), no_dist=True)
    assert "x" in saving.result().state_dict_metadata
    found = {"x": mt.zeros(2)}
    dcp.load(found, storage_reader=dcp.FileSystemReader(tmp_path), no_dist=True)
    assert found["x"].tolist() == [1.0, 1.0]
