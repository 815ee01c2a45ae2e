"""`mtd dev count` counts lines of code, and nothing else; each room keeps to its budget."""

from __future__ import annotations

import pytest

from mtd import cli
from mtd.cli import budgets, code_lines as counting
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
    assert code_lines("") == code_lines("# nothing\n\n") == code_lines('"""Only a docstring."""') == 0


def test_the_command_adds_all_packages_up(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
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


# ------------------------------------------------------------------------------------------ budgets


def test_each_file_belongs_to_one_room() -> None:
    files = [path for one in budgets.BUDGETS for path in budgets.files_of(one)]
    everything = {p for ground in counting.GROUNDS for p in (counting.HOUSE / ground).rglob("*.py")}
    assert len(files) == len(set(files)) and set(files) == everything


@pytest.mark.slow
def test_no_room_is_over_its_budget() -> None:
    over = [f"{one.budget.name}: {one.lines}" for one in budgets.rooms() if one.is_over]
    assert over == [], "make the room smaller, or raise its budget in a commit that says why"


def test_no_import_loads_more_than_it_may() -> None:
    over = [f"{one.budget.name}: {one.lines}" for one in budgets.loaded() if one.is_over]
    assert over == [], "import what is rarely used where it is used"


def test_what_an_import_loads_is_found() -> None:
    files = budgets.modules_after("import minitorch_dist.version")
    names = {path.relative_to(counting.HOUSE).as_posix() for path in files}
    assert {"minitorch_dist/__init__.py", "minitorch_dist/small/version.py"} <= names
    assert not any(name.startswith(("mtd/", "minitorch_dist/nn/")) for name in names)


def test_the_command_says_which_room_is_over(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [one._replace(most=0) for one in budgets.BUDGETS if one.name == "sim"]
    monkeypatch.setattr(budgets, "BUDGETS", small)
    monkeypatch.setattr(budgets, "WHOLE", small[0]._replace(most=10**6))
    monkeypatch.setattr(budgets, "LOADED", ())
    monkeypatch.setattr(budgets, "_lines_of", lambda path: 1)
    assert cli.main(["dev", "count", "--budget"]) == 1
    said = capsys.readouterr().out
    files = len(list(budgets.files_of(small[0])))
    assert f"sim: {files} lines too many" in said and said.count("too many") == 1
    monkeypatch.setattr(budgets, "BUDGETS", ())
    assert cli.main(["dev", "count", "--budget"]) == 0
