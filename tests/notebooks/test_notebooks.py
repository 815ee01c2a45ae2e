"""The notebooks: those in the repository are what the lessons make, and all their cells run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mtd.course import building, cells, checking, lamps, lesson, notebooks, pieces
from mtd.course.lesson import Lesson
from mtd.course.path import LessonAnswer
from mtd.course.verdict import CheckVerdict
from minitorch_dist.distributed import leftover_messages
from tests.notebooks import executing

LESSONS = lesson.all_lessons()


def named(one: Lesson) -> str:
    return one.folder.name


def whole(one: Lesson) -> bool:
    """Whether the check in its notebook is run with all lamps each time."""
    return one.number % 10 == 5


def in_full(one: Lesson) -> Any:
    return pytest.param(one, "all", marks=[pytest.mark.deep] * (not whole(one)))


def _ask_first(
    verdict: CheckVerdict, answer: LessonAnswer, processes: bool = True, ask: Any = checking.ask_all
) -> None:
    first = lamps.asked_by(checking.load(answer.lesson))[0]
    ask(verdict, answer, only={*first.lamps}, processes=processes)


@pytest.mark.slow
@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_in_step_with_its_lesson(one: Lesson) -> None:
    """Outputs may stand beneath cells that are still the same."""
    for path, make in building.generated([one]):
        assert path.exists() and path.read_text("utf-8") == building.text_for(path, make), "mtd dev build"


@pytest.mark.slow
def test_nothing_else_is_out_of_step() -> None:
    assert building.stray() == []
    for path, make in building.generated():
        if path.suffix != ".ipynb" or path.name.startswith("00"):
            assert path.read_text("utf-8") == building.text_for(path, make), "mtd dev build"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
@pytest.mark.parametrize(
    ("one", "lamps"),
    [*((one, "first") for one in LESSONS), *map(in_full, LESSONS)],
    ids=str,
)
def test_all_cells_run(
    one: Lesson, lamps: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And they leave no noise: nothing on stderr, nothing in the log. `test_walk.py` lights all lamps of each
    lesson; so here all of them are on in a few notebooks, and in the others the first."""
    import matplotlib

    if lamps == "first":
        monkeypatch.setattr(checking, "ask_all", _ask_first)

    leftover_messages._mentioned.clear()  # what was said once is not said again

    matplotlib.use("Agg")  # before a cell imports pyplot, which looks once
    text = notebooks.solution_path_of(one).read_text("utf-8")
    said = executing.execute(executing.code_of(text), named(one))
    (verdict,) = [shown for shown in said if shown.startswith(("✔", "✘"))]
    assert "✔" in verdict and "✘" not in verdict, "\n".join(said)
    assert lamps == "first" or "★★★" in verdict
    assert capfd.readouterr().err == "" and caplog.messages == []


@pytest.mark.slow
@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_tour_runs() -> None:
    said = "".join(executing.execute(executing.code_of(building.of_file("start")), "00_start"))
    assert "[[6.0, 6.0, 6.0]," in said and "rank 0 waits for rank 1" in said and "→ 0.00" in said


@pytest.mark.slow
@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_notebook_about_layouts_runs() -> None:
    import matplotlib

    matplotlib.use("Agg")
    said = "".join(executing.execute(executing.code_of(building.of_file("which_layout")), "00_which_layout"))
    assert "70.6 billion parameters" in said and "a GPU has 80 GiB" in said
    assert "fsdp8 micro4 zero2; beside it fsdp4 pp2" in said
    assert "It is a chain of" in said and "ranks wait longer for each other" in said


@pytest.mark.slow
@pytest.mark.parity
@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
def test_the_notebook_about_hangs_says_what_it_quotes() -> None:
    text = building.of_file("find_the_hang")
    said = "".join(executing.execute(executing.code_of(text), "00_find_the_hang"))
    said = re.sub(r"at <00_find_the_hang, cell \d+>:\d+", "at …", said)
    quoted = [
        line.strip().partition(" […]")[0]
        for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"
        for line in "".join(cell["source"]).splitlines() if line.startswith("    ")
    ]
    assert len(quoted) == 10
    assert [line for line in quoted if line not in said] == []
    assert "it ends: [7, 7, 7, 7]" in said


