"""Traces out and in: what was written is read, and a trace that runs again on its network takes the same time."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from minitorch_dist import distributed as dist, sim
from mtd import traces
from mtd.cli import main
from mtd.traces import chakra, chrome, protobuf
from mtd.traces.chakra import COLLECTIVES, NodeKind, TraceNode
from mtd.traces.protobuf import TraceError
from tests.sim import test_timelines as programs

Program = Callable[..., Any]
H100 = sim.gpu("h100")
WHOLE = st.integers(0, 1 << 60)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("program", [programs.sharded, programs.pipeline])
def test_a_run_again_from_its_trace(program: Program, size: int, tmp_path: Path) -> None:
    first = sim.run(program, size, device=H100, net=programs.NET, shapes=True, timelines=True)
    assert first.timelines is not None
    nodes = traces.nodes_of(first.timelines)
    paths = traces.write_chakra(nodes, tmp_path / "step")
    assert len(paths) == size
    read = traces.read_chakra(tmp_path / "step")
    assert read == nodes
    again = traces.run_trace(read, net=programs.NET)
    assert (again.time, again.bytes_sent) == (first.time, first.bytes_sent)
    slower = traces.run_trace(read, net=sim.uniform("1ms", "1MB/s"))
    assert slower.time >= first.time


@st.composite
def node_lists(draw: st.DrawFn) -> list[TraceNode]:
    found: list[TraceNode] = []
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(NodeKind))
        is_call, is_message = kind == NodeKind.COLLECTIVE, kind in (NodeKind.SEND, NodeKind.RECEIVE)
        found.append(
            TraceNode(
                number,
                draw(st.text(max_size=8)),
                kind,
                tuple(draw(st.sets(st.integers(0, number - 1)))) if number else (),
                draw(WHOLE),
                draw(WHOLE),
                draw(st.sampled_from(COLLECTIVES)) if is_call else "",
                draw(WHOLE) if is_call or is_message else 0,
                tuple(sorted(draw(st.sets(st.integers(0, 99))))) if is_call else (),
                draw(st.integers(0, 99)) if is_message else -1,
                draw(st.integers(0, 99)) if is_message else 0,
            )
        )
    return found


@given(node_lists())
def test_nodes_are_read_as_they_were_written(nodes: list[TraceNode]) -> None:
    assert chakra.decoded(chakra.encoded(3, nodes)) == nodes


@given(st.integers(0, (1 << 64) - 1))
def test_numbers_of_seven_bits(number: int) -> None:
    data = protobuf.varint(number)
    assert protobuf.read_varint(data, 0) == (number, len(data))
    assert len(data) == max(1, -(-number.bit_length() // 7))


def test_bytes_by_hand() -> None:
    """The example of protobuf's own page, and fields of all kinds."""
    assert protobuf.number_field(1, 150) == bytes.fromhex("089601")
    assert protobuf.bytes_field(2, "testing") == bytes.fromhex("120774657374696e67")
    data = bytes.fromhex("089601") + b"\x15" + struct.pack("<I", 7) + b"\x19" + struct.pack("<Q", 8)
    assert list(protobuf.fields(data)) == [(1, 150), (2, 7), (3, 8)]


def test_a_trace_of_another_tool() -> None:
    """As Chakra's own generator writes it: times in microseconds, dependencies one by one, no list of ranks."""
    attribute = protobuf.bytes_field(10, protobuf.bytes_field(1, "comm_type") + protobuf.number_field(9, 2))
    size = protobuf.bytes_field(10, protobuf.bytes_field(1, "comm_size") + protobuf.number_field(13, 4096))
    work = protobuf.number_field(1, 5) + protobuf.number_field(3, 4) + protobuf.number_field(7, 3)
    call = protobuf.number_field(1, 6) + protobuf.number_field(3, 7) + protobuf.number_field(4, 5)
    messages = [protobuf.bytes_field(1, "0.0.4"), work, call + attribute + size]
    nodes = chakra.decoded(b"".join(protobuf.varint(len(m)) + m for m in messages))
    assert nodes[0] == TraceNode(5, "", NodeKind.COMPUTE, duration=3 * 10**6)
    assert nodes[1] == TraceNode(6, "", NodeKind.COLLECTIVE, (5,), collective="all_gather", nbytes=4096)
    report = traces.run_trace([nodes] * 3, net=sim.uniform("1us", "1GB/s"))
    assert report.time > 3 * 10**6 and report.bytes_sent == 3 * 2 * 4096


