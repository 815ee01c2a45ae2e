"""The table of docs/to_pytorch.md is what the program says; and the program can tell what is missing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from mtd.cli import likeness, main

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
PAGE = Path(__file__).parents[2] / "docs" / "to_pytorch.md"


def test_the_page_has_the_table_that_the_program_makes() -> None:
    made = "\n".join(likeness.markdown(likeness.survey(), torch.__version__))
    text = PAGE.read_text(encoding="utf-8")
    written = text.partition("<!-- mtd likeness --markdown -->\n")[2].partition("\n<!-- end -->")[0]
    assert written == made, "mtd likeness --markdown makes what belongs there"


def test_what_is_missing_is_told() -> None:
    def mine(a: int) -> int:
        return a

    def theirs(a: int, b: int = 0) -> int:
        return a + b

    found = likeness.compare("", SimpleNamespace(f=theirs, g=theirs), SimpleNamespace(f=mine))
    assert (found.shared, found.missing, found.arguments) == (["f"], ["g"], {"f": ["b"]})
    assert found.names == "1 of 2"


@pytest.mark.parametrize("name", ["futures"])
def test_these_are_whole(name: str) -> None:
    found = likeness.compare(name, likeness.find("torch", name), likeness.find("minitorch_dist", name))
    assert found.missing == [] and found.arguments == {}


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["likeness", "distributed"]) == 0
    out = capsys.readouterr().out
    assert "public names of torch.distributed are here" in out
    assert max(map(len, out.splitlines())) <= 80
    assert main(["likeness", "no.such"]) == 2
    assert main(["likeness"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80
