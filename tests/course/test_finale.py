"""The composed finale: replicas and stages, a cap of memory, a death: the weights of one rank, bit for bit."""

from __future__ import annotations

import functools
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import certificate, finale, workspace, worlds
from mtd.course.lesson import find
from mtd.course.worlds import Lived


@functools.cache
def lived(ranks: int, *names: str, by: str = "lessons") -> tuple[Lived, ...]:
    with tempfile.TemporaryDirectory() as folder, finale.found(None) as parts:
        setting = finale.setup(ranks, Path(folder), parts)
        words = (*setting.arguments, "--by", by)
        return tuple(worlds.live(replace(setting, arguments=words), names))


@pytest.mark.parametrize("ranks", [1, 5, 7])
def test_ranks_that_form_no_stages_are_refused(ranks: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["capstone", "--finale", "--ranks", str(ranks)]) == 2
    assert f"--ranks {ranks} forms no stages" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [4, 6])
def test_a_mesh_with_a_cap_and_a_death_has_the_weights_of_one_rank(ranks: int) -> None:
    found = lived(ranks, "alone", "simulator", "faults")
    assert certificate.judge(found).complaints == []
    assert len({certificate.digest_of(one.weights) for one in found}) == 1
    losses = found[0].losses
    assert len(losses) == 10 and losses[-1] < losses[0]
    (held,) = found[1].story
    assert "one rank alone runs out of memory" in held
    most = re.search(r"hold [\d,]+ to ([\d,]+)", held)
    assert most and int(most[1].replace(",", "")) < finale.constant(finale.SCRIPT, "MEMORY")
    assert 0 < len(found[2].losses) < 10  # it went on from a checkpoint
    assert f"rank {ranks - 1} came back and trained on" in found[2].story


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_other_meshes(ranks: int) -> None:
    with tempfile.TemporaryDirectory() as folder, finale.found(None):
        setting = worlds.TrainingSetup(finale.SCRIPT, ("--steps", "2"), ranks, Path(folder))
        found = worlds.live(setting, ["alone", "simulator"])
    assert certificate.judge(found).complaints == []


def test_the_library_does_the_same_as_the_lessons() -> None:
    found = [*lived(4, "alone"), *lived(4, "simulator", by="library")]
    assert certificate.judge(found).complaints == []


@pytest.mark.slow
def test_over_tcp() -> None:
    found = [*lived(4, "alone"), *lived(4, "simulator", "tcp")]
    assert certificate.judge(found).complaints == []


@pytest.mark.slow
@pytest.mark.parity
def test_in_pytorch() -> None:
    """PyTorch rounds otherwise within an operation; the grid of gradients hides that here, and its losses are within the bound."""
    pytest.importorskip("torch")
    found = [*lived(4, "alone"), *lived(4, "torch")]
    assert not found[1].skipped and certificate.judge(found).complaints == []


def test_a_wrong_part_is_seen(tmp_path: Path) -> None:
    """A learner's ring that leaves out the last step: the ranks' weights differ, and the parts say whose it is."""
    made, _ = workspace.make(tmp_path / "course")
    ring = find(13)
    right = ring.source.solution()
    wrong = right.replace("parts[coming].copy_(COMBINE[op](parts[coming], received))", "parts[coming].copy_(received)")
    assert wrong != right
    made.file(ring).write_text(wrong, encoding="utf-8")
    with finale.found(made) as parts:
        setting = finale.setup(4, tmp_path, parts)
        short = replace(setting, arguments=("--steps", "2"), memory=None)
        found = worlds.live(short, ["alone", "simulator"])
    judged = certificate.judge(found)
    assert not judged.is_met
    said = dict(parts)
    assert said["sum over the replicas"] == "yours (lesson 13, ring.py)"
    assert said["optimizer"] == "ours (lesson 4, golden.py)"
    page = certificate.page(setting, judged)
    assert "Whose code it was" in page and "<dd>yours (lesson 13, ring.py)</dd>" in page


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert cli.main(["capstone", "--finale", "--ranks", "4", "--net", "alone,simulator"]) == 0
    said = " ".join(capsys.readouterr().out.split())  # lines are folded
    assert "sum over the replicas" in said and "ours (lesson 13, ring.py)" in said
    assert "one rank alone runs out of memory" in said and "the library's" in said
    assert "wrote certificate.html" in said
    assert cli.main(["capstone", "--finale", "mine.py"]) == 2
    assert "name no script" in capsys.readouterr().err


def test_a_learner_changes_the_script_and_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    made, _ = workspace.make(tmp_path / "course")
    monkeypatch.chdir(made.folder)
    own = finale.script_of(made)
    assert own == made.folder / "30_capstone" / "finale.py" and own.is_file()
    text = own.read_text("utf-8")
    own.write_text(text.replace("BATCH = 16, 2, 4, 8, 6", "BATCH = 8, 2, 2, 4, 4"), "utf-8")
    assert cli.main(["capstone", "--finale", "--ranks", "4", "--net", "alone,simulator"]) == 0
    said = capsys.readouterr().out
    assert "yours (lesson 30, finale.py)" in said
    assert "one rank alone would fit, too" in " ".join(said.split())
    assert all(len(line) <= 80 for line in said.splitlines())
    own.write_text(text.replace("PARTS = {", "OTHERS = {"), "utf-8")
    assert cli.main(["capstone", "--finale", "--ranks", "4", "--net", "alone"]) == 1
    assert "finale.py has no line PARTS = " in capsys.readouterr().err
