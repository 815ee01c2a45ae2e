"""FileStore beyond what all stores share: processes, crashes, and what is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from transports.errors import DistStoreError, StoreTimeout, TrustError
from transports.stores import processes
from transports.stores.file import FileStore

USER = """
import sys, os, signal
from transports.stores.file import FileStore
store = FileStore(sys.argv[1], int(sys.argv[2]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store"


def start(path: Path, script: str, world_size: int = -1) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", USER + script, str(path), str(world_size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_that_start_at_once(path: Path) -> None:
    script = (
        "[store.add('n', 1) for _ in range(40)]; store.barrier('end', 4); print(store.get('n'))"
    )
    started = [start(path, script, 4) for _ in range(4)]
    assert [p.communicate(timeout=300)[0] for p in started] == ["b'160'\n"] * 4
    assert not path.exists()  # who ends without close leaves as well, and the last one cleans up


def test_the_last_user_deletes_the_file(path: Path) -> None:
    stores = [FileStore(path) for _ in range(3)]
    assert path.stat().st_mode & 0o777 == 0o600
    for store in stores:
        assert path.exists()
        store.close()
    assert not path.exists()
    stores[0].close()
    with pytest.raises(DistStoreError, match="was closed"):
        stores[0].get("k")
    with FileStore(path)._guard:  # and it can be used again
        pass


def test_an_early_bird_that_leaves_does_not_take_the_file_along(path: Path) -> None:
    FileStore(path, 2).close()
    assert path.exists()
    second = FileStore(path, 2)
    second.close()
    assert not path.exists()


def test_what_a_crashed_run_left_is_told_from_a_run(path: Path) -> None:
    process = start(path, "os.kill(os.getpid(), signal.SIGKILL)")
    process.communicate(timeout=300)
    with pytest.raises(
        DistStoreError, match=rf"left from an earlier run: pid {process.pid} on"
    ) as e:
        FileStore(path)
    e.match(r"last written \d+ seconds ago.*run: rm " + str(path))
    path.unlink()
    living = FileStore(path)
    process = start(path, "os.kill(os.getpid(), signal.SIGKILL)")
    process.communicate(timeout=300)
    FileStore(path).close()  # one user lives, so the run does
    living.close()
    assert not path.exists()


def test_a_process_is_known_by_more_than_its_number() -> None:
    host, boot, pid, _ = processes.mark().split()
    assert processes.is_alive(processes.mark())
    if os.path.exists("/proc/self/stat"):  # noqa: PTH110 - not a real file
        assert not processes.is_alive(f"{host} {boot} {pid} 12345")  # the number was given again
    assert not processes.is_alive(f"{host} another-boot {pid} 1")
    assert processes.is_alive(f"elsewhere {boot} {pid} 1")  # we cannot see it
    assert "before the last reboot" in processes.shown(f"{host} another-boot 7 1")


def test_half_a_record_is_cut_off(path: Path) -> None:
    store, other = FileStore(path), FileStore(path)
    store.set("k", "v")
    with path.open("ab") as file:
        file.write(b"mt\x01\x00\x00\x00\x00\x00\xff\x00")  # who wrote this was killed
    assert other.get("k") == b"v"
    other.set("k", "w")
    assert store.get("k") == b"w"
    store.close()
    other.close()


def test_what_is_no_store_is_left_alone(path: Path, tmp_path: Path) -> None:
    path.write_text("precious results of last week")
    path.chmod(0o600)
    with pytest.raises(DistStoreError, match="is no store's file, or is damaged at byte 0"):
        FileStore(path)
    assert path.read_text() == "precious results of last week"
    path.chmod(0o666)
    with pytest.raises(TrustError, match="others could write"):
        FileStore(path)
    with pytest.raises(DistStoreError, match="three slashes"):
        FileStore(tmp_path / "absent" / "store")


def test_a_file_deleted_by_others(path: Path) -> None:
    store = FileStore(path)
    path.unlink()
    with pytest.raises(DistStoreError, match="was deleted or replaced while this store used it"):
        store.set("k", "v")
    store.close()


def test_a_timeout_says_who_has_come(path: Path) -> None:
    stores = [FileStore(path) for _ in range(2)]
    with pytest.raises(StoreTimeout, match=rf"2 users of {path} have come so far"):
        stores[0].wait(["k"], 0.01)
    assert repr(stores[1]).endswith("of 0 keys, 2 users>")
    for store in stores:
        store.close()
    assert repr(stores[1]).endswith("closed>")
