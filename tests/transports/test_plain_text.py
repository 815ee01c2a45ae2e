"""Texts of others never reach a terminal as they are."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from rich.console import Console

import minitorch_dist as mtd
from minitorch_dist import SerializationError, sim
from minitorch_dist.distributed import codec, journal
from minitorch_dist.distributed.checkpoint.index import CheckpointException
from minitorch_dist.distributed.codec.errors import DamagedEncoding
from minitorch_dist.distributed.codec.failures import RemoteException, RemoteTraceback
from minitorch_dist.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from minitorch_dist.distributed.exceptions import DistMismatch, DistTimeout, PeerLost
from minitorch_dist.distributed.journal import JournalError
from minitorch_dist.pictures.scene import COMPUTE, LaneSpan, Scene
from minitorch_dist.pictures.spacetime import draw
from minitorch_dist.pictures.terminal import painted
from minitorch_dist.serialization import container
from mtd import cli
from mtd.traces import read_chrome
from mtd.traces.protobuf import TraceError
from transports import identity
from transports.errors import DistStoreError, Lost
from transports.plain_text import clean
from transports.sockets import endpoints

EVIL = "\x1b[2J\x1b]0;title\x07\x9b2J\u202e"
SHOWN = r"\x1b[2J\x1b]0;title\x07\x9b2J\u202e"


def test_what_a_terminal_obeys_is_spelt_and_all_else_stays() -> None:
    assert clean(f"a\n\t{EVIL}é語🙂") == f"a\n\t{SHOWN}é語🙂"
    assert clean("a\nb\tc\u2028", lines=False) == r"a\nb\tc\u2028"
    assert clean(b"\xff\x1b") == "�\\x1b" and clean("") == "" and clean("\r\ud800") == r"\r\ud800"


@given(st.text())
def test_a_cleaned_text_can_be_written_and_stays_as_it_is(text: str) -> None:
    found = clean(text)
    assert clean(found) == found == found.encode().decode()
    line = clean(text, lines=False)
    assert not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in line)


@pytest.mark.parametrize(
    "error",
    [
        DistStoreError(EVIL),
        DistTimeout(EVIL),
        DistMismatch(EVIL),
        PeerLost(1, Lost("lost", EVIL), "x"),
        SerializationError(EVIL),
        CheckpointException(EVIL),
        JournalError(EVIL),
        TraceError(EVIL),
        RemoteException(EVIL, EVIL, EVIL),
        RemoteTraceback(EVIL),
        DamagedEncoding(EVIL),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_with_words_of_others_show_them_cleaned(error: Exception) -> None:
    assert SHOWN in str(error) and clean(str(error)) == str(error)


def test_the_report_of_the_launcher_is_clean(tmp_path: Path) -> None:
    said = {"message": {"message": EVIL, "extraInfo": {"py_callstack": f"Traceback\nE: {EVIL}"}}}
    (tmp_path / "error.json").write_text(json.dumps(said))
    failure = ProcessFailure(0, 1, 1, str(tmp_path / "error.json"), rank=0, host=EVIL)
    report = str(ChildFailedError(EVIL, {0: failure}))
    assert SHOWN in report and clean(report) == report


def test_names_in_files_are_clean_where_they_are_shown(tmp_path: Path) -> None:
    file = io.BytesIO()
    header = json.dumps({EVIL: {"dtype": "F3", "shape": [1], "data_offsets": [0, 4]}}).encode()
    file.write(len(header).to_bytes(8, "little") + header + bytes(4))
    with pytest.raises(SerializationError) as caught:
        container.read_header(io.BytesIO(file.getvalue()).read, len(file.getvalue()), True)
    assert SHOWN in str(caught.value)
    with pytest.raises(RuntimeError) as mismatch:
        mtd.nn.Linear(1, 1).load_state_dict({EVIL: mtd.ones(1)})
    assert SHOWN in str(mismatch.value)
    (tmp_path / "mine.toml").write_text(
        f'[{json.dumps(EVIL)}]\nbandwidth = "1TB/s"\n[{json.dumps(EVIL)}.peak]\nfloat32 = "1T"\n'
    )
    assert sim.gpu(str(tmp_path / "mine.toml")).name == SHOWN
    peer = identity.PeerIdentity(EVIL, "", "", 1, 1)
    assert f"{peer}" == f"process 1 on {SHOWN}"


def test_a_journal_and_a_trace_of_others_are_shown_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[dict[str, Any]] = [
        {"journal": 1, "of": "minitorch_dist"},
        {"what": "world", "rank": 0, "world_size": 1, "transport": EVIL, "host": EVIL, "program": EVIL,
         "at": 0, "clock": "virtual"},
        {"what": "begin", "rank": 0, "group": EVIL, "seq": 0, "op": EVIL, "dtype": EVIL, "shape": [1],
         "site": EVIL, "at": 1},
        {"what": "end", "rank": 0, "group": EVIL, "seq": 0, "at": 5, "error": EVIL},
    ]  # fmt: skip
    run = tmp_path / "run.mtd"
    run.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = journal.read(run)
    assert all(clean(f"{event}") == f"{event}" and SHOWN in f"{event}" for event in found.events)
    names = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": EVIL}}
    span = {"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 3, "name": EVIL}
    trace = tmp_path / "trace.json.gz"
    trace.write_bytes(gzip.compress(json.dumps([names, span]).encode()))
    broken = tmp_path / "broken.mtd"
    broken.write_text(json.dumps({"journal": 1}) + "\n" + json.dumps({"what": EVIL}) + "\n")
    for path, status in ((run, 0), (trace, 0), (broken, 2)):
        assert cli.main(["show", str(path)]) == status
        shown = "".join(capsys.readouterr())
        assert clean(shown) == shown


def test_a_damaged_packed_trace_is_refused_and_takes_no_memory(tmp_path: Path) -> None:
    path, whole = tmp_path / "trace.json.gz", gzip.compress(b'[{"ph": "X", "ts": 0}]' * 40, 0)
    for at in range(10, len(whole), 9):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with pytest.raises(TraceError):
            read_chrome(path)


@pytest.mark.parametrize("order", "<>")
def test_an_array_of_text_beyond_unicode_is_no_message(order: str) -> None:
    packed = codec.pack(np.array(["ab", "é"], f"{order}U2"))
    assert codec.unpack(packed).tolist() == ["ab", "é"]
    letter = np.array([0xE9], f"{order}u4").tobytes()
    assert packed.count(letter) == 1
    for beyond in (0x110000, 0xFFFFFFFF):
        with pytest.raises(codec.CodecError, match="Unicode ends"):
            codec.unpack(packed.replace(letter, np.array([beyond], f"{order}u4").tobytes()))
    assert codec.unpack(codec.pack(np.zeros((0, 3), "U2"))).shape == (0, 3)


def test_dates_without_a_unit_and_units_of_nothing_are_no_message() -> None:
    packed = codec.pack(np.array([3], "m8[2s]"))
    assert codec.unpack(packed) == np.timedelta64(6, "s")
    with pytest.raises(codec.CodecError, match="no dtype"):
        codec.unpack(packed.replace(b"m8[2s]", b"m8[0s]"))
    with pytest.raises(codec.CodecError, match="without a unit"):
        codec.unpack(codec.pack(np.array([3], "m8")).replace(b"<m8", b"<M8"))
    assert np.isnat(codec.unpack(codec.pack(np.array(["NaT"], "M8"))))


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells who holds a port")
def test_the_command_line_of_the_holder_of_a_port_is_a_text_of_others() -> None:
    program = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, b"\xff\x1b[2J"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        port = int(holder.stdout.readline())
        assert f"pid {holder.pid}" in endpoints.holder_of(port)
    finally:
        holder.communicate(b"\n", timeout=60)


def test_pictures_are_drawn_without_what_a_terminal_obeys() -> None:
    scene = Scene(EVIL, [EVIL], [LaneSpan(0, 0, 5, COMPUTE, EVIL, "", EVIL)])
    console = Console(file=io.StringIO(), width=80)
    plain = painted(draw(scene, 80), scene, console).plain
    assert clean(plain) == plain and r"\x1b[2J" in plain
