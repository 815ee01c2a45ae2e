"""Ranks that share a file: the contract in both modes, and how the file is met, proved and left."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.transports import ends
from transports import conformance, file, identity
from transports.clock import SYSTEM, SystemClock, picoseconds
from transports.errors import ConnectError, PeerLost, TransportClosed, TrustError
from transports.file import FileTransport
from transports.shared_file import mounts, peer_watch, places, signed_file
from transports.stores.store import HashStore

BUSY = ["interleaved", "threads_send", "threads_wait", "farewell", "reuse", "death"]


def make_rings(rank: int, world_size: int, folder: str) -> FileTransport:
    return FileTransport(rank, world_size, f"file://{folder}/world")


def make_logs(rank: int, world_size: int, folder: str) -> FileTransport:
    return FileTransport(rank, world_size, f"file://{folder}/world?mode=append")


def make_small_rings(rank: int, world_size: int, folder: str) -> FileTransport:
    return FileTransport(rank, world_size, f"file://{folder}/world?ring=208")


def make_short_logs(rank: int, world_size: int, folder: str) -> FileTransport:
    return FileTransport(rank, world_size, f"file://{folder}/world?mode=append&segment=5000")


@pytest.mark.parametrize("make", [make_rings, make_logs])
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
def test_it_keeps_the_contract_between_threads(make: conformance.Make, world_size: int) -> None:
    conformance.check(conformance.in_threads(make), [world_size])


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_rings, make_logs])
@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_it_keeps_the_contract_between_processes(make: conformance.Make, world_size: int) -> None:
    conformance.check(conformance.in_processes(make), [world_size])


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_small_rings, make_short_logs])
@pytest.mark.parametrize("world_size", [2, 3])
def test_it_keeps_the_contract_where_nothing_fits(make: conformance.Make, world_size: int) -> None:
    conformance.check(conformance.in_processes(make), [world_size], only=BUSY)


@contextmanager
def world(
    *addresses: str, key: bytes | None = None, before: Callable[[FileTransport], None] | None = None
) -> Iterator[list[tuple[FileTransport, ends.Desk]]]:
    """Ranks of this process, one for each address, connected at the same time; errors are raised
    of the lowest rank."""
    size, store = len(addresses), HashStore()
    desks = [ends.Desk() for _ in addresses]
    made = [FileTransport(rank, size, text, key=key) for rank, text in enumerate(addresses)]
    errors: dict[int, BaseException] = {}
    stay = SYSTEM.condition()
    ready, over = [0], [False]

    def run(rank: int) -> None:
        try:
            if before is not None:
                before(made[rank])
            made[rank].connect(store, desks[rank], 300)
        except BaseException as error:
            errors[rank] = error
        with stay:
            ready[0] += 1
            stay.notify_all()
            while not over[0]:  # a rank lives as long as the thread that connected it
                stay.wait()

    threads = [SYSTEM.start(partial(run, rank), f"rank {rank}") for rank in range(size)]
    with stay:
        while ready[0] < size:
            stay.wait()
    try:
        if errors:
            raise errors[min(errors)]
        yield list(zip(made, desks, strict=True))
    finally:
        for transport in made:
            transport.close()
        with stay:
            over[0] = True
            stay.notify_all()
        for thread in threads:
            thread.join()


class HandClock(SystemClock):
    """Its time is set by hand."""

    seconds = 0.0

    def now(self) -> int:
        return picoseconds(self.seconds)


def until(transport: FileTransport, done: Callable[[], bool]) -> None:
    deadline = SYSTEM.deadline(300)
    while not done():
        assert not deadline.is_over()
        transport.progress(0.1, done)


# -- the file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["rings", "append"])
def test_the_file_is_ours_alone_and_nothing_of_it_stays(tmp_path: Path, mode: str) -> None:
    with world(*[f"file://{tmp_path}/job?mode={mode}"] * 3) as ranks:
        assert list(tmp_path.iterdir()) == []  # the names are gone once all have it open
        ranks[0][0].close()
        ranks[1][0].close()
        assert "closed" in repr(ranks[0][0]) and "open" in repr(ranks[2][0])
    assert list(tmp_path.iterdir()) == []


def test_between_hosts_names_stay_until_the_last_one_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "kind_of", lambda path: "nfs4")
    with world(*[f"file://{tmp_path}/job?mode=append"] * 3) as ranks:
        there = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert there and all(path.stat().st_mode & 0o777 == 0o600 for path in there)
        ranks[0][0].close()
        ranks[1][0].close()
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("options", ["", "?mode=append", "?mode=append&segment=100"])
def test_no_file_of_one_host_has_a_name_once_all_are_there(tmp_path: Path, world_size: int, options: str) -> None:
    with world(*[f"file://{tmp_path}/job{options}"] * world_size) as ranks:
        assert list(tmp_path.iterdir()) == []
        for size in (0, 1, 4000, 3):
            for rank, (transport, _) in enumerate(ranks):
                transport.send((rank + 1) % world_size, b"%d" % rank, bytes(size))
            for rank, (transport, desk) in enumerate(ranks):
                until(transport, lambda desk=desk: bool(desk.whole))  # type: ignore[misc]
                assert desk.whole.pop() == (b"%d" % ((rank - 1) % world_size), bytes(size))
        assert list(tmp_path.iterdir()) == []


def test_a_folder_will_do_and_no_path_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MEMORY", tmp_path)
    for address in (f"file://{tmp_path}", "file://", "file"):
        with world(address, address) as ((first, _), (second, desk)):
            first.send(1, b"h", b"payload")
            until(second, lambda desk=desk: bool(desk.whole))  # type: ignore[misc]
            assert desk.whole == [(b"h", b"payload")]
    assert list(tmp_path.iterdir()) == []


def test_addresses_that_differ_are_named(tmp_path: Path) -> None:
    with (
        pytest.raises(ConnectError, match=r"rank 0 .*/a and rank 1 at .*/b; all ranks need the"),
        world(f"file://{tmp_path}/a", f"file://{tmp_path}/b"),
    ):
        pass


def test_a_folder_that_is_not_there_is_told_to_all(tmp_path: Path) -> None:
    with (
        pytest.raises(ConnectError, match=r"No such file or directory.*nowhere"),
        world(*[f"file://{tmp_path}/nowhere/job"] * 2),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("file://tmp/x", "names a host 'tmp'.*three slashes.*file:///tmp/x"),
        ("file:///tmp/x?mode=fast", "mode 'fast'; there are rings and append"),
        ("file:///tmp/x?ring=100", "multiples of 16"),
        ("file:///tmp/x?ring=0", "not a number of bytes"),
        ("file:///tmp/x?ring=-16", "not a number of bytes"),
        ("file:///tmp/x?ring=٣", "not a number of bytes"),
        ("file:///tmp/x?speed=9", "unknown options \\['speed'\\]"),
    ],
)
def test_addresses_that_make_no_sense(address: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        FileTransport(0, 1, address)


def test_a_full_disk_is_told_to_all(tmp_path: Path) -> None:
    with (
        pytest.raises(ConnectError, match=r"rank 0 over file: .*(space|large|Invalid)"),
        world(*[f"file://{tmp_path}/job?ring={1 << 40}"] * 2),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


# -- trust ------------------------------------------------------------------------------------


def test_a_planted_file_is_refused(tmp_path: Path) -> None:
    good = ends.terms("rings", 4096)
    with ends.kept(signed_file.make(tmp_path / "good", good, ends.KEY)) as held:
        path, page = held.path, held.path.read_bytes()
        assert signed_file.read_terms(page, ends.KEY) == good
        with ends.kept(signed_file.attach(path, good.generation, ends.KEY)):
            pass
        with pytest.raises(TrustError, match=r"not signed with this job's key"):
            signed_file.attach(path, good.generation, b"another key")
        with pytest.raises(ConnectError, match="another run"):
            signed_file.attach(path, bytes(16), ends.KEY)
        path.chmod(0o640)
        with pytest.raises(TrustError, match=r"nobody else can open.*mode 0640"):
            signed_file.attach(path, good.generation, ends.KEY)
        path.chmod(0o600)
        link = tmp_path / "link.rings"
        link.symlink_to(path)
        with pytest.raises(OSError, match="it is a link"):
            signed_file.attach(link, good.generation, ends.KEY)
        link.unlink()
        for at in range(len(page)):
            spoilt = bytearray(page)
            spoilt[at] ^= 1
            with pytest.raises(TrustError):
                signed_file.read_terms(bytes(spoilt), ends.KEY)
            with pytest.raises(TrustError):
                signed_file.read_terms(page[:at], ends.KEY)


def test_ranks_with_different_keys_do_not_meet(tmp_path: Path) -> None:
    def change(transport: FileTransport) -> None:
        transport._key = b"%d" % transport.rank

    with (
        pytest.raises(ConnectError, match=r"rank 1: .* not signed with this job's key"),
        world(*[f"file://{tmp_path}/job"] * 2, before=change),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


# -- what crashed runs leave ------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["rings", "append"])
def test_a_stale_file_is_told_from_a_live_one(tmp_path: Path, mode: str) -> None:
    base = tmp_path / "job"
    with ends.kept(signed_file.make(base, ends.terms(mode, 4096), ends.KEY)) as alive:
        assert signed_file.sweep(base) == [] and alive.path.exists()
        assert signed_file.sweep(base) == []
        alive.file.close()  # as the end of its process would
        planted = tmp_path / f"job.{bytes(16).hex()}.{mode}"
        alive.path.rename(planted)
        assert signed_file.sweep(base) == [] and planted.exists()  # its name is not that of its page
        planted.rename(alive.path)
        (said,) = signed_file.sweep(base)
        assert f"removed {alive.path}" in said and "process 1 on host" in said
        assert list(tmp_path.iterdir()) == []


def test_a_run_repairs_what_a_crashed_one_left_and_says_so(tmp_path: Path) -> None:
    left = signed_file.make(tmp_path / "job", ends.terms("append", 4096), ends.KEY)
    left.file.close()
    bystander = tmp_path / "job.txt"
    bystander.write_text("mine")
    with (
        pytest.warns(RuntimeWarning, match=r"removed .*stale file.*no process uses it any more"),
        world(*[f"file://{tmp_path}/job"] * 2, key=ends.KEY),
    ):
        pass
    assert list(tmp_path.iterdir()) == [bystander]


def test_the_last_of_many_tidies_up(tmp_path: Path) -> None:
    good = ends.terms("append", 4096)
    with ends.kept(signed_file.make(tmp_path / "job", good, ends.KEY)) as first:
        second = signed_file.attach(first.path, good.generation, ends.KEY)
        third = signed_file.attach(first.path, good.generation, ends.KEY)
        assert not second.leave() and first.path.exists()
        third.file.close()  # it crashed
        assert first.leave() and not first.path.exists()
        assert not first.leave()


# -- network file systems and other hosts -----------------------------------------------------


def test_mounts_tell_where_mappings_cannot_be_trusted(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    table.write_text(
        "/dev/vda / ext4 rw 0 0\nserver:/x /mnt/with\\040space nfs4 rw 0 0\nbad line\n"
        f"tmpfs {tmp_path} tmpfs rw 0 0\nhost: {tmp_path}/far fuse.sshfs rw 0 0\n"
    )
    kinds = {
        "/": "ext4",
        "/mnt/with": "ext4",
        "/mnt/with space/deep/er": "nfs4",
        f"{tmp_path}/here": "tmpfs",
        f"{tmp_path}/far/away": "fuse.sshfs",
    }
    assert {path: mounts.kind_of(Path(path), table) for path in kinds} == kinds
    network = {kind for kind in kinds.values() if mounts.is_network(kind)}
    assert network == {"nfs4", "fuse.sshfs"}
    assert mounts.is_network("cifs") and mounts.is_network("9p") and not mounts.is_network("")
    assert mounts.kind_of(tmp_path, tmp_path / "none") == ""


def test_on_a_network_file_system_it_says_so_and_uses_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "kind_of", lambda path: "nfs4")
    address = f"file://{tmp_path}/job"
    with (
        pytest.warns(RuntimeWarning, match=r"network file system \(nfs4\).*mode=append"),
        world(address, address) as ((first, _), (second, desk)),
    ):
        assert list(tmp_path.glob("job.*.append")) == [first._held.path]
        first.send(1, b"h", bytes(5000))
        first.close()
        until(second, lambda: bool(desk.lost_ranks))
        assert desk.whole == [(b"h", bytes(5000))]
    with warnings.catch_warnings():  # who has asked for it is not told
        warnings.simplefilter("error")
        with world(f"{address}?mode=append", f"{address}?mode=append"):
            pass


def elsewhere(monkeypatch: pytest.MonkeyPatch, **change: str) -> None:
    """Let every rank believe that it is a process of its own, in another place each."""
    real, count = identity.here(), iter(range(100))

    def here() -> identity.PeerIdentity:
        return dataclasses.replace(real, **{name: f"{text} {next(count)}" for name, text in change.items()})

    monkeypatch.setattr(identity, "here", here)


def test_ranks_of_several_hosts_use_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch, boot="boot")
    with (
        pytest.warns(RuntimeWarning, match=r"the ranks are on several hosts"),
        world(*[f"file://{tmp_path}/job"] * 2) as ((first, _), (second, desk)),
    ):
        assert first._held.is_folder
        first.send(1, b"", b"across")
        until(second, lambda: bool(desk.whole))


def test_rings_between_hosts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere(monkeypatch, boot="boot")
    with (
        pytest.raises(ConnectError, match=r"rank 0 over file: mode=rings .* several hosts"),
        world(*[f"file://{tmp_path}/job?mode=rings"] * 2),
    ):
        pass


def test_where_rank_0_fails_the_others_are_told_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is: here a warning that was made an error."""
    monkeypatch.setattr(mounts, "kind_of", lambda path: "nfs4")
    errors: list[ConnectError] = []

    def keep(transport: FileTransport) -> None:
        connect = transport.connect

        def kept(*arguments: Any) -> None:
            try:
                connect(*arguments)
            except ConnectError as error:
                errors.append(error)
                raise

        monkeypatch.setattr(transport, "connect", kept)

    with (
        pytest.raises(ConnectError, match=r"rank 0 over file: .*network file system"),
        world(*[f"file://{tmp_path}/job"] * 3, before=keep),
    ):
        pass
    assert len(errors) == 3 and all("network file system (nfs4)" in f"{e}" for e in errors)
    assert isinstance(next(e for e in errors if "rank 0 over" in f"{e}").__cause__, RuntimeWarning)


