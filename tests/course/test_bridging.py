"""The bridges to PyTorch, without torch: `tests/parity/test_bridges.py` runs them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from mtd import cli
from mtd.course import bridging, lesson, workspace
from mtd.course.lesson import BRIDGE, Lesson, LessonError
from mtd.course.sizes import GAP

BRIDGES = [one for one in lesson.all_lessons() if one.number >= 5]
ROOT = Path(__file__).parents[2]


def name(one: Lesson) -> str:
    return one.folder.name


@pytest.mark.parametrize("one", BRIDGES, ids=name)
def test_a_bridge_is_short_and_leads_somewhere(one: Lesson) -> None:
    said, code = bridging.parts(bridging.text_of(one))
    assert said.startswith("The same in PyTorch, on three ranks: torchrun --nproc-per-node 3 torch_bridge.py")
    assert re.search(r"^Leads to: .+, https://pytorch\.org/tutorials/\S+\.html$", said, re.MULTILINE)
    place = re.search(r"^Here: (\S+)$", said, re.MULTILINE)
    assert place is not None and (ROOT / place[1]).is_file()
    lines = [line for line in code.split("\n") if line.strip()]
    assert len(lines) <= 26 and all(len(line) <= 78 for line in lines)  # of a terminal with 80
    assert "print(" in code and not re.search(r"\bminitorch", code)
    if 22 <= one.number <= 26:
        assert "not retry" in " ".join(said.split())


@pytest.mark.parametrize("one", BRIDGES, ids=name)
def test_only_its_imports_change(one: Lesson) -> None:
    text = bridging.text_of(one)
    here = bridging.ours(text)
    changed = [(a, b) for a, b in zip(text.split("\n"), here.split("\n"), strict=True) if a != b]
    assert changed and all(a.startswith(("import torch", "from torch.")) for a, _ in changed)
    names = {
        one.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(here))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for one in node.names
    }
    assert not [module for module in names if str(module).partition(".")[0] == "torch"]


def test_the_learner_gets_it_and_the_first_lessons_have_none(tmp_path: Path) -> None:
    assert workspace.ours(lesson.find(13), GAP)[BRIDGE] == lesson.find(13).bridge
    assert BRIDGE not in workspace.ours(lesson.find(4), GAP)
    with pytest.raises(LessonError, match=r"lesson 4 has no .*; those from lesson 5 on have one"):
        bridging.text_of(lesson.find(4))


def test_the_page_is_markdown_with_the_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = bridging.page(lesson.find(22))
    assert page.startswith("## The same in PyTorch\n\ntorch does not retry a user's call.")
    assert "rpc.rpc_async(" in page and page.count("```") == 2
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(["bridge", "22"]) == 0
    shown = capsys.readouterr().out
    assert "rpc_tutorial.html" in shown and "mtd bridge 22 --run" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert cli.main(["bridge", "3"]) == 2 and "from lesson 5 on" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["bridge", "13", "--run", "jax"])
    assert "jax" in capsys.readouterr().err


@pytest.mark.slow
def test_it_runs_here(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bridge", "13", "--run"]) == 0
    assert capfd.readouterr().out.count("[0.0, 6.0, 12.0, 18.0, 24.0]") == bridging.SIZE
