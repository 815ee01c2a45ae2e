"""The append-only files: records that are torn, full of holes, or nonsense; segments; full disks."""

from __future__ import annotations

import errno
import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from hypothesis import example, given, settings, strategies as st

from tests.transports import ends
from transports.clock import SYSTEM
from transports.errors import Damaged
from transports.shared_file import logs

lengths = st.one_of(st.integers(0, 40), st.sampled_from([2999, 3000, 3001, 4096, 9000]))
turns = st.tuples(lengths, lengths, st.integers(0, 2))  # of header and payload; drains before it
MESSAGES = [(b"one", b"1" * 10), (b"", b""), (b"two", bytes(range(256)) * 14), (b"three", b"3")]


def body(nbytes: int, seed: int) -> bytes:
    return bytes((7 * n + seed) % 256 for n in range(nbytes))


@given(
    st.lists(turns, max_size=12),
    st.sampled_from([1, 100, 4096, 1 << 26]),
    st.booleans(),
    st.sampled_from([1000, 1 << 20]),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, sent: list[tuple[int, int, int]], room: int, is_far: bool, longest: int
) -> None:
    messages = [(body(head, seed), body(rest, ~seed)) for seed, (head, rest, _) in enumerate(sent)]
    with (
        pytest.MonkeyPatch.context() as patch,
        ends.logs(tmp_path_factory.mktemp("logs"), room, is_far) as (ours, theirs),
    ):
        patch.setattr(logs, "LONGEST", longest)
        patch.setattr(os, "fsync", lambda file: None)  # a disk would make this test slow
        ends.by_turns(ours.outlets[1], theirs.inlets[0], messages, [n for _, _, n in sent])


@pytest.mark.parametrize("is_far", [False, True])
def test_a_writer_is_at_most_two_segments_ahead(tmp_path: Path, is_far: bool) -> None:
    with ends.logs(tmp_path, 1000, is_far) as (ours, theirs):
        outlet, inlet, desk = ours.outlets[1], theirs.inlets[0], ends.Desk()
        written = 0
        while outlet.offer(b"", memoryview(bytes(990))):
            written += 1
        assert written == 2 and outlet.is_pending and not outlet.is_amid
        assert not outlet.push()
        assert inlet.drain(desk) == 2
        assert outlet.push() and not outlet.is_pending and inlet.drain(desk) == 1
        there = {path.name: path.stat().st_size for path in ours._folder.glob("0-1.*")}
        assert len(there) <= 2 and sum(there.values()) < 2 * 1100 and ("0-1.0" in there) != is_far


@pytest.mark.parametrize("room", [1, 100, 4096])
def test_two_files_that_take_turns_never_give_old_records(tmp_path: Path, room: int) -> None:
    with ends.logs(tmp_path, room) as (ours, theirs):
        messages = [(b"%d" % n, body(n % 97, n)) for n in range(600)]
        ends.by_turns(ours.outlets[1], theirs.inlets[0], messages, [n % 3 for n in range(600)])


def written(folder: Path) -> bytes:
    """What a file holds after MESSAGES and the end."""
    with ends.logs(folder, 1 << 26) as (ours, _):
        for header, payload in MESSAGES:
            assert ours.outlets[1].offer(header, memoryview(payload)) or ours.outlets[1].push()
        ours.outlets[1].end()
        return (ours._folder / "0-1.0").read_bytes()


def test_a_torn_tail_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    """Cut anywhere: nothing torn is delivered, and once the rest is there all of it is."""
    data = written(tmp_path)
    path = tmp_path / "0-1.0"
    for cut in [*range(60), *range(60, len(data) - 30, 97), *range(len(data) - 30, len(data))]:
        path.write_bytes(data[:cut])
        desk, inlet = ends.Desk(), logs.LogInlet(tmp_path, 0, 1, True, SYSTEM)
        inlet.drain(desk)
        assert desk.whole == MESSAGES[: len(desk.whole)] and not inlet.is_ended
        path.write_bytes(data)
        inlet.release()
        inlet.drain(desk)
        assert desk.whole == MESSAGES and inlet.is_ended
        inlet.release()


