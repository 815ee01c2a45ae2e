"""State dicts go to PyTorch and back through safetensors; `map_location` means what it means there."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parity.compare import mtd, to_numpy, torch

safetensors = pytest.importorskip("safetensors.torch")
pytestmark = pytest.mark.parity

NAMES = ["float16", "bfloat16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]


def values(t: Any) -> dict[str, Any]:
    base = t.arange(12.0).reshape(3, 4)
    made = {
        "weight": base,
        "tied": base,
        "row": base[1],
        "transposed": t.arange(6.0).reshape(2, 3).t(),
        "cut": t.arange(24.0).reshape(4, 6)[:, :4],
        "pieces": t.arange(100.0)[::9],
        "wide": t.ones(1).expand(3, 2),
        "empty": t.zeros(0, 3),
        "scalar": t.tensor(3),
        "layer.0.naïve": t.ones(1),
    }
    for name in NAMES:
        made[name] = t.arange(5).to(getattr(t, name))
    return made


def test_a_state_dict_opens_in_torch(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    mtd.save(values(mtd), path)
    loaded, expected = safetensors.load_file(path), values(torch)
    assert set(loaded) == set(expected)
    for name, tensor in expected.items():
        assert loaded[name].dtype == tensor.dtype and torch.equal(loaded[name], tensor), name


def test_nested_dicts_open_too(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    mtd.save({"model": {"w": mtd.ones(2)}, "optimizer": {"state": {0: {"step": mtd.tensor(1.0)}}}}, path)
    assert set(safetensors.load_file(path)) == {"model.w", "optimizer.state.0.step"}


@pytest.mark.parametrize("metadata", [None, {"format": "pt", "note": "x"}])
def test_a_file_of_torch_opens_here(metadata: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    theirs = {name: t.contiguous().clone() for name, t in values(torch).items()}
    safetensors.save_file(theirs, path, metadata=metadata)
    loaded = mtd.load(path)
    assert set(loaded) == set(theirs)
    for name, tensor in theirs.items():
        assert str(loaded[name].dtype) == str(tensor.dtype)
        np.testing.assert_array_equal(to_numpy(loaded[name]), to_numpy(tensor))


def both(obj_of: Any, **options: Any) -> tuple[Any, Any]:
    found = []
    for t in (torch, mtd):
        file = io.BytesIO()
        t.save(obj_of(t), file)
        file.seek(0)
        found.append(t.load(file, **options))
    return found[0], found[1]


def test_sharing_strides_and_flags_as_torch_keeps_them() -> None:
    def make(t: Any) -> Any:
        base = t.arange(12.0).reshape(3, 4)
        weight = t.ones(2, requires_grad=True)
        return [base, base[1], base.t(), base[:, 1:3], weight, weight * 2, t.ones(4, 6).t()]

    theirs, ours = both(make)
    for a, b in zip(theirs, ours, strict=True):
        assert a.stride() == b.stride() and a.requires_grad == b.requires_grad
        assert a.is_leaf == b.is_leaf and a.tolist() == b.tolist()
    for loaded in (theirs, ours):
        loaded[0][1, 1] = 50
        assert [x.flatten()[1].item() for x in loaded[1:3]] == [50, 4] and loaded[3][1, 0] == 50


def test_map_location_on_the_cpu() -> None:
    def make(t: Any) -> Any:
        return {"x": t.ones(2)}

    for location in ("cpu", {"cuda:0": "cuda:1"}, {"cpu": "cpu"}, lambda s, where: s, lambda s, where: None):
        theirs, ours = both(make, map_location=location)
        assert str(theirs["x"].device) == str(ours["x"].device) == "cpu"
    for t in (torch, mtd):
        file = io.BytesIO()
        t.save(make(t), file)
        file.seek(0)
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on"):
            t.load(file, map_location="cuda:0")


def test_the_optimizer_state_opens_in_torch(tmp_path: Path) -> None:
    """The structure is read here, the tensors there: they continue the same run."""
    weight = mtd.nn.Parameter(mtd.ones(3))
    ours = mtd.optim.Adam([weight], lr=0.1)
    (weight * weight).sum().backward()
    ours.step()
    mtd.save({"optimizer": ours.state_dict()}, tmp_path / "x")
    tensors = safetensors.load_file(tmp_path / "x")
    parameter = torch.nn.Parameter(torch.ones(3))
    theirs = torch.optim.Adam([parameter], lr=0.1)
    (parameter * parameter).sum().backward()
    theirs.step()
    for name, tensor in theirs.state[parameter].items():
        assert torch.allclose(tensors[f"optimizer.state.0.{name}"], tensor), name
