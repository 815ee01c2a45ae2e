"""The keeper of files: what it opens, how it writes, what it deletes, and what it leaves alone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import odd_files
from tests.odd_files import snapshot
from transports import keeper
from transports.keeper import drafts, folders, locks

DRAFTED = """
import os, sys
from transports import keeper
with keeper.replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("now", flush=True)
    sys.stdin.read()
"""


def odd_things(folder: Path) -> dict[str, Path]:
    """One of each kind, and paths at which nothing can be."""
    folder.mkdir(exist_ok=True)
    (folder / "victim").write_bytes(b"of others")
    (folder.parent / "secret").write_bytes(b"of others, too")
    for kind in odd_files.KINDS:
        odd_files.put(kind, folder / kind)
    made = {kind: folder / kind for kind in odd_files.KINDS}
    unusable = {repr(path): path for path in odd_files.unusable_names(folder)}
    return made | unusable | {"device": Path("/dev/zero")}


def test_nothing_odd_is_opened_written_or_deleted(tmp_path: Path) -> None:
    things = odd_things(tmp_path / "odd")
    before = snapshot(tmp_path)
    for path in things.values():
        for flags in (os.O_RDONLY, os.O_RDWR, os.O_RDWR | os.O_CREAT):
            if not (flags & os.O_CREAT and path.parent == Path("/dev")):
                with pytest.raises(OSError):
                    keeper.open_file(path, flags)
        with pytest.raises(OSError):
            keeper.read_file(path, 100)
        if path.parent != Path("/dev"):
            with pytest.raises(OSError), keeper.replacing(path) as file:
                file.write(b"x")
        assert not keeper.remove(path, lambda held: True)
    assert snapshot(tmp_path) == before


def test_a_link_is_followed_where_the_caller_says_so(tmp_path: Path) -> None:
    things = odd_things(tmp_path / "odd")
    assert keeper.read_file(things["link"], 100, follow=True) == b"of others"
    with pytest.raises(keeper.OddFile, match="more than 3 bytes"):
        keeper.read_file(things["link"], 3, follow=True)
    for name in ("fifo", "folder", "itself", "dangling", "device", "socket"):
        with pytest.raises(OSError):
            keeper.read_file(things[name], 100, follow=True)


def test_a_file_keeps_its_mode_and_an_error_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "it"
    with keeper.replacing(path) as file:
        file.write(b"old")
    path.chmod(0o640)
    with pytest.raises(ZeroDivisionError), keeper.replacing(path) as file:
        file.write(b"new")
        _ = 1 / 0
    assert path.read_bytes() == b"old"
    with keeper.replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert drafts.names(tmp_path) == ["it"]


def test_a_full_disk_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "it"
    path.write_bytes(b"old")
    program = (
        "import resource, signal, sys; from transports import keeper;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "f = keeper.replacing(sys.argv[1]); o = f.__enter__(); o.write(b'x' * 5000); f.__exit__(None, None, None)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert "File too large" in done.stderr
    assert drafts.names(tmp_path) == ["it"] and path.read_bytes() == b"old"


def drafting(path: Path) -> subprocess.Popen[bytes]:
    """A process that is just writing."""
    process = subprocess.Popen([sys.executable, "-c", DRAFTED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"now\n"
    return process


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
def test_a_draft_is_swept_when_its_writer_is_dead_and_not_before(tmp_path: Path, blow: int) -> None:
    process = drafting(tmp_path / "it")
    try:
        (one,) = tmp_path.iterdir()
        assert drafts.is_draft(one.name)
        keeper.sweep(tmp_path)
        with keeper.replacing(tmp_path / "it") as file:  # another one, beside it
            file.write(b"whole")
        assert one.exists()
        process.send_signal(blow)
        process.wait()
        with keeper.replacing(tmp_path / "other") as file:
            file.write(b"whole")
        assert sorted(drafts.names(tmp_path)) == ["it", "other"]
    finally:
        process.kill()
        process.communicate()


def test_files_of_others_are_not_swept_whatever_their_names(tmp_path: Path) -> None:
    drawn = "0123456789abcdef-01234567"
    for name in (f".minitorch_dist-{drawn}.draft", ".minitorch_dist-.draft", ".it.123.0.tmp"):
        (tmp_path / name).write_bytes(b"of others")
    (tmp_path / f".minitorch_dist-{drafts.signed_name()}.draft").symlink_to("elsewhere")
    os.mkfifo(tmp_path / f".minitorch_dist-{drafts.signed_name()}.draft")
    (tmp_path / f".minitorch_dist-{drafts.signed_name()}.draft").mkdir()
    before = snapshot(tmp_path)
    keeper.sweep(tmp_path)
    assert snapshot(tmp_path) == before


def test_equal_process_numbers_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers have them, and a killed one leaves drafts that the next one must not trip over."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    kept = [keeper.Draft(tmp_path) for _ in range(20)]
    assert len(drafts.names(tmp_path)) == 20
    for draft in kept:
        draft.close()
    assert not drafts.names(tmp_path)


def test_a_sweeper_that_comes_between_a_name_and_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, swept = locks.Held.lock, []

    def late(self: locks.Held, *args: Any, **more: Any) -> bool:
        if not swept:
            swept.append(True)
            keeper.sweep(tmp_path)
            assert not drafts.names(tmp_path)
        return lock(self, *args, **more)

    monkeypatch.setattr(locks.Held, "lock", late)
    with keeper.replacing(tmp_path / "it") as file:
        file.write(b"whole")
    assert (tmp_path / "it").read_bytes() == b"whole" and drafts.names(tmp_path) == ["it"]


def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def lock(self: locks.Held, *args: Any, **more: Any) -> bool:
        raise keeper.NoLocks(37, "no locks available")

    monkeypatch.setattr(locks.Held, "lock", lock)


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = drafting(tmp_path / "it")
    process.kill()
    process.communicate()
    without_locks(monkeypatch)
    with keeper.replacing(tmp_path / "it") as file:
        file.write(b"whole")
    assert (tmp_path / "it").read_bytes() == b"whole"
    with keeper.holding(tmp_path) as is_real:
        assert not is_real
    assert len(drafts.names(tmp_path)) == 2  # the draft stays: nothing proves that its writer is dead


# ---------------------------------------------------------------------------------------------- locks


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_one_thread_at_a_time(tmp_path: Path, count: int) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(5):
            with keeper.holding(tmp_path):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == 1 and not drafts.names(tmp_path)


def test_a_holder_that_does_not_end_is_named(tmp_path: Path) -> None:
    with keeper.holding(tmp_path):
        words = f"process {os.getpid()} on .* for 0 s: end that one"
        with pytest.raises(locks.Busy, match=words), keeper.holding(tmp_path, patience=0):
            pass
        assert drafts.names(tmp_path) == [locks.LOCK]
    assert not drafts.names(tmp_path)


def test_a_lock_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    program = "import os, sys; from transports import keeper\nwith keeper.holding(sys.argv[1]): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", program, tmp_path], check=False)
    assert drafts.names(tmp_path) == [locks.LOCK]
    with keeper.holding(tmp_path, patience=0):
        pass
    assert not drafts.names(tmp_path)


def test_a_lock_file_of_others_is_refused(tmp_path: Path) -> None:
    (tmp_path / locks.LOCK).write_bytes(b"of others")
    with pytest.raises(keeper.OddFile, match="no lock of ours"), keeper.holding(tmp_path):
        pass
    assert (tmp_path / locks.LOCK).read_bytes() == b"of others"


def test_a_forked_child_holds_nothing_of_its_parent(tmp_path: Path) -> None:
    process = subprocess.run([sys.executable, "-c", FORKED, tmp_path], capture_output=True, text=True, timeout=100)
    assert process.stdout == "dead\n", process.stderr
    assert not drafts.names(tmp_path)


FORKED = """
import os, signal, sys
from transports import keeper
from transports.keeper import drafts
draft = keeper.Draft(sys.argv[1])
read, write = os.pipe()
child = os.fork()
if child == 0:  # an orphan, such as a worker of a DataLoader
    os.write(write, b"x")
    signal.pause()
