"""FileStore beyond what all stores share: processes, crashes, and what is left behind."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from transports import job
from transports.errors import DistStoreError, StoreTimeout, TrustError
from transports.stores import file, processes
from transports.stores.file import JOIN, FileStore, packed
from transports.stores.protocol import StoreRequest

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
    script = "[store.add('n', 1) for _ in range(40)]; store.barrier('end', 4); print(store.get('n'))"
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
    with pytest.raises(DistStoreError, match=rf"left from an earlier run: pid {process.pid} on") as e:
        FileStore(path)
    e.match(r"ended without closing it.*run: rm " + str(path))
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
    with pytest.raises(DistStoreError, match=r"is no store's file: .* Take another name"):
        FileStore(path)
    assert path.read_text() == "precious results of last week"
    path.chmod(0o666)
    with pytest.raises(TrustError, match="others could write"):
        FileStore(path)
    with pytest.raises(DistStoreError, match="three slashes"):
        FileStore(tmp_path / "absent" / "store")


CARD = [f"{processes.mark()} 00".encode(), job.here().marks().packed(), b"a test"]
USERS = packed(StoreRequest(JOIN, [], CARD, 0.0))
SET = packed(StoreRequest("set", ["k"], [b"v"], 0.0))


@pytest.mark.parametrize(
    "content",
    [
        b"a",
        b"\n",
        b"\0",
        b"mt",
        b"3.14",
        b"twelve bytes",
        b"mt\x01\x00",
        USERS[:5],
        USERS[:12],
        USERS[:40],
        USERS[:-1],
        SET,
        SET + USERS,
        USERS + b"hello",
        USERS + SET + b"\n",
        b"precious results" * 999,
    ],
    ids=lambda content: f"{len(content)} bytes {content[:12]!r}",
)
def test_a_file_of_any_size_that_is_no_store_is_neither_cut_nor_written_nor_deleted(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)
    before = path.stat()
    for world_size in (-1, 1, 2):
        with pytest.raises(DistStoreError, match="It stays as it is"):
            FileStore(path, world_size)
    after = path.stat()
    assert path.read_bytes() == content
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.deep)])
def test_no_flipped_bit_gives_another_value_or_another_job_or_is_cut_away(path: Path, step: int) -> None:
    """Nine bits on is another bit of the next byte."""
    with_one_left = FileStore(path, 2)
    with_one_left.set("key", "value")
    with_one_left.close()
    whole = path.read_bytes()
    for bit in range(0, 8 * len(whole), step):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(DistStoreError, match="It stays as it is"):
            FileStore(path, 2)
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    last = FileStore(path, 2)
    assert last.get("key") == b"value"
    last.close()


@pytest.mark.parametrize("kind", ["link", "link to nothing", "link to a store", "folder", "fifo", "device"])
def test_what_is_no_regular_file_is_refused_at_once(path: Path, tmp_path: Path, kind: str) -> None:
    there = tmp_path / "there"
    store = FileStore(there) if kind == "link to a store" else None
    if kind == "link":
        there.touch(0o600)
    if kind.startswith("link"):
        path.symlink_to(there)
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path = Path("/dev/null")
    before = there.read_bytes() if there.exists() else None
    with pytest.raises(DistStoreError, match="cannot be a store's file"):
        FileStore(path)
    assert (there.read_bytes() if there.exists() else None) == before
    if store is not None:
        store.close()


def test_a_link_that_is_put_in_place_of_the_file_is_not_written_through(path: Path, tmp_path: Path) -> None:
    store = FileStore(path)
    store.set("k", "v")
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    content = (tmp_path / "moved").read_bytes()
    with pytest.raises(DistStoreError, match="was deleted or replaced"):
        store.set("k", "w")
    store.close()
    assert path.is_symlink() and (tmp_path / "moved").read_bytes() == content


@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8])
def test_an_empty_file_becomes_a_store_and_is_empty_again(world_size: int) -> None:
    with tempfile.NamedTemporaryFile() as file:  # as many programs of torch do
        for _ in range(2):  # afterwards it is as good as new
            stores = [FileStore(file.name, world_size) for _ in range(world_size)]
            stores[0].set("k", "v")
            assert stores[-1].get("k") == b"v"
            for store in stores:
                store.close()
            assert Path(file.name).read_bytes() == b""


def test_a_full_disk_leaves_nothing_of_a_store_that_could_not_begin(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int, data: bytes, at: int, real: Any = os.pwrite) -> int:
        if at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(real(number, data[:7], at))

    path.with_name("empty").touch(0o600)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        for place in (path, path.with_name("empty")):
            with pytest.raises(OSError, match="No space"):
                FileStore(place)
    assert not path.exists() and path.with_name("empty").read_bytes() == b""


@pytest.mark.spawn
def test_a_forked_child_has_a_lock_of_its_own_and_leaves_for_nobody(path: Path) -> None:
    store = FileStore(path)
    child = os.fork()
    if not child:
        status = 1
        try:
            for _ in range(200):
                store.add("n", 1)
            store.close()
            status = 0
        finally:
            os._exit(status)
    for _ in range(200):
        store.add("n", 1)
    assert os.waitpid(child, 0)[1] == 0
    assert store.get("n") == b"400" and path.exists()
    store.close()
    assert not path.exists()


def test_a_huge_file_is_refused_without_being_read(path: Path) -> None:
    for begin in (b"", USERS):
        path.write_bytes(begin)
        path.chmod(0o600)
        os.truncate(path, 1 << 40)
        with pytest.raises(DistStoreError, match="It stays as it is"):
            FileStore(path)
        assert path.stat().st_size == 1 << 40


def test_a_value_larger_than_what_is_read_at_once(path: Path) -> None:
    store, other = FileStore(path), FileStore(path)
    for turn in range(3):
        store.set(f"k{turn}", bytes(file.PIECE + turn))
        store.set("small", f"{turn}")
    assert [len(other.get(f"k{turn}")) for turn in range(3)] == [file.PIECE + turn for turn in range(3)]
    assert other.get("small") == b"2"
    store.close()
    other.close()


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
    assert len(stores[1]._log.users) == 2
    for store in stores:
        store.close()
