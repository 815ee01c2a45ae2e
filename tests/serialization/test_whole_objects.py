"""Whole objects as pickles: only when asked for on both sides, and forbidden by the environment."""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd

ran: list[str] = []


class Planted:
    """Runs something when it is read."""

    def __reduce__(self) -> Any:
        return ran.append, ("code",)


class Net(mtd.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.note = mtd.nn.Linear(3, 2), {"a": (1, None)}

    def forward(self, x: Any) -> Any:
        return self.layer(x)


def test_a_module_comes_back(tmp_path: Path) -> None:
    net, x = Net(), mtd.ones(1, 3)
    mtd.save(net, tmp_path / "net", pickle_module=pickle)
    found = mtd.load(tmp_path / "net", weights_only=False)
    assert mtd.equal(found(x), net(x)) and found.note == net.note
    file = io.BytesIO()
    mtd.save(net, file, pickle_module=pickle)
    file.seek(0)
    assert mtd.equal(mtd.load(file, map_location="cpu", weights_only=False)(x), net(x))


def test_nothing_runs_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "planted"
    mtd.save(Planted(), path, pickle_module=pickle)
    for told in ({}, {"weights_only": True}, {"weights_only": None}):
        with pytest.raises(mtd.SerializationError, match="looks like a pickle"):
            mtd.load(path, **told)  # type: ignore[arg-type]
    monkeypatch.setenv("MINITORCH_DIST_ALLOW_PICKLE", "0")
    with pytest.raises(mtd.SerializationError, match="ALLOW_PICKLE=0 forbids it"):
        mtd.load(path, weights_only=False)
    with pytest.raises(mtd.SerializationError, match="ALLOW_PICKLE=0 forbids it"):
        mtd.save(Net(), tmp_path / "other", pickle_module=pickle)
    assert not (tmp_path / "other").exists() and not ran


def test_a_file_of_ours_is_read_as_ever(tmp_path: Path) -> None:
    """Also one whose header is 128 bytes long, so that it begins as a pickle does."""
    for name in ("x" * n for n in range(1, 100)):
        mtd.save({name: mtd.ones(2)}, tmp_path / "f")
        assert list(mtd.load(tmp_path / "f", weights_only=False)) == [name]


def test_the_error_for_a_module_says_how() -> None:
    with pytest.raises(
        TypeError, match=r"state_dict\(\).*pickle_module=pickle.*weights_only=False"
    ):
        mtd.save(Net(), io.BytesIO())
    with pytest.raises(mtd.SerializationError, match="map_location"):
        file = io.BytesIO(pickle.dumps(3))
        mtd.load(file, map_location="cuda:0", weights_only=False)


def test_the_error_for_a_function_says_how(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"obj\[\"act\"\] is a function \(.*\)\. .* Save its name"):
        mtd.save({"act": lambda x: x}, io.BytesIO())
    with pytest.raises((pickle.PicklingError, AttributeError)) as caught:
        mtd.save({"act": lambda x: x}, tmp_path / "act", pickle_module=pickle)
    assert "define them with `def` in a module" in caught.value.__notes__[0]
    assert list(tmp_path.iterdir()) == []
    mtd.save({"act": mtd.relu}, tmp_path / "act", pickle_module=pickle)
    assert mtd.load(tmp_path / "act", weights_only=False)["act"] is mtd.relu
