"""`mtd dev count` counts lines of code, and nothing else."""

from __future__ import annotations

import pytest

from mtd import cli
from mtd.cli import code_lines as counting
from mtd.cli.code_lines import code_lines

MODULE = '''"""A module,
of two lines."""

# a comment
x = 1  # and a comment beside code
"""What x is."""


def f(a: int) -> str:
    """A docstring."""

    return (
        "a text"
        # a comment
        """of
        three lines""" + str(a)
    )
'''


def test_blank_lines_comments_and_docstrings_do_not_count() -> None:
    # x = 1; def; return (; "a text"; the two lines of the long text; )
    assert code_lines(MODULE) == 7
    assert (
        code_lines("") == code_lines("# nothing\n\n") == code_lines('"""Only a docstring."""') == 0
    )


def test_the_command_adds_all_packages_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files that hold one line each: to look at every word of the house takes long."""
    monkeypatch.setattr(counting, "code_lines", lambda text: 1)
    assert cli.main(["dev", "count"]) == 0
    said = capsys.readouterr().out.split("\n")
    files = sum(1 for ground in counting.GROUNDS for _ in (counting.HOUSE / ground).rglob("*.py"))
    assert f"{files:,}" in said[-2] and said[-2].endswith("lines of code")
    assert any("transports" in line for line in said)


def test_a_whole_package_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "GROUNDS", ("minitorch_dist/datasets",))
    files = (counting.HOUSE / "minitorch_dist" / "datasets").rglob("*.py")
    total = sum(code_lines(file.read_text("utf-8")) for file in files)
    assert counting.by_package().total() == total > 0
