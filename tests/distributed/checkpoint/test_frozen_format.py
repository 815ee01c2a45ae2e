"""Checkpoints lie on disks for years: the bytes of a save are those of before, and those of before are read."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist.distributed.checkpoint import writing
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor import Shard, distribute_tensor
from minitorch_dist.launching import launch

FROZEN = json.loads((Path(__file__).parent / "frozen.json").read_text())


def state(fill: float) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    whole = mt.arange(21.0).reshape(7, 3) * bool(fill)
    sharded = distribute_tensor(whole, mesh, [Shard(0)])
    return {
        "w": sharded,
        "b": mt.ones(4, dtype=mt.bfloat16) * fill,
        "s": mt.tensor(2.5 * fill),
        "none": None,
        "step": 7 * fill,
        "deep": {"list": [{"x": mt.full((2,), 3.0 * fill)}], "pair": (1, fill)},
    }


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.suffix in (".json", ".safetensors")
    }


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_the_bytes_are_those_of_before(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2):  # the second index tells of the first
        monkeypatch.setattr("uuid.uuid4", lambda number=number: UUID(int=number << 100))
        launch(lambda: dcp.save(state(1.0), checkpoint_id=tmp_path) and None, size)
    assert digests(tmp_path) == FROZEN["digests"][str(size)]


def write_old(folder: Path) -> None:
    """Two ranks' files as a planner saved them: values as files of `save`, and a key of its own for a second chunk."""
    for name, octets in FROZEN["planned"].items():
        (folder / name).write_bytes(base64.b64decode(octets))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_a_planner_saved_is_read(size: int, tmp_path: Path) -> None:
    write_old(tmp_path)

    def load() -> Any:
        found = state(0.0)
        dcp.load(found, checkpoint_id=tmp_path)
        whole = found["w"].full_tensor()
        rest = (found["b"].tolist(), found["s"].item(), found["step"], found["none"], found["deep"]["pair"])
        return whole.flatten().tolist(), rest, found["deep"]["list"][0]["x"].tolist()

    expected = ([float(n) for n in range(21)], ([1.0] * 4, 2.5, 7.0, None, (1, 1.0)), [3.0, 3.0])
    assert launch(load, size) == [expected] * size


def test_a_chunk_may_have_a_key_of_its_own(tmp_path: Path) -> None:
    """So a planner of before kept two chunks of one tensor in one file."""
    arrays = {"x": np.arange(2.0), "x@2": np.arange(2.0, 5.0)}
    writing.write_part(tmp_path, "g-00000-of-00001.safetensors", arrays).close()
    chunks = [
        {"file": "g-00000-of-00001.safetensors", "offsets": [begin], "sizes": [array.size], "key": key}
        for begin, (key, array) in zip((0, 2), arrays.items(), strict=True)
    ]
    tensors = {"x": {"shape": [5], "dtype": "float64", "chunks": chunks}}
    index = {"format": "minitorch_dist checkpoint 1", "generation": "g", "tensors": tensors, "values": {}, "paths": {}}
    (tmp_path / "index.json").write_text(json.dumps(index))
    found = {"x": mt.zeros(5, dtype=mt.float64)}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
