"""Writing a journal: the switch, the files, what is in them, and what a crash leaves."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

import minitorch_dist as torch
from minitorch_dist import distributed as dist, launch, sim
from minitorch_dist.distributed import journal, world
from minitorch_dist.distributed.exceptions import DistMismatch
from minitorch_dist.distributed.journal import JournalError, files
from minitorch_dist.launching import processes
from minitorch_dist.launching.ranks import RankFailed
from tests.journal.programs import everything, one_is_killed, ring, twice


def test_nobody_records_unless_asked(tmp_path: Path) -> None:
    assert launch(lambda: world.current().mailbox.recorder, 2) == [None, None]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("said", ["run.mtd", "new/deeper/run.mtd", "folder/", "there"])
def test_an_argument_or_a_variable(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    wanted = f"{tmp_path}/{said}"
    launch(ring, 2, journal=wanted)
    first = journal.read(wanted)
    monkeypatch.setenv(journal.VARIABLE, wanted)
    launch(ring, 3)
    second = journal.read(wanted)
    assert (first.world_size, second.world_size) == (2, 3)  # anew, not added
    assert launch(lambda: world.current().mailbox.recorder, 2, journal="") == [None, None]


def test_lines_are_json_and_the_first_tells_the_version(tmp_path: Path) -> None:
    sim.run(ring, 3, (1,), journal=tmp_path / "run.mtd")
    first, *lines = map(json.loads, (tmp_path / "run.mtd").read_text().splitlines())
    assert first == {"journal": 1, "of": "minitorch_dist"}
    worlds = [line for line in lines if line["what"] == "world"]
    assert [(w["rank"], w["world_size"], w["transport"], w["clock"]) for w in worlds] == [
        (rank, 3, "sim", "virtual") for rank in range(3)
    ]
    send = next(line for line in lines if line["what"] == "send")
    where = send.pop("site")
    assert where.startswith("programs.py:") and send == {
        "what": "send", "rank": 0, "group": "default_pg", "tag": 0, "nth": 0, "to": 1, "bytes": 16,
        "op": "send", "dtype": "float32", "shape": [4], "at": send["at"], "until": send["at"],
    }  # fmt: skip


def test_a_simulated_run_writes_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in "ab":
        sim.run(everything, 4, seed=3, journal=tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_times_are_those_of_the_network(tmp_path: Path) -> None:
    net = sim.uniform("5us", "100Gb/s")
    report = sim.run(ring, 3, (1,), net=net, journal=tmp_path / "run.mtd")
    run = journal.read(tmp_path / "run.mtd")
    hop = 5_000_000 + 80 * 16
    assert [(m.departed, m.arrived) for m in run.messages] == [(0, hop), (hop, 2 * hop), (2 * hop, 3 * hop)]
    assert run.start == 0 and run.end == report.time == 3 * hop
    assert run.is_virtual and run.transport == "sim"
    assert repr(run) == "<Journal of 3 ranks over sim: 12 events, 3 messages, 15.0038 µs>"


def test_early_messages_arrive_before_they_are_received(tmp_path: Path) -> None:
    def program() -> None:
        if dist.get_rank() == 0:
            dist.send(torch.zeros(0), 1)
        else:
            sim.compute("1ms")
            dist.recv(torch.zeros(0), 0)

    sim.run(program, 2, net=sim.uniform("5us", "1GB/s"), journal=tmp_path / "run.mtd")
    (message,) = journal.read(tmp_path / "run.mtd").messages
    assert message.receive is not None
    assert (message.arrived, message.receive.at) == (5_000_000, 10**9)
    compute = next(e for e in journal.read(tmp_path / "run.mtd").events if e.what == "compute")
    assert (compute.at, compute.until, str(compute)[:19]) == (0, 10**9, "rank 1 computes at ")


def test_what_waits_for_ever_is_written_down(tmp_path: Path) -> None:
    def program() -> None:
        dist.recv(torch.zeros(1), 1 - dist.get_rank())

    with pytest.raises(sim.Deadlock):
        sim.run(program, 2, journal=tmp_path / "run.mtd")
    run = journal.read(tmp_path / "run.mtd")
    waits = [str(event) for event in run.events if event.what == "wait"]
    assert all(said.startswith(f"rank {r} waits for rank {1 - r} of") for r, said in enumerate(waits))
    assert len(waits) == 2 and all(": Deadlock: " in said for said in waits)
    assert [(span.lane, span.kind) for span in run.scene().spans if span.failed] == [(0, "wait"), (1, "wait")]


def test_memory_is_that_of_the_rank_s_device(tmp_path: Path) -> None:
    def program() -> None:
        with torch.cuda.simulated(1, "1MB"):
            kept = torch.zeros(256, device="cuda")
            dist.barrier()
            more = torch.zeros(1024, device="cuda")
            sim.compute("1ms")
            del more
            dist.barrier()
            del kept

    sim.run(program, 2, journal=tmp_path / "run.mtd")
    run = journal.read(tmp_path / "run.mtd")
    for rank in (0, 1):
        held = [e.memory for e in run.of(rank) if e.memory >= 0]
        assert held == [1024, 5120, 1024]
    scene = run.scene()
    assert scene.memory_is == "bytes on the rank's device"
    assert [size for _, size in scene.memory[1]] == [1024, 5120, 1024]


def test_errors_are_written_down(tmp_path: Path) -> None:
    def program() -> None:
        x = torch.zeros(3 if dist.get_rank() else 4)
        with pytest.raises(DistMismatch):
            dist.all_reduce(x)

    launch(program, 2, journal=tmp_path / "run.mtd")
    ends = [op.end for op in journal.read(tmp_path / "run.mtd").operations]
    assert all(end is not None and end.error.startswith("DistMismatch: these") for end in ends)
    said = next(str(end) for end in ends if end is not None and end.rank == 1)
    assert "1 fails in all_reduce #0 (float32[3], SUM) of group 'default_pg' at test_rec" in said


@pytest.mark.parametrize("transport", ["queue://", pytest.param("tcp://", marks=pytest.mark.slow)])
def test_a_second_world_adds_to_the_first(transport: str, tmp_path: Path) -> None:
    launch(twice, 2, transport, journal=tmp_path / "run.mtd")
    run = journal.read(tmp_path / "run.mtd")
    assert run.groups == ["default_pg", "default_pg (2)"]
    assert [op.begin.sequence for op in run.operations] == [0] * 4
    assert run.order.line_up()


@pytest.mark.slow
def test_a_killed_rank_leaves_what_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "NOTICE", 60.0)  # both others are to notice, however slow they are
    with pytest.raises(RankFailed):
        launch(one_is_killed, 3, "tcp://", journal=tmp_path / "run.mtd")
    run = journal.read(tmp_path / "run.mtd")
    assert [e.what for e in run.of(1)][-1] == "receive"  # the last thing before its death
    ends = {e.rank: e.error for e in run.events if e.what == "end" and e.sequence == 1}
    assert set(ends) == {0, 2} and all("PeerLost: rank 1 is lost" in e for e in ends.values())
    assert not files.pieces(tmp_path / "run.mtd")


def test_pieces_are_read_as_one(tmp_path: Path) -> None:
    launch(everything, 3, journal=tmp_path / "run.mtd")
    whole = journal.read(tmp_path / "run.mtd")
    lines = (tmp_path / "run.mtd").read_bytes().splitlines(keepends=True)
    for rank in range(3):
        own = [line for line in lines[1:] if json.loads(line)["rank"] == rank]
        torn = b'{"what":"send","ra' if rank == 2 else b""
        (tmp_path / f"other.mtd.{rank}").write_bytes(b"".join([lines[0], *own, torn]))
    (tmp_path / "other.mtd.txt").write_text("not a piece")
    pieces = journal.read(tmp_path / "other.mtd")
    assert pieces.diff(whole) is None and pieces.torn == 1 and "1 torn" in repr(pieces)
    files.merge(tmp_path / "other.mtd")
    merged = journal.read(tmp_path / "other.mtd")
    assert merged.events == pieces.events and merged.torn == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["other.mtd", "other.mtd.txt", "run.mtd"]


def test_a_program_of_its_own_leaves_nothing_of_an_earlier_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As torchrun starts it: nobody but the variable says that there is a journal."""
    launch(ring, 3, journal=tmp_path / "run.mtd")
    for rank in (0, 4):
        (tmp_path / f"run.mtd.{rank}").write_text(f"{files.FIRST}old")
    monkeypatch.setenv(journal.VARIABLE, str(tmp_path / "run.mtd"))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.barrier()
    dist.destroy_process_group()
    assert [p.name for p in tmp_path.iterdir()] == ["run.mtd.0"]
    (operation,) = journal.read(tmp_path / "run.mtd").operations
    assert operation.begin.operation == "barrier" and operation.end is not None