# nbclient leaves sockets in its process, so it gets one of its own.
RUN = """
import json, sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], 4)
nbformat.validate(book)
nbclient.NotebookClient(book, timeout=100).execute()
json.dump([cell.outputs for cell in book.cells if cell.cell_type == "code"], sys.stdout)
"""


@pytest.mark.slow
@pytest.mark.skipif(not all(map(find_spec, ("nbclient", "ipykernel", "matplotlib"))), reason="needs a kernel")
def test_one_runs_in_a_real_kernel() -> None:
    path = notebooks.solution_path_of(lesson.find(13))
    done = subprocess.run([sys.executable, "-c", RUN, str(path)], capture_output=True, text=True, check=True)
    outputs = json.loads(done.stdout)
    assert "★★★" in str(outputs)
    assert any("image/svg+xml" in o.get("data", {}) for o in sum(outputs, []))
    assert any(
        'class="mtd-grid"' in "".join(o.get("data", {}).get("text/html", "")) for o in sum(outputs, [])
    )
    assert any("image/png" in o.get("data", {}) for o in sum(outputs, []))


SOURCE = '''"""A thing.

    its picture
"""

import math

ONE = 1


def first():
    # BLANK 1: something
    return ONE
    # END


# two halves
TWO = 2


@math.floor
# said of the class
class Second:
    pass


if __name__ == "__main__":
    first()
'''


def test_a_source_is_cut_into_ideas() -> None:
    head, *found, script = pieces.cut(SOURCE)
    assert pieces.about(SOURCE).startswith("A thing.") and "its picture" in head
    assert [piece.split("\n")[0] for piece in found] == ["import math", "def first():", "# two halves"]
    assert "ONE = 1" in found[0] and found[1].rstrip().endswith("# END")
    assert found[2].rstrip().endswith("pass") and script.startswith("if __name__")
    assert "".join([head, *found, script]) == SOURCE


def test_cells_of_a_script() -> None:
    made = notebooks.cells_in("ignored\n# %% One\nx = 1\n\n# %% [markdown]\n# a text\n# %%\ny = 2\n")
    assert [(cell.text, cell.is_code) for cell in made] == [
        ("## One", False), ("x = 1", True), ("a text", False), ("y = 2", True),
    ]


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="needs matplotlib")
def test_the_check_judges_what_stands_in_the_cells() -> None:
    """Also what is defined later, and it says which line is wrong."""
    cells = executing.code_of(notebooks.solution_path_of(lesson.find(1)).read_text("utf-8"))
    place = next(i for i, cell in enumerate(cells) if "# BLANK 1" in cell)
    blank = lesson.find(1).source.blanks[0]
    emptied = cells[place].replace("\n".join(blank.solution), blank.missing(1))
    assert emptied != cells[place]
    checks = "print(lesson.check())"
    said = executing.execute([*cells[:place], emptied, checks, *cells[place:]], "01")
    first, second = [shown for shown in said if "one ring" in shown and "☆" in shown or "★" in shown]
    assert "NotImplementedError: this line stands where your code belongs" in first and "★★★" not in first
    assert "★★★" in second


def test_the_module_is_the_cells() -> None:
    here = cells.Here("ring", names := {"x": 1}, "/ring.py")
    names["y"] = 2
    assert (here.x, here.y, here.__file__, vars(here)) == (1, 2, "/ring.py", names)
    here.x = 3
    del here.y
    assert names == {"x": 3} and dir(here) == ["x"]
    with pytest.raises(AttributeError, match="ring: no cell that has run defines 'y'"):
        _ = here.y


def test_a_failing_cell_is_named_and_nothing_is_left_behind() -> None:
    before, main = sys.path[:], sys.modules["__main__"]
    with pytest.raises(executing.CellFailed, match=r"<book, cell 1>: ZeroDivisionError") as caught:
        executing.execute(["from mtd.course import cells\ncells.begin(13, globals())\n", "1 / 0"], "book")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert sys.path == before and sys.modules["__main__"] is main and "ring" not in sys.modules


def test_a_file_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "made" / "x.md"
    assert building.build(path, lambda: "one") and not building.build(path, lambda: "one")
    assert building.build(path, lambda: "two") and path.read_text() == "two"
