"""A checkpoint's folder: files of others stay, odd things in it are one documented error, and flipped bits are found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitorch_dist as mt
import minitorch_dist.distributed.checkpoint as dcp
from minitorch_dist.distributed.checkpoint import CheckpointException, folder, writing
from minitorch_dist.distributed.checkpoint.folder import INDEX, Checkpoint
from minitorch_dist.serialization import container
from tests import odd_files
from tests.odd_files import snapshot
from transports import keeper
from transports.keeper import locks


def save(path: Path, turn: int) -> None:
    state = {"x": mt.full((5, 3), float(turn)), "deep": {"y": mt.full((), turn)}, "turn": turn}
    dcp.save(state, checkpoint_id=path, no_dist=True)


def load(path: Path) -> int:
    """The turn of the checkpoint, which has to be whole."""
    state: dict[str, Any] = {"x": mt.zeros(5, 3), "deep": {"y": mt.tensor(0)}, "turn": 0}
    dcp.load(state, checkpoint_id=path, no_dist=True)
    assert state["x"].tolist() == [[float(state["turn"])] * 3] * 5
    assert state["deep"]["y"].item() == state["turn"]
    return int(state["turn"])


def parts(path: Path) -> list[Path]:
    return sorted(path.glob("*.safetensors"))


def edit(path: Path, change: Callable[[Any], None]) -> None:
    """Change the index by hand; such an index has no checksum."""
    index = json.loads((path / INDEX).read_text())
    del index["crc32"]
    change(index)
    (path / INDEX).write_text(json.dumps(index))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder in which others have something, with a secret beside it."""
    (tmp_path / "secret").write_bytes(b"of others")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "victim").write_bytes(b"of others")
    return tmp_path / "in"


# ---------------------------------------------------------------------------------- what others have there


def test_files_of_others_survive(place: Path) -> None:
    for name in ("model-00001-of-00002", "model-00002-of-00002", "0123456789ab-00000-of-00001", "x-of-y"):
        with (place / f"{name}.safetensors").open("wb") as file:
            container.write(file, {"w": np.ones(3)}, {"format": "pt"})
    (place / "fedcba987654-00000-of-00001.safetensors").write_bytes(b"no safetensors at all")
    (place / "aaaaaaaaaaaa-00000-of-00001.safetensors").symlink_to("victim")
    os.mkfifo(place / "bbbbbbbbbbbb-00000-of-00001.safetensors")
    for name in ("model.safetensors.index.json", ".x-of-y.safetensors.1.tmp", f".{INDEX}.1.2.tmp", "config.json"):
        (place / name).write_text("{}")
    before = snapshot(place.parent)
    for turn in range(1, 5):
        save(place, turn)
        assert load(place) == turn
    after = snapshot(place.parent)
    assert {name: after.get(name) for name in before} == before
    assert len(after) == len(before) + 3  # the index, this generation, and the one before


@pytest.mark.parametrize("text", ["", "{}", '{"format": "of others"}', "[" * 10**5, "\0" * 100], ids=range(5))
def test_an_index_of_others_is_not_replaced(text: str, place: Path) -> None:
    (place / INDEX).write_text(text)
    before = snapshot(place.parent)
    with pytest.raises(CheckpointException, match="save into another folder, or remove it"):
        save(place, 1)
    assert snapshot(place.parent) == before
    with pytest.raises(CheckpointException):
        load(place)


def test_a_damaged_index_of_ours_is_replaced(place: Path) -> None:
    for cut in (60, 200, -2):
        save(place, 1)
        text = (place / INDEX).read_bytes()
        (place / INDEX).write_bytes(text[:cut])
        with pytest.raises(CheckpointException):
            load(place)
        there = parts(place)
        save(place, 2)
        assert load(place) == 2
        assert all(part.exists() for part in there)  # nobody knows which of them it named


@pytest.mark.parametrize("kind", odd_files.KINDS)
@pytest.mark.parametrize("name", [INDEX, locks.LOCK])
def test_something_odd_in_the_place_of_our_files(kind: str, name: str, place: Path) -> None:
    odd_files.put(kind, place / name)
    before = snapshot(place.parent)
    with pytest.raises(CheckpointException):
        save(place, 1)
    assert snapshot(place.parent) == before
    with pytest.raises(CheckpointException):
        load(place)


