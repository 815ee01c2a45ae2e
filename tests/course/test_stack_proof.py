"""The certificate tells of the learner's own stack: how many lines are theirs, and what these trained."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mtd.course import certificate, lesson, stack_proof, workspace
from mtd.course.stack_proof import StackProof, WireTraining
from mtd.course.workspace import Workspace
from mtd.course.worlds import Lived, TrainingSetup

SAME = "3 ranks over tcp: weights 0123456789abcdef, loss 0.5\n"
Done = subprocess.CompletedProcess[str]


@pytest.fixture
def mine(tmp_path: Path) -> Workspace:
    made, _ = workspace.make(tmp_path / "course")
    one = lesson.find(13)
    made.file(one).write_text(one.source.solution(marks=True), "utf-8")
    return made


def answering(monkeypatch: pytest.MonkeyPatch, **answers: Done | None) -> list[list[str]]:
    """Instead of processes: what they would have said, by the command."""
    asked: list[list[str]] = []

    def run(folder: Path, words: Sequence[str]) -> Done | None:
        asked.append([*words])
        return answers[words[0]]

    monkeypatch.setattr(stack_proof, "_run", run)
    return asked


def done(out: str = "", errors: str = "", code: int = 0) -> Done:
    return subprocess.CompletedProcess([], code, out, errors)


def test_lines_are_counted_and_a_rank_is_killed_over_tcp(
    mine: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch, examine=done(), train=done(SAME + "a rank was killed\n"))
    heard: list[str] = []
    proof = stack_proof.prove(tmp_path, mine, 3, ["tcp", "file"], telling=heard.append)
    assert proof.is_met and (tmp_path / "mystack" / "ring.py").is_file()
    assert proof.sentence.startswith("29 lines of yours trained over tcp and file: the weights")
    assert [words[-2:] for words in asked] == [["--ranks", "3"], ["--kill", "2@12"], ["--every", "24"]]
    assert heard == ["your stack, lesson by lesson", "your stack, tcp", "your stack, file"]
    said = proof.facts()
    assert (said["written"], said["yours"]) == (29, ["13"]) and said["runs"][0]["killed"]


def test_one_rank_cannot_be_killed(mine: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answering(monkeypatch, examine=done(), train=done(SAME))
    assert stack_proof.prove(tmp_path, mine, 1, ["tcp"]).runs == [WireTraining("tcp", "0123456789abcdef", False)]
    assert not any("--kill" in words for words in asked)


@pytest.mark.slow
def test_what_is_wrong_is_told_in_words(mine: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = done("✔ lesson 05\n✘ lesson 13 (ring.py, yours), on 3 ranks\nrank 0 has 3\n", code=1)
    answering(monkeypatch, examine=wrong, train=done(SAME))
    proof = stack_proof.prove(tmp_path, mine, 3, ["tcp"])
    assert proof.complaints == ["your stack: lesson 13 (ring.py, yours), on 3 ranks"]
    assert proof.sentence == (
        "29 lines of yours, and not all of them are right yet: lesson 13 (ring.py, yours), on 3 ranks."
    )
    answering(monkeypatch, examine=done(), train=done(errors="Traceback\nKeyError: 3\n", code=1))
    proof = stack_proof.prove(tmp_path, mine, 3, ["file"])
    assert proof.complaints == ["your stack, file: KeyError: 3"]
    assert proof.sentence == "29 lines of yours, which do not train over file yet."
    answering(monkeypatch, examine=None, train=None)
    proof = stack_proof.prove(tmp_path, mine, 3, ["tcp"])
    assert "had not answered after 300 seconds" in proof.complaints[0]
    assert "had not ended after 300 seconds" in proof.complaints[1]


def test_the_page_begins_with_it(tmp_path: Path) -> None:
    runs = [WireTraining("tcp", "0123", True), WireTraining("mqtt", "0123", False)]
    proof = StackProof([], 1700, 3, runs=runs)
    setting = TrainingSetup(lesson.find(4).folder / "train.py", (), 3, tmp_path)
    judged = certificate.judge([Lived("alone", 1, [1.0], [1])])
    text = certificate.page(setting, judged, proof)
    first, second = text.index("<h1>Your stack</h1>"), text.index("<h1>One script")
    assert first < second and "a rank was killed, and came back" in text
    assert "Our stack, without a line of yours, trained over tcp and mqtt" in text
    assert certificate.facts(setting, judged, proof)["stack"]["given"] == 1700
    other = replace(proof, runs=[runs[0], replace(runs[1], weights="9")])
    assert other.complaints == ["your stack ends with other weights on another wire"]
    broken = replace(proof, runs=[replace(runs[0], complaint="<b>")])
    assert "✘</td><td colspan=2>&lt;b&gt;" in certificate.page(setting, judged, broken)
    assert broken.sentence.endswith(" of yours, which do not train over tcp yet.")
    assert "Your stack" not in certificate.page(setting, judged)


@pytest.mark.slow
def test_a_real_process(mine: Workspace, tmp_path: Path) -> None:
    proof = stack_proof.prove(tmp_path, mine, 2, ["tcp"])
    assert proof.is_met, proof.complaints
    assert proof.runs[0].is_killed and len(proof.runs[0].weights) == 16