@pytest.mark.parametrize("mode", ["rings", "append"])
def test_a_peer_that_cannot_be_seen_is_known_by_its_pulse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Containers that share a folder cannot see each other's processes."""
    elsewhere(monkeypatch, numbers="container")
    monkeypatch.setattr(file, "BEAT", 0.01)
    with world(*[f"file://{tmp_path}/job?mode={mode}"] * 2) as ((first, _), (second, desk)):
        clock = HandClock()
        monkeypatch.setattr(second._watch, "_clock", clock)
        pulse = second._medium.pulse
        for _ in range(20):
            before = pulse(0)
            until(second, lambda before=before: pulse(0) != before)  # type: ignore[misc]
            assert second._watch.death_of(0, pulse) is None  # for it beats
            clock.seconds += 0.9 * peer_watch.STALE
        assert not desk.lost_ranks
        monkeypatch.setattr(first._medium, "beat", lambda: None)
        first.send(1, b"last", b"words")

        def is_lost_as_time_goes_by() -> bool:
            clock.seconds += 1
            return bool(desk.lost_ranks)

        until(second, is_lost_as_time_goes_by)
        assert desk.whole == [(b"last", b"words")]
        assert "no heartbeat for" in f"{desk.lost_ranks[0]}"
        with pytest.raises(PeerLost):
            second.send(0, b"", b"")


