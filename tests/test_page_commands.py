"""Each `mtd` command in the pages is understood, with the options that it has there; the quick ones run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from mtd.cli import COMMANDS, main, parser_of

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "lessons").glob("*/text.md"))]


def commands(page: Path) -> list[str]:
    """Those of the code blocks, without what is said beside them."""
    text = re.sub(r" *\\\n *", " ", page.read_text("utf-8"))
    lines = re.findall(r"^(?:    |\$ |    \$ )?(mtd [a-z].*)$", text, re.M)
    return [re.split(r"  +| #|;|&&| >", line)[0].strip() for line in lines]


EVERY = sorted({one for page in PAGES for one in commands(page) if one.split()[1].rstrip(",:.") in COMMANDS})


def test_there_are_many() -> None:
    assert len(EVERY) > 60


@pytest.mark.parametrize("line", EVERY)
def test_it_is_understood(line: str) -> None:
    if "…" in line:
        pytest.skip("it is abbreviated")
    words = shlex.split(line)[1:]
    parser_of(words[0]).parse_args([word.replace("NUMBER", "13") for word in words])


QUICK = {  # commands of the pages that take a second or two, and words that they say
    "mtd help": "Simulate and plan",
    "mtd zoo": "sglang_33289",
    "mtd zoo sglang_33289": "rank 1 called broadcast #5",
    "mtd simulate all_reduce --ranks 64 --size 10MB": "no schedule can take less",
    "mtd museum": "bugs that people shipped",
    "mtd why bytes": "bytes",
    "mtd contest": "Collectives:",
    "mtd doctor": "Python",
}


@pytest.mark.parametrize("line", QUICK)
def test_it_runs(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert main(line.split()[1:]) == 0
    assert QUICK[line] in " ".join(capsys.readouterr().out.split())