@pytest.mark.parametrize("kind", odd_files.KINDS)
def test_something_odd_in_the_place_of_a_part(kind: str, place: Path) -> None:
    save(place, 1)
    (part,) = parts(place)
    part.unlink()
    odd_files.put(kind, part)
    before = snapshot(place.parent)
    with pytest.raises(CheckpointException, match=part.name):
        load(place)
    assert snapshot(place.parent) == before
    save(place, 2)
    save(place, 3)
    assert load(place) == 3
    after = snapshot(place.parent)
    kept = set(before) - {f"in/{INDEX}"}
    assert {name: after.get(name) for name in kept} == {name: before[name] for name in kept}


def test_no_file_can_have_the_name(place: Path) -> None:
    for name in ("\ud800", "x" * 255 + "é", "x" * 250 + "é" * 5, "victim"):
        save(place, 1)

        def change(index: Any, name: str = name) -> None:
            index["tensors"]["x"]["chunks"][0]["file"] = name

        edit(place, change)
        with pytest.raises(CheckpointException):
            load(place)
    for path in [*odd_files.unusable_names(place), place / "victim", Path("/dev/null")]:
        with pytest.raises(CheckpointException):
            load(path)
        with pytest.raises(CheckpointException, match="nothing was saved in"):
            save(path, 1)


