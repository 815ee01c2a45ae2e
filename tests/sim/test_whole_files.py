"""A page, a trace or a plan's memory is written whole or not at all, also where the disk is full."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from mtd import cli
from mtd.pages import whole_files

PAGE = "<!doctype html>"


def listed(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir() if each.is_file()}


def test_to_ask_leaves_nothing_and_changes_nothing(tmp_path: Path) -> None:
    whole_files.check(tmp_path / "new.html", whole_files.PAGE, "page")
    assert listed(tmp_path) == {}
    for text in ("", PAGE, f"{PAGE} and more"):
        (tmp_path / "old.html").write_text(text)
        whole_files.check(tmp_path / "old.html", whole_files.PAGE, "page")
        assert listed(tmp_path) == {"old.html": text}


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("layers = 2")
    with pytest.raises(ValueError, match=r"mine\.toml is no page, and would be overwritten"):
        whole_files.check(tmp_path / "mine.toml", whole_files.PAGE, "page")
    with pytest.raises(FileNotFoundError, match=r"none/x\.html'"):
        whole_files.check(tmp_path / "none/x.html")
    with pytest.raises(NotADirectoryError):
        whole_files.check(tmp_path / "mine.toml/x.html")
    with pytest.raises(IsADirectoryError):
        whole_files.check(tmp_path)
    assert listed(tmp_path) == {"mine.toml": "layers = 2"}


def test_a_file_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Renaming another file to its name would be allowed, where its folder may be written."""
    path = tmp_path / "x.html"
    path.write_text(PAGE)
    monkeypatch.setattr(os, "access", lambda *_: False)  # for root may do everything
    with pytest.raises(PermissionError, match=r"x\.html"):
        whole_files.check(path, whole_files.PAGE)


@pytest.mark.parametrize("before", [None, "the page of before"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_what_was_there_stays_until_the_new_is_complete(
    before: str | None, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.html"
    if before is not None:
        path.write_text(before)
    kept = listed(tmp_path)
    real = Path.write_bytes

    def half(self: Path, data: bytes) -> Any:
        real(self, data[: len(data) // 2])
        raise error

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(type(error)) as raised:
        whole_files.write(path, "the new page")
    if isinstance(raised.value, OSError):
        assert raised.value.filename == str(path) and raised.value.errno == errno.ENOSPC
    assert listed(tmp_path) == kept
    monkeypatch.undo()
    whole_files.write(path, "the new page")
    assert listed(tmp_path) == {"x.html": "the new page"}


def test_links_stay_links_and_devices_devices(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "real/x.html")
    whole_files.write(tmp_path / "link.html", "new")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real/x.html").read_text() == "new"
    whole_files.check("/dev/null", whole_files.PAGE, "page")
    whole_files.write("/dev/null", "new")
    assert not Path("/dev/null").is_file()


def test_a_full_disk_under_the_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        status = cli.main(["simulate", "all_reduce", "--ranks", "2"])
        monkeypatch.undo()
    assert status == 1
    assert "mtd simulate: No space left on device" in capsys.readouterr().err
