"""`save` and `load` where no regular file is: one documented error at once, and nothing of others is touched."""

from __future__ import annotations

import dataclasses
import io
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

import minitorch_dist as mtd
from minitorch_dist.serialization import container
from tests import odd_files
from transports import keeper


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_bytes(b"of others")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "victim").write_bytes(b"of others")
    return tmp_path / "in"


@pytest.mark.parametrize("kind", odd_files.KINDS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_load(kind: str, weights_only: bool, folder: Path) -> None:
    odd_files.put(kind, folder / "it")
    before = odd_files.snapshot(folder.parent)
    with pytest.raises(mtd.SerializationError):
        mtd.load(folder / "it", weights_only=weights_only)
    assert odd_files.snapshot(folder.parent) == before


def test_load_where_no_file_can_be(folder: Path) -> None:
    for path in [*odd_files.unusable_names(folder), Path("/dev/zero"), Path("/dev/null")]:
        with pytest.raises(mtd.SerializationError):
            mtd.load(path)
    for path, kind in [(folder / "none", FileNotFoundError), (folder, IsADirectoryError)]:
        with pytest.raises(mtd.SerializationError) as caught:
            mtd.load(path)
        assert isinstance(caught.value, kind) and caught.value.filename == str(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all files")
def test_load_of_a_file_that_is_not_ours_to_read(folder: Path) -> None:
    (folder / "victim").chmod(0)
    with pytest.raises(PermissionError) as caught:
        mtd.load(folder / "victim")
    assert isinstance(caught.value, mtd.SerializationError)


@pytest.mark.parametrize("left", [0, 7, 100, -1])
def test_a_file_that_shrinks_while_it_is_read(left: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "it"
    mtd.save({"w": mtd.ones(5000)}, path)
    read = container.read_header

    def shrinking(*args: Any) -> Any:
        os.truncate(path, left if left >= 0 else path.stat().st_size - 1)
        return read(*args)

    monkeypatch.setattr(container, "read_header", shrinking)
    with pytest.raises(mtd.SerializationError):
        mtd.load(path)


@pytest.mark.parametrize("kind", [k for k in odd_files.KINDS if k not in ("link", "outside", "dangling")])
def test_save_replaces_nothing_but_a_file(kind: str, folder: Path) -> None:
    """A link is followed, as the caller has named it."""
    odd_files.put(kind, folder / "it")
    before = odd_files.snapshot(folder.parent)
    with pytest.raises(OSError):
        mtd.save({"w": mtd.ones(2)}, folder / "it")
    assert odd_files.snapshot(folder.parent) == before


def test_save_where_no_file_can_be(folder: Path) -> None:
    before = odd_files.snapshot(folder.parent)
    for path in [*odd_files.unusable_names(folder), folder, folder / "none" / "it"]:
        with pytest.raises(OSError):
            mtd.save(1, path)
    assert odd_files.snapshot(folder.parent) == before


def test_a_pipe_that_somebody_reads(folder: Path) -> None:
    odd_files.put("fifo", folder / "it")
    reader = os.open(folder / "it", os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reader, "rb") as file:
        mtd.save([1, 2], folder / "it")
        assert mtd.load(io.BytesIO(file.read())) == [1, 2]


def test_no_draft_meets_another_and_dead_ones_are_swept(folder: Path) -> None:
    held = [keeper.Draft(folder) for _ in range(3)]
    mtd.save(1, folder / "it")
    assert len(keeper.names(folder)) == 5
    for draft in held:
        draft.held.close()  # as if these writers were killed
    mtd.save(2, folder / "it")
    assert sorted(keeper.names(folder)) == ["it", "victim"]


# -------------------------------------------------------------------------- objects of the program's own


@dataclasses.dataclass
class GPTConfig:
    width: int = 3


class Own:
    def __init__(self) -> None:
        self.a = 1


VARS = "Save vars({}) or a dict of the values that it was made of instead, and call "
OBJECTS = [
    (GPTConfig(), f"{VARS}GPTConfig(**…) with it after load()"),
    (Own(), f"{VARS}Own(**…)"),
    (mtd.nn.Linear(1, 1), "Save its state_dict() instead"),
    (len, "Save its name instead"),
]


@pytest.mark.parametrize(("thing", "says"), OBJECTS, ids=lambda given: type(given).__name__)
def test_the_error_for_an_object_says_what_to_write(thing: Any, says: str, folder: Path) -> None:
    with pytest.raises(TypeError) as caught:
        mtd.save({"w": mtd.ones(2), "config": thing}, folder / "it")
    words = str(caught.value)
    assert says.format('obj["config"]') in words and "\n" not in words
    assert keeper.names(folder) == ["victim"]


@pytest.mark.parametrize("thing", [GPTConfig(5), Namespace(a=1)])
def test_and_following_it_works(thing: Any, folder: Path) -> None:
    mtd.save({"config": vars(thing)}, folder / "it")
    assert type(thing)(**mtd.load(folder / "it")["config"]) == thing
