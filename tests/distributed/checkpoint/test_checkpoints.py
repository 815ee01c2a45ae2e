"""Saved by some ranks, loaded by others; and nothing is lost when a save is cut short."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
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
from minitorch_dist.distributed.tensor import Replicate, Shard, distribute_tensor
from minitorch_dist.launching import launch

X = np.arange(7 * 3, dtype=np.float64).reshape(7, 3)


def state(size: int, placement: Any, fill: bool) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (size,))
    tensor = distribute_tensor(mt.tensor(X) * bool(fill), mesh, [placement])
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


def test_files_are_safetensors_and_a_save_keeps_one_old_generation(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")

    def save() -> None:
        dcp.save(state(2, Shard(0), True), checkpoint_id=tmp_path)

    kept: list[list[str]] = []
    for _ in range(4):
        launch(save, 2)
        kept.append(sorted(path.name for path in tmp_path.glob("*.safetensors")))
    assert [len(names) for names in kept] == [2, 4, 4, 4]
    assert all(len(set(new) & set(old)) == 2 for new, old in pairwise(kept))
    index = json.loads((tmp_path / "index.json").read_text())
    last = sorted(tmp_path.glob(f"{index['generation']}-*"))
    rows = [safetensors.load_file(path).get("model.weight") for path in last]
    np.testing.assert_array_equal(np.concatenate(rows), X)
    assert sorted(path.name for path in tmp_path.iterdir()) == [*kept[-1], "index.json"]


def test_one_rank_that_cannot_write_fails_the_save_everywhere(tmp_path: Path) -> None:
    def rank(folder: Path) -> None:
        dcp.save(state(2, Shard(0), True), checkpoint_id=folder)

    launch(rank, 2, args=(tmp_path,))
    good = (tmp_path / "index.json").read_bytes()

    def failing() -> None:
        folder = tmp_path if dist.get_rank() == 0 else tmp_path / "index.json" / "under a file"
        with pytest.raises(CheckpointException, match=r"nothing was saved .* rank 1: NotADirectoryError") as e:
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
import fcntl, os, sys
from pathlib import Path
import minitorch_dist as mt
import minitorch_dist.distributed.checkpoint as dcp
from transports import keeper

left = 10**9

def spend(count=1):
    global left
    left -= count
    if left < 0:
        os._exit(9)

def costly(owner, name):
    right = getattr(owner, name)
    def call(*args, **more):
        spend()
        found = right(*args, **more)
        spend()
        return found
    setattr(owner, name, call)

for owner, name in [(os, "fsync"), (Path, "unlink"), (Path, "replace"), (Path, "mkdir"), (fcntl, "flock"),
                    (os, "ftruncate"), (os, "pwrite")]:
    costly(owner, name)

class Counting:
    def __init__(self, file): self.file = file
    def write(self, data):
        for byte in range(0, len(data), 64):  # die in the middle of a write
            piece = bytes(data[byte:byte + 64]); spend(); self.file.write(piece); self.file.flush()
        return len(data)
    def __enter__(self): return self
    def __exit__(self, *_): self.file.close()

inner = keeper.Draft.file
keeper.Draft.file = lambda self: Counting(inner(self))

place = Path(sys.argv[1])
def save(turn):
    dcp.save({"x": mt.full((5,), float(turn)), "n": turn}, checkpoint_id=place, no_dist=True)
def load():
    found = {"x": mt.zeros(5), "n": 0}
    dcp.load(found, checkpoint_id=place, no_dist=True)
    assert found["x"].tolist() == [float(found["n"])] * 5, found
    return found["n"]

save(1)
seen, budget, turn = [], 0, 1
while True:
    child = os.fork()
    if child == 0:
        left = budget
        save(turn + 1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9), code
    now = load()
    assert now in (turn, turn + 1), (budget, now, turn)
    seen.append(now - turn)
    turn = now
    if budget % 10 == 0:
        save(turn)
        kept = sorted(os.listdir(place))
        assert len(kept) == 4 and "victim" in kept, kept
    budget += 1
    if code == 0:
        break
save(turn)
print(len(seen), seen[0], seen[-1], len(os.listdir(place)), sorted(seen) == seen)
"""


@pytest.mark.slow
def test_a_crash_at_any_step_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    """Before and after each call of the system that changes something, and within each write."""
    (tmp_path / "victim").write_bytes(b"of others")
    told = subprocess.check_output([sys.executable, "-c", KILLED, tmp_path], text=True)
    steps, first, last, names, are_in_order = told.split()
    assert int(steps) > 60  # so many places were tried
    assert (first, last, names, are_in_order) == ("0", "1", "4", "True"), told


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointException, match="there is no checkpoint in"):
        dcp.load({}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match="say where"):
        dcp.save({"x": mt.ones(1)})
    dcp.save({"x": mt.ones(3), "n": 1}, checkpoint_id=tmp_path)
    with pytest.raises(CheckpointException, match=r"Missing key in checkpoint state_dict: y\. .*x, n"):
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
    index["tensors"]["x"]["chunks"][0]["file"] = "\ud800"  # JSON may say it, and no file can have it
    (tmp_path / "index.json").write_text(json.dumps(index))
    with pytest.raises(CheckpointException, match=r"no file can have this name"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(CheckpointException, match="damaged"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)
    (tmp_path / "index.json").write_text("[]")
    with pytest.raises(CheckpointException, match="not a checkpoint's index"):
        dcp.load({"x": mt.ones(3)}, checkpoint_id=tmp_path)

    def rank() -> None:
        with pytest.raises(CheckpointException, match=r"do not agree: x is float32\[2\] on rank 1"):
            dcp.save({"x": mt.ones(dist.get_rank() + 1)}, checkpoint_id=tmp_path)

    launch(rank, 2)
