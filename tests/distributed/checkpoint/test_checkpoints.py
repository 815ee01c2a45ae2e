"""Saved by some ranks, loaded by others; and nothing is lost when a save is cut short."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed as dist
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist import nn, optim
from minitorch_dist.distributed.checkpoint import CheckpointException
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor import Replicate, Shard, distribute_tensor, zeros
from minitorch_dist.launching import launch

X = np.arange(7 * 3, dtype=np.float64).reshape(7, 3)


def state(size: int, placement: Any, fill: bool) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (size,))
    tensor = distribute_tensor(mt.tensor(X), mesh, [placement]) if fill else zeros(
        7, 3, device_mesh=mesh, placements=[placement], dtype=mt.float64
    )  # fmt: skip
    return {
        "model": {"weight": tensor, "bias": mt.full((2,), 5.0 if fill else 0.0)},
        "step": 12 if fill else None,
        "history": [1.5, float("inf")] if fill else [],
        "parts": [{"x": mt.full((), 3, dtype=mt.int64) * int(fill)}],
        "about": ("a", 1 + 2j, b"\0") if fill else None,
    }


def check(found: dict[str, Any]) -> None:
    np.testing.assert_array_equal(found["model"]["weight"].full_tensor().numpy(), X)
    assert found["model"]["bias"].tolist() == [5.0, 5.0]
    assert (found["step"], found["history"]) == (12, [1.5, float("inf")])
    assert found["parts"][0]["x"].item() == 3
    assert found["about"] == ("a", 1 + 2j, b"\0")


@pytest.mark.parametrize("saved_by", [1, 2, 4])
def test_loaded_by_other_numbers_of_ranks(saved_by: int, tmp_path: Path) -> None:
    def save(placement: Any, to: Path) -> None:
        dcp.save(state(saved_by, placement, True), checkpoint_id=to)

    def load(placement: Any, of: Path) -> None:
        found = state(dist.get_world_size(), placement, False)
        dcp.load(found, checkpoint_id=of)
        check(found)

    for one in (Shard(0), Shard(1), Replicate()):
        folder = tmp_path / repr(one)
        launch(save, saved_by, args=(one, folder))
        assert not list(folder.glob(".*"))
        for size in (1, 2, 3):
            for other in (Shard(0), Shard(1), Replicate()):
                launch(load, size, args=(other, folder))


def test_without_a_world_and_with_objects_that_have_a_state(tmp_path: Path) -> None:
    mt.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    model(mt.ones(1, 3)).sum().backward()
    optimizer.step()
    dcp.save({"model": model, "optim": optimizer, "epoch": 3}, checkpoint_id=tmp_path)
    mt.manual_seed(1)
    other = nn.Linear(3, 2)
    second = optim.Adam(other.parameters(), lr=0.5)
    other(mt.ones(1, 3)).sum().backward()
    second.step()
    found: dict[str, Any] = {"model": other, "optim": second, "epoch": 0}
    dcp.load(found, checkpoint_id=tmp_path)
    assert found["epoch"] == 3
    assert mt.equal(other.weight, model.weight)
    assert second.param_groups[0]["lr"] == 0.1
    assert mt.equal(second.state[other.weight]["exp_avg"], optimizer.state[model.weight]["exp_avg"])


def test_files_are_safetensors_and_a_second_save_replaces_the_first(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")

    def save() -> None:
        dcp.save(state(2, Shard(0), True), checkpoint_id=tmp_path)

    launch(save, 2)
    first = sorted(path.name for path in tmp_path.iterdir())
    launch(save, 2)
    second = sorted(path.name for path in tmp_path.iterdir())
    assert len(first) == len(second) == 3
    assert set(first) & set(second) == {"index.json"}
    rows = [safetensors.load_file(tmp_path / name).get("model.weight") for name in second[:2]]
    np.testing.assert_array_equal(np.concatenate(rows), X)


def test_saved_beside_the_training(tmp_path: Path) -> None:
    def rank() -> None:
        found = state(3, Shard(0), True)
        saving = dcp.async_save(found, checkpoint_id=tmp_path)
        found["model"]["weight"].to_local().fill_(-1.0)  # training goes on
        found["model"]["bias"].fill_(-1.0)
        assert saving.result().generation
        assert saving.exception() is None
        assert saving.done()
        again = state(3, Shard(1), False)
        dcp.load(again, checkpoint_id=tmp_path)
        check(again)

    launch(rank, 3)
    launch(rank, 3, "sim://")


def test_nothing_stays_in_the_store(tmp_path: Path) -> None:
    def rank() -> None:
        store = dist.distributed_c10d._get_default_group().get_group_store()
        dcp.save(state(3, Shard(0), True), checkpoint_id=tmp_path)
        dist.barrier()
        assert not [key for key in store.list_keys() if key.startswith("checkpoint/")]
        (tmp_path / "file").write_text("")
        folder = tmp_path if dist.get_rank() != 1 else tmp_path / "file" / "below"
        with pytest.raises(CheckpointException, match="rank 1"):
            dcp.save(state(3, Shard(0), True), checkpoint_id=folder)
        dist.barrier()
        assert not [key for key in store.list_keys() if key.startswith("checkpoint/")]

    launch(rank, 3)


def test_one_rank_that_cannot_write_fails_the_save_everywhere(tmp_path: Path) -> None:
    def rank(folder: Path) -> None:
        dcp.save(state(2, Shard(0), True), checkpoint_id=folder)

    launch(rank, 2, args=(tmp_path,))
    good = (tmp_path / "index.json").read_bytes()

    def failing() -> None:
        folder = tmp_path if dist.get_rank() == 0 else tmp_path / "index.json" / "under a file"
        with pytest.raises(
            CheckpointException, match=r"nothing was saved .* rank 1: NotADirectoryError"
        ) as e:
            dcp.save(state(2, Shard(0), True), checkpoint_id=folder)
        assert list(e.value.failures) == [1]

    launch(failing, 2)
    assert (tmp_path / "index.json").read_bytes() == good

    def loads() -> None:
        found = state(1, Shard(0), False)
        dcp.load(found, checkpoint_id=tmp_path)
        check(found)

    launch(loads, 1)


KILLED = """
import os, sys
import numpy as np
import minitorch_dist as mt
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist.serialization import container, files
from pathlib import Path