def test_a_file_that_shrinks_between_the_looks(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapping of it would end the process."""
    save(place, 1)
    check = Checkpoint.check_bytes

    def shrinking(self: Checkpoint, name: str, chunk: Any, check: Any = check) -> None:
        check(self, name, chunk)
        os.truncate(self.folder / chunk.file, 300)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "check_bytes", shrinking)
        with pytest.raises(CheckpointException, match=r"cannot be read from .*safetensors"):
            load(place)
    save(place, 2)


def test_a_file_that_vanishes_while_it_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(place, 1)
    check = Checkpoint.check_bytes

    def vanishing(self: Checkpoint, name: str, chunk: Any, check: Any = check) -> None:
        check(self, name, chunk)
        (self.folder / chunk.file).unlink(missing_ok=True)

    with monkeypatch.context() as patched:
        patched.setattr(Checkpoint, "check_bytes", vanishing)
        assert load(place) == 1  # we have it open
    with pytest.raises(CheckpointException, match="is missing, which the index"):
        load(place)
    save(place, 2)


def test_an_index_without_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(place, 1)
    monkeypatch.setattr(folder, "MOST_INDEX", 10)
    with pytest.raises(CheckpointException, match="more than 10 bytes"):
        load(place)


# ------------------------------------------------------------------------------------------ flipped bits


def test_one_bit_of_each_byte(place: Path) -> None:
    """An error, or the values that were saved. An error leaves the state as it was."""
    save(place, 7)
    for path in (place / INDEX, *parts(place)):
        data = path.read_bytes()
        for at in range(0, len(data), 5):
            bent = bytearray(data)
            bent[at] ^= 1 << at * 5 % 8
            path.write_bytes(bent)
            state: dict[str, Any] = {"x": mt.zeros(5, 3), "deep": {"y": mt.tensor(0)}, "turn": 0}
            try:
                dcp.load(state, checkpoint_id=place, no_dist=True)
                expected = 7
            except CheckpointException:
                expected = 0
            assert state["turn"] == state["deep"]["y"].item() == expected, f"byte {at} of {path.name}"
            assert state["x"].tolist() == [[float(expected)] * 3] * 5, f"byte {at} of {path.name}"
        path.write_bytes(data)


def test_the_error_names_the_file_and_the_tensor(place: Path) -> None:
    save(place, 1)
    (part,) = parts(place)
    data = bytearray(part.read_bytes())
    data[-1] ^= 64
    part.write_bytes(data)
    with pytest.raises(CheckpointException, match=rf"^x is damaged: its bytes in .*{part.name}"):
        load(place)


def test_a_part_of_another_save_is_found(place: Path) -> None:
    save(place, 1)
    save(place, 2)
    generation = json.loads((place / INDEX).read_text())["generation"]
    new = next(part for part in parts(place) if part.name.startswith(generation))
    old = next(part for part in parts(place) if part != new)
    new.write_bytes(old.read_bytes())
    with pytest.raises(CheckpointException, match=r"x is damaged: its bytes in|y is damaged: its bytes in"):
        load(place)


def test_a_part_of_a_tensor_is_checked_as_a_whole(place: Path) -> None:
    """The bytes that a rank does not need are looked at, too: the checksum is that of the chunk."""
    x = mt.arange(24.0).reshape(4, 6)
    dcp.save({"x": x}, checkpoint_id=place, no_dist=True)
    found = Checkpoint(place)
    with closing(found):
        for offsets, sizes in [((0, 0), (4, 6)), ((1, 0), (2, 6)), ((0, 2), (4, 3)), ((3, 5), (1, 1))]:
            box = folder.Box(offsets, sizes)
            for into in (np.zeros(sizes), np.zeros(sizes[::-1], np.float32).T, np.zeros(sizes, np.float32)):
                found.check("x", box)
                found.read("x", box, into)
                rows, columns = (slice(o, o + n) for o, n in zip(offsets, sizes, strict=True))
                np.testing.assert_array_equal(into, x.numpy()[rows, columns])


def make_old(place: Path) -> None:
    """As versions before checksums wrote it."""

    def change(index: Any) -> None:
        index.pop("before", None)
        for about in index["tensors"].values():
            for chunk in about["chunks"]:
                del chunk["crc32"]

    edit(place, change)
    for part in parts(place):
        data = part.read_bytes()
        length = int.from_bytes(data[:8], "little")
        text = json.dumps(json.loads(data[8 : 8 + length]) | {"__metadata__": {"format": "pt"}}).encode()
        part.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])


def test_checkpoints_of_before_load_and_are_replaced(place: Path) -> None:
    save(place, 1)
    make_old(place)
    (old,) = parts(place)
    assert load(place) == 1
    save(place, 2)
    assert old.exists()
    save(place, 3)
    assert not old.exists() and len(parts(place)) == 2 and load(place) == 3


# ------------------------------------------------------------------------------------------ what is left


def test_what_killed_saves_left_is_swept_when_nobody_holds_it(place: Path) -> None:
    save(place, 1)
    arrays = {"x": np.ones(2)}
    dead = writing.write_part(place, writing.file_name("0" * 12, 0, 1), arrays)
    alive = writing.write_part(place, writing.file_name("1" * 12, 0, 1), arrays)
    dead.held.close()  # as if its process were killed
    draft = keeper.Draft(place)
    draft.held.close()
    save(place, 2)
    assert not dead.path.exists() and not draft.path.exists() and alive.path.exists()
    alive.close()
    save(place, 3)
    assert not alive.path.exists() and len(parts(place)) == 2


def test_without_locks_nothing_grows_and_nothing_unproved_goes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lock(self: Any, *args: Any, **more: Any) -> bool:
        raise keeper.NoLocks(37, "no locks available")

    monkeypatch.setattr(keeper.Held, "lock", lock)
    orphan = writing.write_part(place, writing.file_name("0" * 12, 0, 1), {"x": np.ones(2)})
    orphan.close()
    for turn in range(1, 6):
        save(place, turn)
        assert load(place) == turn
    assert orphan.path.exists() and len(parts(place)) == 3


@pytest.mark.parametrize("step", ["write_part", "write_index"])
def test_a_save_that_fails_leaves_nothing(step: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(place, 1)
    before = snapshot(place.parent)
    target = container if step == "write_part" else keeper

    def failing(*args: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(target, "write" if step == "write_part" else "replacing", failing)
        with pytest.raises(CheckpointException, match="No space left on device"):
            save(place, 2)
    assert snapshot(place.parent) == before
    save(place, 3)
    assert load(place) == 3


def test_an_error_after_the_index_is_in_place_loses_no_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(place, 1)
    sweep, calls = writing._sweep, []

    def failing(*args: Any) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        sweep(*args)

    monkeypatch.setattr(writing, "_sweep", failing)
    with pytest.raises(CheckpointException):
        save(place, 2)
    assert load(place) == 2  # the index names its files, so they were not dropped
