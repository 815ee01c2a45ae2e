"""One file of a checkpoint and back: nested as it was, whole tensors, by any number of ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mt
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist import nn, optim
from minitorch_dist.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp
from minitorch_dist.distributed.device_mesh import init_device_mesh
from minitorch_dist.distributed.tensor import Shard, distribute_tensor


def trained() -> dict[str, Any]:
    mt.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    model(mt.ones(2, 3)).sum().backward()
    optimizer.step()
    return {"model": model.state_dict(), "optim": optimizer.state_dict(), "epoch": 3, "note": "a.b"}


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, mt.Tensor):
        return left.dtype == right.dtype and left.tolist() == right.tolist()
    return bool(left == right)


def keys(state: Any) -> Any:
    return (
        {key: keys(state[key]) for key in sorted(state, key=str)}
        if isinstance(state, dict)
        else state
    )


def test_there_and_back(tmp_path: Path) -> None:
    state = trained() | {"odd": [mt.zeros(0), {"x": mt.ones((), dtype=mt.bfloat16)}], "none": None}
    dcp.save(state, checkpoint_id=tmp_path / "many", no_dist=True)
    dcp_to_torch_save(tmp_path / "many", tmp_path / "one.pt")
    found = mt.load(tmp_path / "one.pt")
    assert same(keys(state), keys(found))
    torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "again")
    dcp_to_torch_save(tmp_path / "again", tmp_path / "two.pt")
    assert same(keys(state), keys(mt.load(tmp_path / "two.pt")))


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_what_many_ranks_saved_is_one_tensor(size: int, tmp_path: Path) -> None:
    def main() -> None:
        mesh = init_device_mesh("cpu", (size,))
        whole = mt.arange(14.0).reshape(7, 2)
        dcp.save(
            {"w": {"x": distribute_tensor(whole, mesh, [Shard(0)])}},
            checkpoint_id=tmp_path / "many",
        )

    mt.launch(main, size)
    dcp_to_torch_save(tmp_path / "many", tmp_path / "one.pt")
    assert mt.load(tmp_path / "one.pt")["w"]["x"].tolist() == mt.arange(14.0).reshape(7, 2).tolist()


def test_only_a_dict_makes_a_checkpoint(tmp_path: Path) -> None:
    mt.save(mt.ones(3), tmp_path / "one.pt")
    with pytest.raises(ValueError, match=r"one\.pt holds a Tensor; a checkpoint is made of a dict"):
        torch_save_to_dcp(tmp_path / "one.pt", tmp_path / "many")