@pytest.mark.parametrize("name", COLLECTIVES)
@pytest.mark.parametrize("size", [1, 3])
def test_every_collective_runs(name: str, size: int) -> None:
    nodes = [TraceNode(0, name, NodeKind.COLLECTIVE, collective=name, nbytes=1000)]
    again = [TraceNode(1, name, NodeKind.COLLECTIVE, (0,), collective=name, nbytes=0)]
    report = traces.run_trace([nodes + again] * size, net=sim.uniform("1us", "1GB/s"))
    assert (report.time > 0) == (size > 1)


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([], "1 to 100000 ranks"),
        ([[TraceNode(0, "a", NodeKind.COMPUTE, (1,)), TraceNode(1, "b", NodeKind.COMPUTE, (0,))]], "after itself"),
        ([[TraceNode(0, "a", NodeKind.SEND, peer=3)]], "there is no rank 3"),
        ([[TraceNode(0, "a", NodeKind.COLLECTIVE, collective="barrier", group=(1,))]], "not one of 1 ranks"),
        ([[TraceNode(0, "a", NodeKind.COLLECTIVE, collective="barrier", group=(0, 0))]], "twice"),
    ],
)
def test_traces_that_make_no_sense(ranks: list[list[TraceNode]], said: str) -> None:
    with pytest.raises(TraceError, match=said):
        traces.run_trace(ranks)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"\x05ab", "5 bytes begins at byte 1, but 2 are left"),
        (b"\xff" * 11, "more than 10 bytes"),
        (b"\x00\x02\x0b\x00", "unknown kind 3"),
        (b"\x00\x02\x28\x09", "after node 9"),
    ],
)
def test_files_that_are_no_traces(data: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=said):
        chakra.decoded(data)
    (tmp_path / "x.0.et").write_bytes(data)
    with pytest.raises(TraceError, match=r"x\.0\.et"):
        traces.read_chakra(tmp_path / "x")


def run_of_two() -> None:
    import minitorch_dist as torch

    sim.compute("1ms")
    dist.all_reduce(torch.ones(1000))


def test_chromes_traces_are_read_as_they_were_written(tmp_path: Path) -> None:
    report = sim.run(run_of_two, 2, net=sim.uniform("1us", "1GB/s"), journal=tmp_path / "run.mtd")
    report.save_trace(tmp_path / "run.json")
    written, read = report.journal.scene(), traces.read_chrome(tmp_path / "run.json")
    assert list(read.lanes) == list(written.lanes)
    assert sorted((s.lane, s.start, s.end, s.kind) for s in read.spans) == sorted(
        (s.lane, s.start, s.end, s.kind) for s in written.spans
    )
    packed = tmp_path / "run.json.gz"
    packed.write_bytes(gzip.compress((tmp_path / "run.json").read_bytes()))
    assert traces.read_chrome(packed).spans == read.spans


@pytest.mark.parametrize(
    "tree",
    [
        3,
        {},
        {"traceEvents": 3},
        [3],
        [{"ph": "X", "ts": "soon"}],
        [{"ph": "X", "ts": 1e300}],
        [{"ph": "X", "ts": 10**400}],
        [{"ph": "X", "ts": True}],
        [{"ph": "X", "ts": None}],
    ],
)
def test_json_that_is_no_trace(tree: Any) -> None:
    with pytest.raises(TraceError):
        chrome.parsed(tree)


def test_from_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(programs.SCRIPT, encoding="utf-8")
    assert main(["run", "--ranks", "3", "--device", "h100", "--shapes", "--chakra", "step", "mine.py"]) == 0
    assert "wrote step.0.et to step.2.et" in capsys.readouterr().out
    assert main(["run", "--net", "sim://?latency=2us&rate=1GB/s", "--page", "step.html", "step.0.et"]) == 0
    said = capsys.readouterr().out
    assert "3 ranks" in said and "all_reduce" in said and Path("step.html").exists()
    assert main(["run", "none.0.et"]) == 2
    Path("torch.json").write_text(
        json.dumps({"traceEvents": [{"ph": "X", "pid": 7, "tid": 1, "ts": 5, "dur": 3, "name": "aten::mm"}]})
    )
    assert main(["show", "torch.json"]) == 0
    assert "7/1" in capsys.readouterr().out
    Path("bad.json").write_text("{")
    assert main(["show", "bad.json"]) == 2
