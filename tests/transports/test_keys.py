"""Where the job's key comes from, and who may not know it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import odd_files
from transports import keeper, keys
from transports.errors import TrustError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(keys.VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_variable_goes_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, "one")
    one = keys.job_key("a")
    assert len(one) == 32 and one == keys.job_key("a") != keys.job_key("b")
    monkeypatch.setenv(keys.VARIABLE, "two")
    assert keys.job_key("a") != one and list(home.iterdir()) == []


def test_an_empty_variable_counts_as_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.VARIABLE, "")
    keys.job_key("a")
    assert (home / keys.FILE).exists()


def test_the_file_is_made_once_and_for_us_alone(home: Path) -> None:
    first = keys.job_key("a")
    assert [entry.name for entry in home.iterdir()] == [keys.FILE]
    assert (home / keys.FILE).stat().st_mode & 0o777 == 0o600
    assert keys.job_key("a") == first and len((home / keys.FILE).read_bytes()) == keys.LENGTH


def test_processes_that_start_at_once_agree(home: Path) -> None:
    script = "from transports.keys import job_key; print(job_key('a').hex())"
    started = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(5)]
    assert len({process.communicate(timeout=300)[0] for process in started}) == 1
    assert [entry.name for entry in home.iterdir()] == [keys.FILE]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_can_read_is_refused(home: Path, mode: int) -> None:
    keys.job_key("a")
    (home / keys.FILE).chmod(mode)
    with pytest.raises(TrustError, match=f"mode {mode:04o}.*run: chmod 600 {home / keys.FILE}"):
        keys.job_key("a")


def test_what_is_no_key_file_is_refused(home: Path) -> None:
    (home / keys.FILE).write_bytes(b"short")
    (home / keys.FILE).chmod(0o600)
    with pytest.raises(TrustError, match="32 random bytes"):
        keys.job_key("a")
    (home / keys.FILE).unlink()
    (home / "elsewhere").write_bytes(bytes(32))
    (home / keys.FILE).symlink_to(home / "elsewhere")
    with pytest.raises(TrustError, match="could not be kept"):
        keys.job_key("a")


def test_a_home_that_is_not_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home / "absent"))
    with pytest.raises(TrustError, match=f"or set {keys.VARIABLE}"):
        keys.job_key("a")
    assert list(home.iterdir()) == []


def test_something_odd_in_its_place_is_an_error_at_once(home: Path) -> None:
    for kind in ("fifo", "folder", "itself", "dangling", "socket"):
        odd_files.put(kind, home / keys.FILE)
        with pytest.raises(TrustError, match="the job's key could not be kept in"):
            keys.job_key("a")
        assert [entry.name for entry in home.iterdir()] == [keys.FILE]
        if kind == "folder":
            (home / keys.FILE).rmdir()
        else:
            (home / keys.FILE).unlink()


def test_a_killed_process_leaves_no_draft_for_long(home: Path) -> None:
    keeper.Draft(home).held.close()  # as if its process were killed
    keys.job_key("a")
    assert [entry.name for entry in home.iterdir()] == [keys.FILE]