FOREIGN = (
    b"a",
    b"1,2,3\n",
    b'{"journal": 1}\n',
    b'{"name": "mine"}\n',
    b'{"journal":1,"of":"minitorch_dist"',
    b"x" * 5000,
)


@pytest.mark.parametrize("place", ["run.mtd", "run.mtd.0", "run.mtd.1", "run.mtd.7", "run.mtd.20260101"])
@pytest.mark.parametrize("content", FOREIGN, ids=lambda content: f"{len(content)} {content[:9]!r}")
@pytest.mark.parametrize("transport", ["queue://", "sim://"])
def test_a_journal_replaces_and_deletes_nothing_of_others(
    tmp_path: Path, place: str, content: bytes, transport: str
) -> None:
    launch(ring, 3, journal=tmp_path / "run.mtd")
    (tmp_path / place).write_bytes(content)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(JournalError, match=rf"{place} is not a journal.* stays as it is"):
        launch(ring, 3, transport, journal=tmp_path / "run.mtd")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("kind", ["link", "folder", "fifo"])
@pytest.mark.parametrize("place", ["run.mtd", "run.mtd.0"])
def test_a_journal_follows_no_links_and_waits_for_no_fifo(tmp_path: Path, kind: str, place: str) -> None:
    there, path = tmp_path / "there", tmp_path / place
    launch(ring, 2, journal=there)
    content = there.read_bytes()
    if kind == "link":
        path.symlink_to(there)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    files.Sheet(tmp_path / "run.mtd.1").close()
    whole = tmp_path / "run.mtd"
    if whole.is_dir() and not whole.is_symlink():  # a folder is asked for the run.mtd in it
        path = whole / files.NAME
        path.mkdir()
    with pytest.raises(JournalError, match="cannot be a journal: it is a"):
        launch(ring, 2, journal=whole)
    if kind != "link" and place == "run.mtd.0":
        with pytest.raises(JournalError, match="is not a journal: it is a"):
            journal.read(whole)
    assert there.read_bytes() == content and os.path.lexists(path)