@pytest.mark.slow
@settings(max_examples=15)
@given(st.data())
def test_blocks_may_come_in_any_order(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A network file system may show a later block before an earlier one: zeros in between."""
    folder = tmp_path_factory.mktemp("logs")
    whole = written(folder)
    block = data.draw(st.sampled_from([3, 64, 512, 1024]))
    order = data.draw(st.permutations(range(0, len(whole), block))) if block > 3 else range(0, 300, 3)
    path, seen = folder / "0-1.0", bytearray()
    desk, inlet = ends.Desk(), logs.LogInlet(folder, 0, 1, True, SYSTEM)
    for at in [*order, *range(0, len(whole), block)]:
        seen.extend(bytes(max(0, at + block - len(seen))))
        seen[at : at + block] = whole[at : at + block]
        path.write_bytes(seen)
        inlet.drain(desk)
        assert desk.whole == MESSAGES[: len(desk.whole)]
    inlet.drain(desk)
    assert desk.whole == MESSAGES and inlet.is_ended
    inlet.release()


def test_a_record_that_stays_wrong_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "TORN", 0.0)
    (tmp_path / "0-1.0").write_bytes(struct.pack("<II", 12, 77) + bytes(12))
    desk, inlet = ends.Desk(), logs.LogInlet(tmp_path, 0, 1, True, SYSTEM)
    assert inlet.drain(desk) == 0  # perhaps it is still on its way
    with pytest.raises(Damaged, match="byte 0 has been wrong"):
        inlet.drain(desk)
    inlet.release()


@given(
    st.one_of(
        st.binary(max_size=80),
        st.tuples(
            st.sampled_from([0, 5, 2999, 3001, 1 << 41, (1 << 64) - 1, 1 << 60]),
            st.sampled_from([0, 3, (1 << 16) + 1, (1 << 32) - 1]),
            st.binary(max_size=20),
        ).map(lambda parts: struct.pack("<QI", *parts[:2]) + parts[2]),
    )
)
@example(struct.pack("<QI", 1 << 60, 0))
def test_hostile_records_are_refused(tmp_path_factory: pytest.TempPathFactory, record: bytes) -> None:
    """Whatever a record with a right check says: nothing is allocated for what cannot be."""
    folder = tmp_path_factory.mktemp("logs")
    frame = struct.pack("<II", len(record), crc32(record, 0))
    (folder / "0-1.0").write_bytes(frame + record)
    desk, inlet = ends.Desk(), logs.LogInlet(folder, 0, 1, True, SYSTEM)
    tracemalloc.start()
    try:
        inlet.drain(desk)
    except Damaged:
        assert not desk.begun
    else:
        assert all(nbytes <= 1 << 40 and len(header) <= 1 << 16 for header, nbytes in desk.begun)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    inlet.release()


@given(st.binary(max_size=200))
def test_any_bytes_at_all(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "0-1.0").write_bytes(data)
    desk, inlet = ends.Desk(), logs.LogInlet(folder, 0, 1, True, SYSTEM)
    try:
        assert inlet.drain(desk) == 0 and not desk.begun
    except Damaged:
        assert not desk.begun
    inlet.release()


def test_a_full_disk_takes_nothing_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that could not be written whole leaves no rest that what comes next would meet."""
    real, calls = os.pwritev, []

    def fails_once(file: int, parts: Any, at: int) -> int:
        calls.append(at)
        if len(calls) == 1:
            return real(file, [memoryview(parts[0])[:20]], at)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, parts, at)

    with ends.logs(tmp_path, 1 << 26) as (ours, theirs):
        outlet, inlet, desk = ours.outlets[1], theirs.inlets[0], ends.Desk()
        monkeypatch.setattr(os, "pwritev", fails_once)
        with pytest.raises(OSError, match="No space"):
            outlet.offer(b"header", memoryview(bytes(range(256))))
        assert not outlet.is_amid
        assert outlet.offer(b"h", memoryview(b"small"))
        assert inlet.drain(desk) == 1 and desk.whole == [(b"h", b"small")]


@pytest.mark.parametrize("is_far", [False, True])
def test_a_pulse_is_seen_by_the_other(tmp_path: Path, is_far: bool) -> None:
    with ends.logs(tmp_path, 64, is_far) as (ours, theirs):
        for _ in range(3):
            before = theirs.pulse(0), theirs.pulse(1)
            ours.beat()
            assert theirs.pulse(0) != before[0] and theirs.pulse(1) == before[1]


@pytest.mark.parametrize("nbytes", [10, logs.INLINE + 1, 2 * logs.LONGEST + 1])
def test_a_record_that_is_wholly_in_is_not_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nbytes: int
) -> None:
    """A signal comes when the last byte is in, and the reader has it already: the record stays."""
    write = os.pwritev
    payload, is_interrupted = body(nbytes, 3), False

    with ends.logs(tmp_path, 1 << 26) as (ours, theirs):
        outlet, inlet, desk = ours.outlets[1], theirs.inlets[0], ends.Desk()

        def write_and_fail(*given: Any) -> int:
            nonlocal is_interrupted
            written = write(*given)
            inlet.drain(desk)
            if not is_interrupted:
                is_interrupted = True
                raise KeyboardInterrupt
            return written

        monkeypatch.setattr(os, "pwritev", write_and_fail)
        with pytest.raises(KeyboardInterrupt):
            outlet.offer(b"h", memoryview(payload))
        assert outlet.is_pending == outlet.is_amid == (nbytes > logs.INLINE)
        while outlet.is_pending:
            outlet.push()
        outlet.offer(b"h", memoryview(b"the next"))
        inlet.drain(desk)
        assert desk.whole == [(b"h", payload), (b"h", b"the next")]
