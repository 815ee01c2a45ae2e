"""A path is written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.serialization import container


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_paths(tmp_path: Path) -> None:
    for path in (tmp_path / "a.pt", str(tmp_path / "b.pt")):
        mtd.save({"x": 1}, path)
        assert mtd.load(path) == {"x": 1}
    assert names(tmp_path) == ["a.pt", "b.pt"]
    with pytest.raises(FileNotFoundError):
        mtd.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        mtd.save(1, tmp_path / "no" / "folder")
    with pytest.raises(IsADirectoryError):
        mtd.load(tmp_path)


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    mtd.save("old", path)

    def full(file: Any, *rest: Any) -> None:
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(container, "write", full)
        with pytest.raises(OSError, match="No space left"):
            mtd.save("new", path)
    with pytest.raises(TypeError):
        mtd.save({"f": print}, path)
    assert mtd.load(path) == "old"
    assert names(tmp_path) == ["model"]


def test_readers_see_the_old_file_until_the_new_one_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    mtd.save("old", path)
    seen: list[Any] = []
    real = os.fsync

    def watching(number: int) -> None:
        seen.append((mtd.load(path), stat.S_ISDIR(os.fstat(number).st_mode)))
        real(number)

    monkeypatch.setattr(os, "fsync", watching)
    mtd.save("new", path)
    assert seen == [("old", False), ("new", True)]  # the file, then the rename


def test_the_mode_and_the_link_stay(tmp_path: Path) -> None:
    path = tmp_path / "real"
    mtd.save(1, path)
    path.chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    mtd.save(2, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and mtd.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_device_file_is_written_to() -> None:
    mtd.save([mtd.ones(3)], "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_file_that_takes_little_at_a_time(tmp_path: Path) -> None:
    class Slow:
        def __init__(self) -> None:
            self.content = b""

        def write(self, data: Any) -> int:
            self.content += bytes(data[:100])
            return min(100, len(data))

    file: Any = Slow()
    mtd.save(mtd.arange(200), file)
    (tmp_path / "x").write_bytes(file.content)
    assert mtd.load(tmp_path / "x").tolist() == list(range(200))


def test_an_opened_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        mtd.save(mtd.ones(2), file)
    with path.open("rb") as file:
        assert mtd.load(file).tolist() == [1, 1]