# -- peers that do not behave -----------------------------------------------------------------


def test_a_peer_that_writes_nonsense_is_lost_and_the_others_are_not(tmp_path: Path) -> None:
    with world(*[f"file://{tmp_path}/job"] * 3) as ranks:
        bad, good, (victim, desk) = ranks[0][0], ranks[1][0], ranks[2]
        outlet = bad._outlets[2]
        outlet._words[outlet._head_word] = 2**60  # type: ignore[attr-defined]
        good.send(2, b"", b"fine")
        until(victim, lambda: bool(desk.whole) and bool(desk.lost_ranks))
        assert "says it has written 1152921504606846976" in f"{desk.lost_ranks[0]}"
        assert list(desk.lost_ranks) == [0] and desk.whole == [(b"", b"fine")]


def test_a_send_loses_its_patience(tmp_path: Path) -> None:
    with world(*[f"file://{tmp_path}/job?ring=64"] * 2) as ((first, desk), (second, other)):
        first.patience = 0.05
        with pytest.raises(PeerLost, match=r"taken nothing for 0\.05 s"):
            first.send(1, b"", bytes(1000))
        with pytest.raises(PeerLost):
            first.send(1, b"", b"")
        first.progress(0)
        assert list(desk.lost_ranks) == [1]
        until(second, lambda: bool(other.lost_ranks))
        assert other.whole == [] and "amid a message" in f"{other.lost_ranks[0]}"


