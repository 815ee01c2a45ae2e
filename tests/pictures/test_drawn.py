"""SVG and traces: well-formed, complete, capped, and safe whatever names they are given."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minitorch_dist import sim
from minitorch_dist.distributed import journal
from minitorch_dist.pictures import svg
from minitorch_dist.pictures.colours import PALETTE, colours_of
from minitorch_dist.pictures.scene import Arrow, Scene
from mtd import cli
from mtd.pages import page, trace
from tests.journal.programs import everything
from tests.pictures.scenes import empty, ping

SVG = "{http://www.w3.org/2000/svg}"


def recorded(folder: Path, size: int = 4) -> journal.Journal:
    sim.run(everything, size, net=sim.uniform("5us", "10Gb/s"), journal=folder / "run.mtd")
    return journal.read(folder / "run.mtd")


def test_svg_shows_every_message_and_span(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    root = ElementTree.fromstring(run.svg())
    assert len(root.findall(f"{SVG}g")) == len(run.messages)
    spans = [r for r in root.findall(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    assert len(spans) == len(run.scene().spans)
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert any("30000]" in t or "120000 bytes" in t for t in titles)
    assert all("programs.py:" in t for t in titles)
    assert run._repr_html_().startswith("<svg ") and "<script" not in run.svg()
    ElementTree.fromstring(run.svg(by="group", ranks=2))


def test_a_journal_that_speaks_of_millions_makes_few_lanes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two ranks did something, whatever number of ranks each says there were."""
    recorded(tmp_path, 2)
    file, most = tmp_path / "run.mtd", 1 << 24
    file.write_text(file.read_text().replace('"world_size":2', f'"world_size":{most}'))
    tracemalloc.start()
    try:
        assert cli.main(["show", str(file), "--width", "80"]) == 0
        assert f"… and {most - 16} more lanes" in capsys.readouterr().out
        assert cli.main(["show", str(file), "--group", "default_pg"]) == 0
        assert cli.main(["show", str(file), "--ranks", f"0-1,{most - 1}"]) == 0
        assert f"rank {most - 1}" in capsys.readouterr().out
        assert cli.main(["show", str(file), "--svg", "--html", "--trace"]) == 0
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held < 64 << 20  # all lanes are more than a thousand MB
    note = f"{most - page.MOST_LANES} more lanes are not in this file"
    assert note in (tmp_path / "run.html").read_text()
    whole = (tmp_path / "run.trace.json").read_text()
    assert "more lanes are not in this file" in whole and '"ph":"X"' in whole


def test_a_report_shows_itself_in_a_notebook(tmp_path: Path) -> None:
    report = sim.run(everything, 3, journal=tmp_path / "run.mtd")
    assert len(report.journal.messages) > 0
    shown = report._repr_html_()
    assert shown.startswith("<svg ") and shown.endswith("</pre>") and "3 ranks, " in shown
    plain = sim.run(everything, 3)
    assert plain._repr_html_().startswith("<pre") and plain.digest == report.digest
    with pytest.raises(ValueError, match="nobody wrote this run down"):
        _ = plain.journal


def test_slopes_and_thickness_are_those_of_the_messages() -> None:
    root = ElementTree.fromstring(svg.draw(ping(4096), 188))  # 100 ps in 100 pixels
    path = root.find(f"{SVG}g/{SVG}path")
    assert path is not None and path.get("d", "").startswith("M104.00 ")
    assert "L144.00 " in path.get("d", "") and path.get("stroke") == PALETTE[0].hex
    assert svg.thickness(0) == 1 < svg.thickness(4096) < svg.thickness(1 << 20) < 7
    assert svg.thickness(1 << 60) == 7


@pytest.mark.parametrize("scene", [empty(), ping(), ping(lost=True)])
def test_names_are_text(scene: Scene) -> None:
    evil = "</title><script>alert(1)</script>&\"'"
    hostile = replace(
        scene,
        title=evil,
        lanes=[evil for _ in scene.lanes],
        note=evil,
        spans=[s._replace(name=evil, group=evil, text=evil) for s in scene.spans],
        arrows=[a._replace(name=evil, group=evil, text=evil) for a in scene.arrows],
    )
    for by in ("operation", "group"):
        drawn = svg.draw(hostile, by=by)
        ElementTree.fromstring(drawn)
        assert "<script" not in drawn
    assert json.loads(trace.draw(hostile))["otherData"]["note"] == evil


def test_what_is_not_drawn_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    many = replace(ping(), lanes=[f"rank {n}" for n in range(70)], arrows=ping().arrows * 3)
    monkeypatch.setattr(svg, "MOST", 2)
    drawn = svg.draw(many)
    assert "6 more lanes are not drawn" in drawn and "The first 2 of 3 messages" in drawn
    assert len(ElementTree.fromstring(drawn).findall(f"{SVG}g")) == 2


def test_colours_can_be_told_apart() -> None:
    names = [f"op{n}" for n in range(10)]
    found = colours_of(names)
    assert len({found[name] for name in names[:8]}) == 8 and found["op8"] == found["op0"]
    # Okabe and Ito's colours differ in lightness too: no two have the same grey.
    greys = [sum(w * int(c.hex[i : i + 2], 16) for w, i in ((3, 1), (6, 3), (1, 5))) for c in PALETTE]
    assert len(set(greys)) == 8


def test_a_trace_has_spans_flows_and_counters(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    found = json.loads(trace.draw(run.scene(), per_node=2))
    events = found["traceEvents"]
    kinds = Counter(event["ph"] for event in events)
    assert kinds["s"] == kinds["f"] == len(run.messages) and kinds["X"] == len(run.scene().spans)
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]
    assert names[:3] == ["node 0", "rank 0", "rank 0, beside"] and "node 1" in names
    begun = {event["id"]: event for event in events if event["ph"] == "s"}
    for event in events:
        if event["ph"] in "Xsf":
            assert event["pid"] == (event["tid"] % trace.WORKER) // 2
        if event["ph"] == "f":
            assert event["ts"] >= begun[event["id"]]["ts"] and event["bp"] == "e"
    carried = [e["args"]["bytes"] for e in events if e["name"] == "bytes on their way"]
    assert max(carried) > 0 and carried[-1] == 0 and min(carried) >= 0
    assert found["otherData"] == {"title": "run.mtd", "cap": 200_000, "events": len(events), "left out": 0}


def test_a_trace_is_capped_and_says_so() -> None:
    found = json.loads(trace.draw(ping(), most=5))
    assert len(found["traceEvents"]) == 5 and found["otherData"]["left out"] > 0
    assert found["otherData"]["events"] == 5 + found["otherData"]["left out"]
    arrow = Arrow(0, 1, 0, 1, 1, "send", "g", "")
    large = Scene("", ["a", "b"], arrows=[arrow] * 700)
    assert len(json.loads(trace.draw(large, most=2000))["traceEvents"]) == 2000
    assert trace.MOST == 200_000


def test_show_writes_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path)
    path = str(tmp_path / "run.mtd")
    assert cli.main(["show", path, "--svg", "--trace", str(tmp_path / "t.json")]) == 0
    assert (tmp_path / "run.svg").read_text().startswith("<svg ")
    assert json.loads((tmp_path / "t.json").read_text())["displayTimeUnit"] == "ns"
    assert capsys.readouterr().out.count("wrote ") == 2