os.read(read, 1)
parent = os.fork()  # a second child plays the writer that is killed: it has a draft of its own
if parent == 0:
    mine = keeper.Draft(sys.argv[1])
    other = os.fork()
    if other == 0:
        os.write(write, str(os.getpid()).encode())
        signal.pause()
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(parent, 0)
orphan = int(os.read(read, 100))
keeper.sweep(sys.argv[1])
left = drafts.names(sys.argv[1])
print("dead" if left == [draft.path.name] else left)
draft.close()
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
os.kill(orphan, signal.SIGKILL)
"""


# ---------------------------------------------------------------------------------------------- folders


def test_a_folder_ends_with_its_process(tmp_path: Path) -> None:
    path, held = keeper.make_folder(tmp_path, "job_")
    (path / "x").write_bytes(b"x")
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "y").write_bytes(b"y")
    (path / "link").symlink_to(tmp_path / "victim")
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert keeper.sweep_folders(tmp_path, "job_") == []
    held.close()  # as if the process were killed
    assert keeper.sweep_folders(tmp_path, "job_") == [path]
    other, held = keeper.make_folder(tmp_path, "job_")
    keeper.remove_folder(other, held)
    assert [*snapshot(tmp_path)] == ["victim", "victim/y"]


def test_folders_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "job_1").mkdir()
    (tmp_path / "job_0123456789abcdef-01234567").mkdir()
    ours = tmp_path / f"job_{drafts.signed_name()}"
    ours.mkdir()
    (ours / "x").write_bytes(b"it has no mark")
    (tmp_path / f"job_{drafts.signed_name()}").symlink_to(ours)
    before = snapshot(tmp_path)
    assert keeper.sweep_folders(tmp_path, "job_") == []
    assert snapshot(tmp_path) == before
    make: Callable[[], Any] = lambda: keeper.make_folder(tmp_path / "none", "job_")  # noqa: E731
    with pytest.raises(FileNotFoundError):
        make()
    assert folders.MARK.startswith(".")