def test_a_send_that_is_interrupted_gives_the_peer_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a message is in: whatever followed would be read as its rest."""
    with world(*[f"file://{tmp_path}/job?ring=64"] * 2) as ((first, _), (second, other)):

        def interrupt() -> bool:
            raise KeyboardInterrupt

        monkeypatch.setattr(first, "_make_way", interrupt)
        with pytest.raises(KeyboardInterrupt):
            first.send(1, b"", bytes(1000))
        with pytest.raises(PeerLost, match="broke off"):
            first.send(1, b"", b"")
        until(second, lambda: bool(other.lost_ranks))
        assert other.whole == []


def test_calls_before_connect_and_after_close(tmp_path: Path) -> None:
    transport = FileTransport(0, 1, f"file://{tmp_path}/job")
    for call in (lambda: transport.send(0, b"", b""), lambda: transport.progress(0)):
        with pytest.raises(TransportClosed, match="not connected"):
            call()
    transport.close()
    with pytest.raises(TransportClosed, match="closed"):
        transport.progress(0)


def test_a_rank_outlives_the_thread_that_connected_it(tmp_path: Path) -> None:
    transport, desk = FileTransport(0, 1, f"file://{tmp_path}/job"), ends.Desk()
    SYSTEM.start(lambda: transport.connect(HashStore(), desk, 300), "connects").join()
    transport._next_glance = 0
    transport.progress(0.01, lambda: False)
    transport.send(0, b"", b"to myself")
    until(transport, lambda: bool(desk.whole))
    assert not desk.lost_ranks
    transport.close()


def test_a_forked_child_is_not_the_rank(tmp_path: Path) -> None:
    with world(*[f"file://{tmp_path}/job"] * 2) as ((first, _), (second, desk)):
        first._process = os.getpid() + 1  # as in a child
        first.close()
        second.progress(0)
        assert not desk.lost_ranks
        first._process, first._state = os.getpid(), "open"


def test_a_process_is_known_by_its_number_and_its_beginning() -> None:
    me = identity.here()
    assert me.is_alive() and me.is_watched_from(me) and f"{os.getpid()}" in f"{me}"
    assert not dataclasses.replace(me, started=me.started + 1).is_alive()
    child = os.fork()
    if child == 0:
        os._exit(0)
    gone = dataclasses.replace(me, pid=child, started=0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    zombie = identity._started(child)
    os.waitpid(child, 0)
    assert zombie == 0 and not gone.is_alive()
