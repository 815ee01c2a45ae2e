"""Options of saving and loading under torch's names, and what is refused instead of ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed.checkpoint as dcp


def test_a_writer_a_reader_and_the_usual_planners_are_a_folder(tmp_path: Path) -> None:
    writer = dcp.FileSystemWriter(tmp_path, thread_count=8)
    dcp.save({"x": mt.ones(2)}, storage_writer=writer, planner=dcp.DefaultSavePlanner())
    found = {"x": mt.zeros(2)}
    reader = dcp.FileSystemReader(tmp_path)
    dcp.load(found, storage_reader=reader, planner=dcp.DefaultLoadPlanner())
    assert found["x"].tolist() == [1.0, 1.0]


def test_what_is_missing_stays_if_that_is_allowed(tmp_path: Path) -> None:
    dcp.save({"x": mt.ones(2)}, checkpoint_id=tmp_path)
    found = {"x": mt.zeros(2), "new": mt.full((1,), 5.0)}
    with pytest.raises(dcp.CheckpointException, match="Missing key in checkpoint state_dict: new"):
        dcp.load(found, checkpoint_id=tmp_path)
    planner = dcp.DefaultLoadPlanner(allow_partial_load=True)
    dcp.load(found, checkpoint_id=tmp_path, planner=planner)
    assert (found["x"].tolist(), found["new"].tolist()) == ([1.0, 1.0], [5.0])


def test_a_checkpoint_is_not_overwritten_where_the_writer_says_so(tmp_path: Path) -> None:
    dcp.save({"x": mt.ones(2)}, checkpoint_id=tmp_path)
    for place in (tmp_path, tmp_path / "other"):
        writer = dcp.FileSystemWriter(place, overwrite=False)
        with pytest.raises(RuntimeError, match="Checkpoint already exists"):
            dcp.save({"x": mt.ones(2)}, checkpoint_id=tmp_path, storage_writer=writer)


def test_classes_of_ones_own_are_refused(tmp_path: Path) -> None:
    class Mine(dcp.DefaultSavePlanner):
        pass

    class Place(dcp.FileSystemReader):
        pass

    with pytest.raises(TypeError, match=r"Mine is a class of your own.*PyTorch carries out"):
        dcp.save({"x": mt.ones(2)}, checkpoint_id=tmp_path, planner=Mine())
    with pytest.raises(TypeError, match="Place is a class of your own"):
        dcp.load({"x": mt.ones(2)}, storage_reader=Place(tmp_path))
    with pytest.raises(ValueError, match="Here each entry has a name of its own"):
        dcp.DefaultSavePlanner(flatten_state_dict=False)