left = int(sys.argv[2])

def spend(count):
    global left
    left -= count
    if left < 0:
        os._exit(9)

class Counting:
    def __init__(self, file): self.file = file
    def write(self, data):
        for byte in range(0, len(data), 16):  # die in the middle of a write
            piece = bytes(data[byte:byte + 16]); spend(len(piece)); self.file.write(piece); self.file.flush()
        return len(data)

inner = files.replacing
from contextlib import contextmanager
@contextmanager
def replacing(path):
    with inner(path) as file:
        yield Counting(file)
    spend(1)
import minitorch_dist.distributed.checkpoint.folder as folder
folder.replacing = replacing
unlink = Path.unlink
def counted(self, *a, **k):
    spend(1); unlink(self, *a, **k)
Path.unlink = counted
dcp.save({"x": mt.full((5,), 2.0), "n": 2}, checkpoint_id=sys.argv[1], no_dist=True)
"""


@pytest.mark.slow
def test_a_crash_at_any_byte_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    dcp.save({"x": mt.full((5,), 1.0), "n": 1}, checkpoint_id=tmp_path, no_dist=True)
    seen = []
    for budget in [*range(0, 700, 100), 10**9]:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), str(budget)], check=False
        )
        assert done.returncode in (0, 9)
        found: dict[str, Any] = {"x": mt.zeros(5), "n": 0}
        dcp.load(found, checkpoint_id=tmp_path, no_dist=True)
        assert found["x"].tolist() == [float(found["n"])] * 5
        seen.append(found["n"])
        if found["n"] == 2:
            dcp.save({"x": mt.full((5,), 1.0), "n": 1}, checkpoint_id=tmp_path, no_dist=True)
    assert seen[0] == 1
    assert seen[-1] == 2
    assert not list(tmp_path.glob(".*"))  # the next save has swept away what crashes left


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointException, match="there is no checkpoint in"):
        dcp.load({}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match="say where"):
        dcp.save({"x": mt.ones(1)})
    dcp.save({"x": mt.ones(3), "n": 1}, checkpoint_id=tmp_path)
    with pytest.raises(
        CheckpointException, match=r"Missing key in checkpoint state_dict: y\. .*x, n"
    ):
        dcp.load({"y": mt.ones(3)}, checkpoint_id=tmp_path)
    with pytest.raises(CheckpointException, match=r"x is \[4\] here and \[3\]"):
        dcp.load({"x": mt.ones(4)}, checkpoint_id=tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    name = index["tensors"]["x"]["chunks"][0]["file"]
    (tmp_path / name).write_bytes(b"12345678901")
    with pytest.raises(RuntimeError, match="header"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(CheckpointException, match=r"is missing, which the index"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)
    index["tensors"]["x"]["chunks"][0]["file"] = (
        "\ud800"  # JSON may say it, and no file can have it
    )
    (tmp_path / "index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointException, match=r"names '\\ud800', which no file can have"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(CheckpointException, match="damaged"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(CheckpointException, match="no checkpoint's index"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)

    def rank() -> None:
        with pytest.raises(CheckpointException, match=r"do not agree: x is float32\[2\] on rank 1"):
            dcp.save({"x": mt.ones(dist.get_rank() + 1)}, checkpoint_id=tmp_path)

    launch(rank, 2)
