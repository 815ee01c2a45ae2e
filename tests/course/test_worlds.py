"""One script in several worlds, and what is said of it."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import certificate, lesson, timelines, worlds
from mtd.course.worlds import Lived, TrainingSetup

TRAIN = lesson.find(4).folder / "train.py"

COUNTS = """
import minitorch_dist as torch
import minitorch_dist.distributed as dist
from minitorch_dist import nn


def main(arguments):
    losses, weights = [], []
    for step in range(int(arguments[0])):
        one = torch.full((4,), float(step))
        if dist.is_initialized():
            dist.all_reduce(one)
            one /= dist.get_world_size()
        losses.append(one.sum().item())
        weights.append(one.tolist())
    return losses, weights
"""


@pytest.fixture
def setting(tmp_path: Path) -> TrainingSetup:
    script = tmp_path / "counts.py"
    script.write_text(COUNTS, encoding="utf-8")
    return TrainingSetup(script, ("3",), 3, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_train_py_alone_in_the_simulator_and_with_all_that_may_befall_it(ranks: int, tmp_path: Path) -> None:
    """After a death it goes on from its checkpoint: fewer losses, the same weights."""
    heard: list[str] = []
    names = ["alone", "simulator", "faults"]
    found = worlds.live(TrainingSetup(TRAIN, ("--steps", "12"), ranks, tmp_path), names, heard.append)
    assert certificate.judge(found).complaints == [] and heard == names
    assert [len(lived.losses) for lived in found[:2]] == [12, 12]
    story = " ".join(found[2].story)
    assert "2% of the packets are lost" in story and ("came back and trained on" in story) == (ranks > 1)
    assert found[2].journal is not None and found[2].journal.is_virtual


@pytest.mark.slow
def test_a_script_of_ones_own_over_real_wires(setting: TrainingSetup) -> None:
    found = worlds.live(setting, ["alone", "simulator", "tcp"])
    judged = certificate.judge(found)
    assert judged.complaints == []
    assert len({line.order for line in judged.lines[1:]}) == 1
    assert found[1].bytes_sent == found[2].bytes_sent and sum(found[1].bytes_sent)


def test_a_script_finds_what_stands_beside_it(setting: TrainingSetup) -> None:
    (setting.folder / "other_numbers.py").write_text("FACTOR = 2.0\n", encoding="utf-8")
    text = COUNTS.replace("float(step))", "float(step) * FACTOR)")
    setting.script.write_text(f"from other_numbers import FACTOR\n{text}", encoding="utf-8")
    before = sys.path[:]
    found = worlds.live(setting, ["alone", "simulator"])
    assert found[1].losses == [0.0, 8.0, 16.0] and certificate.judge(found).is_met
    assert sys.path == before


def test_only_the_imports_are_changed_for_torch() -> None:
    text = TRAIN.read_text("utf-8")
    changed = worlds.with_torch(text)
    pairs = list(zip(text.splitlines(), changed.splitlines(), strict=True))
    assert [b for a, b in pairs if a != b] == [
        "import torch",
        "import torch.distributed as dist",
        "from torch import nn, optim",
        "from torch.nn.parallel import DistributedDataParallel as DDP",
    ]
    assert "With `torch` for `minitorch_dist` in its imports" in changed  # not in its texts


def test_what_is_no_script_of_this_kind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no script"):
        worlds.play(str(tmp_path / "none.py"), [])
    (tmp_path / "other.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(TypeError, match=r"other\.py has no main\(arguments\) that returns"):
        worlds.play(str(tmp_path / "other.py"), [])


def test_each_difference_is_told_in_words(setting: TrainingSetup) -> None:
    alone, sim = worlds.live(setting, ["alone", "simulator"])

    def said(**other: object) -> list[str]:
        return certificate.judge([alone, sim, replace(sim, name="tcp", **other)]).complaints  # type: ignore[arg-type]

    assert said() == []
    assert said(losses=[0.0, 4.0, 8.5]) == ["tcp: after step 3 its loss is 8.5, and 8.0 alone"]
    assert said(weights=[2.0, 2.0, 2.5, 2.0]) == ["tcp: weight 2 is 2.5, and 2.0 alone"]
    assert said(weights=[]) == ["tcp: it has 0 weights, and alone there are 4"]
    assert said(is_agreed=False) == ["tcp: its ranks end with different weights"]
    shorter = worlds.live(replace(setting, arguments=("2",)), ["simulator"])[0].journal
    parting, sent = said(journal=shorter)
    assert parting.startswith("tcp: its journal is another than the simulator's; they part at rank")
    assert "its ranks sent" in sent


def test_torch_may_round_otherwise_and_no_more() -> None:
    alone = Lived("alone", 1, [3.0, 2.0], [1.0])
    near = Lived("torch", 2, [3.0, 2.0 * (1 + 1e-15)], [1.0])
    far = Lived("torch", 2, [3.0, 2.0 * (1 + 1e-11)], [1.0])
    assert certificate.judge([alone, near]).is_met
    assert "that is more than rounding" in certificate.judge([alone, far]).complaints[0]
    skipped = certificate.judge([alone, Lived("torch", 0, [], [], skipped="torch is not installed")])
    assert skipped.is_met


def test_the_page_needs_nothing_else_and_says_the_same_each_time(setting: TrainingSetup) -> None:
    found = worlds.live(setting, ["alone", "simulator"])
    found.append(Lived("torch", 0, [], [], skipped="torch is not installed"))
    text = certificate.page(setting, certificate.judge(found))
    assert "The same 4 weights in 2 worlds, bit for bit." in text
    assert "One script, three worlds" in text and "not tried: torch is not installed" in text
    loaded = re.findall(r"(?:src|href)=|url\(|@import|https?://(?!www\.w3\.org)", text)
    assert not loaded and "default-src 'none'" in text
    inside = re.search(r'<script type="application/json" id="facts">(.*?)</script>', text, re.DOTALL)
    assert inside is not None
    said = json.loads(inside[1])
    assert said["ranks"] == 3 and [one["name"] for one in said["worlds"]] == ["alone", "simulator", "torch"]
    again = worlds.live(setting, ["alone", "simulator"])
    again.append(found[2])
    assert certificate.facts(setting, certificate.judge(again)) == said


def test_a_page_of_worlds_that_differ(setting: TrainingSetup) -> None:
    alone, sim = worlds.live(setting, ["alone", "simulator"])
    wrong = replace(sim, weights=[2.0, 2.0, 2.0, 9.0])
    text = certificate.page(setting, certificate.judge([alone, wrong]))
    assert "Only the times differ" not in text
    assert "These worlds differ." in text and "weight 3 is 9.0, and 2.0 alone" in text


def test_timelines_in_the_terminal(setting: TrainingSetup) -> None:
    text = timelines.drawn(worlds.live(setting, ["alone", "simulator"]))
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("alone      rank 0  █ █") and "●━" in text
    assert "of virtual time" in text and text.count("rank ") == 4


def test_the_command(setting: TrainingSetup, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    words = ["capstone", "--net", "alone,simulator,faults", "--ranks", "2", "--out", str(page)]
    assert cli.main([*words, str(TRAIN), "--steps", "8"]) == 0
    said = capsys.readouterr().out
    assert "✔ simulator 2 ranks  weights" in said and f"wrote {page}" in said.replace("\n", "")
    assert page.read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(SystemExit):
        cli.main(["capstone", "--net", "moon"])
    assert "--net is not 'moon'; it is one of alone, simulator" in " ".join(capsys.readouterr().err.split())
    assert cli.main(["capstone", str(tmp_path / "none.py")]) == 1
    assert cli.main(["capstone", "--out", str(tmp_path / "no" / "page.html")]) == 2
    assert "there is no script" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parity
def test_under_torch_the_ranks_are_one_group(tmp_path: Path) -> None:
    """Also where the script leaves the world to its caller, as under `launch`."""
    pytest.importorskip("torch")
    script = tmp_path / "counts.py"
    script.write_text(
        "import minitorch_dist.distributed as dist\n\n\n"
        "def main(arguments=None):\n    return [0.0], [[dist.get_world_size()]]\n"
    )
    (found,) = worlds.live(TrainingSetup(script, (), 3, tmp_path), ["torch"])
    assert found.weights == [3] and found.is_agreed
