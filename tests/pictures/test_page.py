"""The page: self-contained, safe, and what it does in a browser (headless Chromium, where it is installed)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from minitorch_dist import sim
from minitorch_dist.distributed import journal
from mtd import cli
from mtd.cli.show import page_of
from mtd.pages import page
from tests.journal.programs import everything, ring
from tests.pictures.scenes import empty, ping

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium here (Debian: apt-get install chromium)")


def recorded(path: Path, fn: Any, size: int, *args: Any) -> journal.Journal:
    sim.run(fn, size, args, net=sim.uniform("5us", "10Gb/s"), journal=path)
    return journal.read(path)


def data_of(text: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None
    return json.loads(found[1])


def test_nothing_is_loaded_and_everything_is_there(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run.mtd", everything, 4)
    text = page_of(run.scene(), run, None)
    assert not re.search(r"""(src|href)=|@import|url\((?!#)|fetch\(|XMLHttp|WebSocket|eval\(""", text)
    assert "default-src 'none'" in text
    (only,) = data_of(text)["runs"]
    assert len(only["arrows"]) == len(run.messages) and only["lanes"] == [f"rank {r}" for r in range(4)]
    assert len(only["moments"]) == len([e for e in run.events if e.what != "wait"])
    script = text.rsplit("<script>", 1)[1]
    assert len(script) < 20_000


@pytest.mark.parametrize("scene", [empty(), ping(), ping(lost=True)])
def test_names_are_text(scene: Any) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    text = page.draw(replace(scene, title=evil, lanes=[evil for _ in scene.lanes], note=evil))
    assert text.count("<script") == 2 and "<img" not in text
    assert data_of(text)["runs"][0]["title"] == evil


def test_a_cap_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST", 2)
    (only,) = data_of(page.draw(replace(ping(), arrows=ping().arrows * 5)))["runs"]
    assert len(only["arrows"]) == 2 and only["note"].startswith("The first 2 of 5 messages are in")


def test_two_runs_and_where_they_part(tmp_path: Path) -> None:
    a = recorded(tmp_path / "a.mtd", ring, 3)
    b = recorded(tmp_path / "b.mtd", ring, 3, 3, 1)
    found = data_of(page_of(a.scene(), a, b))
    one, other, text = found["parting"]
    for run, moment in zip(found["runs"], (one, other), strict=True):
        assert "rank 2 is ready to receive" in found["strings"][run["moments"][moment][2]]
    assert text.startswith("they part at rank 2") and text.count("programs.py") == 3
    assert data_of(page_of(a.scene(), a, a))["parting"] is None
    shorter = data_of(page_of(a.scene(), a, recorded(tmp_path / "c.mtd", ring, 3, 2)))["parting"]
    assert shorter[0] is not None and shorter[1] is None


def test_show_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        recorded(tmp_path / f"{name}.mtd", ring, 3)
    a, b = str(tmp_path / "a.mtd"), str(tmp_path / "b.mtd")
    assert cli.main(["show", a, "--html", "--ranks", "0,2"]) == 0
    assert data_of((tmp_path / "a.html").read_text())["runs"][0]["lanes"] == ["rank 0", "rank 2"]
    assert cli.main(["show", a, "--beside", b, "--html", str(tmp_path / "both.html")]) == 0
    assert len(data_of((tmp_path / "both.html").read_text())["runs"]) == 2
    assert f"wrote {tmp_path / 'both.html'}" in capsys.readouterr().out


# ------------------------------------------------------------------------------------- in a browser

DRIVER = """<script>
const said = [], note = (name, value) => said.push([name, value]);
const press = (key, more = {}) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, ...more}));
const count = what => document.querySelectorAll(what).length, now = () => document.getElementById("now").textContent;
window.onerror = text => note("error", text);
%s
const out = document.createElement("pre");
out.id = "said"; out.textContent = JSON.stringify(said); document.body.append(out);
</script></body>"""


def browse(text: str, steps: str, tmp_path: Path, size: str = "1000,700") -> dict[str, Any]:
    """What a page says after some steps. The driver is put into a copy of it."""
    assert CHROMIUM is not None
    file = tmp_path / "driven.html"
    file.write_text(text.replace("</body>", DRIVER % steps), encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={size}",
         f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom",
         file.as_uri()],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    found = re.search(r'<pre id="said">(.*?)</pre>', done.stdout, re.S)
    assert found is not None, done.stdout[-500:] + done.stderr[-500:]
    said = dict(json.loads(unescape(found[1])))
    assert "error" not in said, said["error"]
    return said


@in_a_browser
@pytest.mark.slow
def test_one_run_in_a_browser(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run.mtd", everything, 4)
    said = browse(
        page_of(run.scene(), run, None),
        """
note("arrows", count("[data-a]")); note("spans", count("[data-s]")); note("first", now());
press("ArrowRight"); note("step 1", now()); note("faded", count("[data-a].later"));
press("ArrowRight"); press("ArrowLeft"); note("and back", now());
press("ArrowRight", {shiftKey: true}); note("ten on", now().slice(0, 3));
press("End"); note("last", now()); note("all there", count(".later")); press("Escape");
const wide = () => +document.querySelector("[data-s]").getAttribute("width");
const before = wide(); press("+"); press("+"); note("wider", wide() > before); press("0"); note("fits", wide() == before);
const colour = () => document.querySelector("[data-a] path:nth-child(2)").getAttribute("stroke");
press("t"); note("dark", document.documentElement.classList.contains("dark")); press("t");
press("c"); note("by group", document.getElementById("legend").textContent.includes("default_pg")); press("c");
const boxes = [...document.querySelectorAll("#ranks input")]; boxes[0].click(); boxes[1].click();
note("two ranks", [...document.querySelectorAll("svg > text")].filter(t => t.textContent.startsWith("rank")).length);
note("between them", count("[data-a]")); boxes[0].click(); boxes[1].click();
const groups = [...document.querySelectorAll("#groups input")]; groups[0].click(); note("one group", count("[data-a]")); groups[0].click();
document.querySelector("[data-a] path").dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: 300, clientY: 200}));
note("tip", document.getElementById("tip").textContent);
note("reachable", [...document.querySelectorAll("button, summary, svg")].every(e => e.tabIndex >= 0 && (e.textContent || e.ariaLabel)));
press(" "); note("plays", document.getElementById("play").title); press(" ");
""",
        tmp_path,
    )
    assert (said["arrows"], said["spans"]) == (len(run.messages), len(run.scene().spans))
    assert "in all" in said["first"] and said["step 1"] == said["and back"]
    assert re.match(r"1 of \d+ 0 ps: rank \d begins all_reduce #0 .* at programs.py:\d+$", said["step 1"])
    assert said["faded"] == len(run.messages) and said["ten on"] == "11 "
    total, of = said["last"].split()[:3:2]
    assert total == of and said["all there"] == 0
    for what in ("wider", "fits", "dark", "by group", "reachable"):
        assert said[what] is True, what
    inside = [m for m in run.messages if {m.send.rank, m.send.peer} <= {2, 3}]
    assert (said["two ranks"], said["between them"]) == (2, len(inside))
    assert said["one group"] == len([m for m in run.messages if m.send.group == "1"])
    assert re.search(r"rank \d sends \d+ bytes .* at programs.py:\d+ · [\d.]+ K?i?B, \d.* on its way", said["tip"])
    assert said["plays"] == "pause (space)"


@in_a_browser
@pytest.mark.slow
def test_two_runs_in_a_browser(tmp_path: Path) -> None:
    a = recorded(tmp_path / "a.mtd", ring, 3)
    b = recorded(tmp_path / "b.mtd", ring, 3, 3, 1)
    said = browse(
        page_of(a.scene(), a, b),
        """
note("runs", count("section svg")); note("marks", count("line.part")); note("said", now());
press("p"); note("there", now()); note("rings", count("circle.here"));
const [one, two] = [...document.querySelectorAll("section")].map(s => s.getBoundingClientRect());
note("side by side", one.top == two.top && one.right <= two.left);
""",
        tmp_path,
        "1500,700",
    )
    assert (said["runs"], said["marks"], said["rings"]) == (2, 2, 2)
    assert said["said"].startswith("they part at rank 2") and said["side by side"] is True
    assert "from rank 1 of group" in said["there"] and "with tag 5" in said["there"]


@in_a_browser
@pytest.mark.slow
def test_what_is_empty_or_hostile_in_a_browser(tmp_path: Path) -> None:
    evil = "<img src=x onerror=\"document.title='caught'\">"
    for scene in (empty(), ping(lost=True)):
        hostile = replace(
            scene,
            title=evil,
            lanes=[evil for _ in scene.lanes],
            spans=[s._replace(name=evil, group=evil, text=evil) for s in scene.spans],
            arrows=[a._replace(name=evil, group=evil, text=evil) for a in scene.arrows],
            moments=[m._replace(text=evil) for m in scene.moments],
        )
        said = browse(
            page.draw(hostile),
            """
press("ArrowRight"); press("End"); press("+"); press("c"); press("?"); press("p");
note("images", count("img")); note("title", document.title);
""",
            tmp_path,
            "400,300",
        )
        assert said == {"images": 0, "title": evil}