def test_a_journal_that_another_run_is_writing_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "run.mtd"
    other = files.Sheet(path)
    other.write('{"what":"compute"}\n')
    with pytest.raises(JournalError, match="just being written by another run"):
        launch(ring, 2, journal=path)
    again = files.Sheet(path, more=True)  # a second world of the same run adds to it
    again.close()
    other.close()
    assert path.read_text() == files.FIRST + '{"what":"compute"}\n'
    launch(ring, 2, journal=path)
    assert journal.read(path).messages


def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    (tmp_path / "run.mtd").touch()
    (tmp_path / "run.mtd.0").touch()
    launch(ring, 3, journal=tmp_path / "run.mtd")
    assert len(journal.read(tmp_path / "run.mtd").messages) == 9


def test_pieces_are_not_merged_over_a_file_of_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.mtd"
    for rank in (0, 1):
        files.Sheet(files.piece(path, rank)).close()
    for place in (path, files.piece(path, 2)):
        place.write_text("mine")
        files.merge(path)
        assert "stay pieces" in caplog.text and place.read_text() == "mine"
        assert files.piece(path, 0).exists() and files.piece(path, 1).exists()
        place.unlink()
    files.merge(path)
    assert [each.name for each in tmp_path.iterdir()] == ["run.mtd"]


@pytest.mark.parametrize("name", ["a*b.mtd", "[r]un.mtd", "ru?.mtd", "ränk 1.mtd"])
def test_odd_names_are_names(name: str, tmp_path: Path) -> None:
    for rank in (0, 1):
        files.Sheet(files.piece(tmp_path / name, rank)).close()
        (tmp_path / f"axb.mtd.{rank}").write_text("another's")
    assert files.pieces(tmp_path / name) == [tmp_path / f"{name}.0", tmp_path / f"{name}.1"]
    files.begin_anew(tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == {"axb.mtd.0", "axb.mtd.1"}


def test_after_a_torn_line_a_new_one_begins(tmp_path: Path) -> None:
    path = tmp_path / "run.mtd"
    sheet = files.Sheet(path)
    sheet.write('{"what":"comp')
    sheet.close()
    sheet.close()
    more = files.Sheet(path, more=True)
    more.write('{"what":"compute","rank":0,"at":1}\n')
    assert "open" in repr(more)
    more.close()
    more.write("nobody reads this")
    run = journal.read(path)
    assert (len(run), run.torn) == (1, 1)


def test_a_full_disk_ends_the_journal_and_not_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write, room = os.write, [1000]

    def almost(file: int, octets: bytes) -> int:
        if len(octets) > room[0]:
            raise OSError(28, "No space left on device")
        half = max(1, len(octets) // 2)  # a part at a time
        room[0] -= half
        return write(file, octets[:half])

    monkeypatch.setattr(files.os, "write", almost)
    with caplog.at_level(logging.WARNING):
        assert launch(everything, 2, journal=tmp_path / "run.mtd") == [4.0, 4.0]
    assert "the journal" in caplog.text and "No space left" in caplog.text
    assert journal.read(tmp_path / "run.mtd").torn <= 1
