"""A notebook to work on: its cells and the learner's file are one thing, and it shows the check of that file."""

from __future__ import annotations

import ast
import contextlib
import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from mtd import cli
from mtd.cli.lessons import notebook
from mtd.course import lesson as lessons, notebook_copies, notebooks, outputs, pieces, workspace
from mtd.course.answers import AnswerFile
from mtd.course.lamp_page import LampPage
from mtd.course.lesson import Lesson, LessonError
from mtd.course.sizes import FILE, SIZES
from mtd.course.verdict import CheckVerdict
from mtd.course.workspace import Workspace
from tests.notebooks import kernel

KEYS = st.sampled_from(["cells", "cell_type", "code", "source", "outputs"])
RING = lessons.find(13)
needs_kernel = pytest.mark.skipif(find_spec("ipykernel") is None, reason="needs a kernel")


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    return workspace.make(tmp_path / "course")[0]


def cells_of(path: Path) -> dict[int, str]:
    found = notebook_copies._answers(json.loads(path.read_text("utf-8")))
    return {number: "".join(cell["source"]).partition("\n")[2] for number, cell in found.items()}


def in_solution(one: Lesson, number: int) -> str:
    given = pieces.cut(one.source.skeleton(one.number))
    return pieces.carried(given, one.source.solution(marks=True))[number].strip("\n")


# ------------------------------------------------------------------------------------- pieces


@pytest.mark.parametrize("one", lessons.all_lessons(), ids=lambda one: one.name)
def test_the_pieces_are_the_whole_text_and_stay_pieces_of_code(one: Lesson) -> None:
    """In each size, and after somebody has written all of it in an editor."""
    ours = one.source.solution(marks=True)
    for size in SIZES:
        skeleton = one.sized(size).skeleton(one.number)
        given = pieces.cut(skeleton)
        written = pieces.carried(given, ours)
        assert "".join(given) == skeleton and "".join(written) == ours
        for piece in [*given, *written]:
            ast.parse(piece)
        if size != FILE:
            assert written == pieces.cut(ours)


@given(st.lists(st.sampled_from(["", "x", "def f():", "    return 1", "@g", "'''"])), st.data())
def test_a_changed_text_is_carried_whole(lines: list[str], data: st.DataObject) -> None:
    given = pieces.cut(RING.source.skeleton(13))
    old = "".join(given).split("\n")
    begin, end = sorted(data.draw(st.integers(0, len(old))) for _ in range(2))
    text = "\n".join([*old[:begin], *lines, *old[end:]])
    found = pieces.carried(given, text)
    assert len(found) == len(given) and "".join(found) == text


def test_a_function_that_was_written_above_another_stands_in_a_cell_beside_it() -> None:
    given = pieces.cut(RING.source.skeleton(13))
    head, rest = "".join(given[:3]), "".join(given[3:])
    found = pieces.carried(given, f"{head}def twice(x):\n    return 2 * x\n\n\n{rest}")
    assert "def twice" in found[2] + found[3] and found[4:] == given[4:] and found[:2] == given[:2]


# -------------------------------------------------------------------------------- cell and file


def test_a_cell_is_written_into_the_file(course: Workspace) -> None:
    file = AnswerFile(course, RING)
    before = course.text_of(RING)
    found = file.take(3, in_solution(RING, 3))
    assert found.text == in_solution(RING, 3) and not found.is_newer and found.copy is None
    assert course.text_of(RING) == before.replace(file.given()[3].strip("\n"), found.text)
    assert file.take(3, "def all_reduce(:").copy is None  # it is written, too, as an editor would
    assert "def all_reduce(:" in course.text_of(RING)
    file.take(3, found.text)
    assert course.text_of(RING) == before.replace(file.given()[3].strip("\n"), found.text)


def test_what_was_changed_in_the_file_is_taken_by_a_cell_that_was_not(course: Workspace) -> None:
    file = AnswerFile(course, RING)
    file.take(3, "x = 1")
    course.file(RING).write_text(course.text_of(RING).replace("x = 1", "x = 2"))
    found = file.take(3, "x = 1\n")
    assert (found.text, found.is_newer, found.copy) == ("x = 2", True, None)
    assert file.take(3, "x = 3").copy is None and "x = 3" in course.text_of(RING)
    assert file.take(3, file.given()[3]).text == "x = 3"  # an untouched cell writes nothing over


def test_of_two_changes_a_copy_is_kept(course: Workspace) -> None:
    file = AnswerFile(course, RING)
    file.take(3, "x = 1")
    course.file(RING).write_text(course.text_of(RING).replace("x = 1", "x = 2"))
    found = file.take(3, "x = 3")
    assert not found.is_newer and found.copy is not None and "x = 2" in found.copy.read_text()
    assert "x = 3" in course.text_of(RING)


@pytest.mark.parametrize("number", [0, 7, 99])
def test_a_cell_that_is_no_piece(course: Workspace, number: int) -> None:
    with pytest.raises(LessonError, match=f"lesson 13 has the cells 1 to 6, and this is %%answer {number}"):
        AnswerFile(course, RING).take(number, "x")
    assert "6 cells" in repr(AnswerFile(course, RING))


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.just("%%answer 1\nx")
)
JSON = st.recursive(
    LEAVES, lambda one: st.lists(one, max_size=4) | st.dictionaries(KEYS, one, max_size=4), max_leaves=12
)


@given(JSON)
def test_any_json_is_a_notebook_or_none(tmp_path_factory: pytest.TempPathFactory, found: object) -> None:
    path = tmp_path_factory.getbasetemp() / "any.ipynb"
    path.write_text(json.dumps(found))
    book = notebook_copies._read(path)
    assert book is None or all(isinstance(number, int) for number in notebook_copies._answers(book))


@pytest.mark.parametrize("damage", ["[" * 100_000, "", "[{}", "[1, 2]", '["x"]', "\0"])
def test_a_damaged_memory_means_the_skeleton(course: Workspace, damage: str) -> None:
    file = AnswerFile(course, RING)
    (course.place(RING) / ".cells.json").write_text(damage)
    assert file.agreed() == file.given()


# ---------------------------------------------------------------------------------- the copies


def test_the_notebook_has_what_stands_in_the_file(course: Workspace) -> None:
    course.file(RING).write_text(RING.source.solution(marks=True))
    path = notebook_copies.to_work_on(course, RING)
    assert cells_of(path) == {number: in_solution(RING, number) for number in range(1, 7)}
    assert AnswerFile(course, RING).agreed() == AnswerFile(course, RING).now()


def test_opened_again_it_takes_changes_of_the_file_and_leaves_drafts(course: Workspace) -> None:
    path = notebook_copies.to_work_on(course, RING)
    book = json.loads(path.read_text())
    notebook_copies._answers(book)[4]["source"] = "%%answer 4\na draft that did not run"
    book["cells"].append(
        {
            "cell_type": "code",
            "id": "mine",
            "metadata": {},
            "source": "1 + 1",
            "outputs": [],
            "execution_count": None,
        }
    )
    path.write_text(json.dumps(book))
    course.file(RING).write_text(
        course.text_of(RING).replace(AnswerFile(course, RING).given()[3], "y = 1\n\n\n")
    )
    notebook_copies.to_work_on(course, RING)
    assert cells_of(path)[3] == "y = 1" and cells_of(path)[4] == "a draft that did not run"
    assert json.loads(path.read_text())["cells"][-1]["source"] == "1 + 1"


@pytest.mark.skipif(find_spec("nbformat") is None, reason="needs nbformat")
def test_a_new_notebook_is_trusted_and_one_that_was_there_is_not(course: Workspace) -> None:
    from nbformat import read
    from nbformat.sign import NotebookNotary

    path = notebook_copies.to_work_on(course, RING)
    with contextlib.closing(NotebookNotary()) as notary:
        assert notary.check_signature(read(path, 4))
        book = json.loads(path.read_text("utf-8"))
        book["cells"][0]["source"] = "somebody else's"
        path.write_text(json.dumps(book))
        notebook_copies.to_work_on(course, RING)
        assert not notary.check_signature(read(path, 4))


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"cells": 1}', b'{"cells": [1]}', b"\xff\xfe", b"[" * 99_999]
)
def test_a_damaged_notebook_is_kept_and_made_anew(course: Workspace, damage: bytes) -> None:
    path = course.place(RING) / "13_ring.ipynb"
    path.write_bytes(damage)
    notebook_copies.to_work_on(course, RING)
    assert [*cells_of(path)] == [1, 2, 3, 4, 5, 6]
    assert [one.read_bytes() for one in (course.place(RING) / "kept").iterdir()] == [damage]


def test_another_size_has_other_cells(course: Workspace) -> None:
    path = notebook_copies.to_work_on(course, RING)
    course.resize(RING, FILE)
    notebook_copies.to_work_on(course, RING)
    assert [*cells_of(path)] == [1] and "all_reduce" in cells_of(path)[1]


def test_an_installed_package_has_no_stored_notebooks_and_makes_them(
    course: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = lessons.find(1)
    stored = [
        cells_of(notebook_copies.to_work_on(course, first)),
        notebook_copies.solution(course, first).read_text("utf-8"),
    ]
    for path in course.place(first).glob("*.ipynb"):
        path.unlink()
    monkeypatch.setattr(notebooks, "FOLDER", tmp_path / "none")
    made = [
        cells_of(notebook_copies.to_work_on(course, first)),
        notebook_copies.solution(course, first).read_text("utf-8"),
    ]
    assert made[0] == stored[0] and outputs.kept(made[1], stored[1]) == outputs.kept(stored[1], stored[1])


def test_the_command(
    course: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(course.folder)
    assert cli.main(["notebook", "13", "--no-open"]) == 0
    assert "13_ring.ipynb" in capsys.readouterr().out.replace("\n", "")
    assert cli.main(["notebook", "13", "--solution", "--no-open"]) == 2
    assert "has not passed yet" in capsys.readouterr().err
    cli.main(["solution", "13", "--give-up"])
    assert cli.main(["notebook", "13", "--solution", "--no-open"]) == 0
    assert "cells.begin(13" in (course.place(RING) / "solution.ipynb").read_text()


# ------------------------------------------------------------------------------------ a kernel


def kernel_book(course: Workspace, cells: dict[int, str], *more: str) -> Path:
    """A small notebook of the ring: its first cell, these pieces, and other cells."""
    path = course.place(RING) / "small.ipynb"
    path.parent.mkdir(exist_ok=True)
    code = ["from mtd.course import answers\nlesson = answers.begin(13)\nlesson"]
    code += [f"%%answer {number}\n{text}" for number, text in cells.items()]
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": one} for one in [*code, *more]]}))
    return path


@needs_kernel
@pytest.mark.slow
def test_answers_in_the_cells_light_the_lamps(course: Workspace) -> None:
    ours = {number: in_solution(RING, number) for number in range(1, 7)}
    path = kernel_book(course, ours, "lesson.check()", "all_reduce.__code__.co_filename", "lesson.picture()")
    *rest, check, file, picture = kernel.outputs(path)
    assert all(found == [] for found in rest[1:])
    assert "★★★" in kernel.words(check) and "✘" not in kernel.words(check)
    html = check[0]["data"]["text/html"]
    assert 'class="mtd-grid"' in html and "<script>" in html and "wrong" not in html.partition("</style>")[2]
    assert "ring.py" in kernel.words(file) and 'class="mtd-grid"' in picture[0]["data"]["text/html"]
    assert course.text_of(RING) == RING.source.solution(marks=True)
    assert course.progress().passed[13].stars == 3


@needs_kernel
@pytest.mark.slow
def test_a_wrong_answer_shows_the_lamp_and_the_first_wrong_cell(course: Workspace) -> None:
    ours = {number: in_solution(RING, number) for number in range(1, 7)}
    assert ours[3].count("coming = (rank - step - 1) % size") == 1
    ours[3] = ours[3].replace("coming = (rank - step - 1) % size", "coming = (rank - step) % size")
    check = kernel.outputs(kernel_book(course, ours, "lesson.check()"))[-1]
    said = kernel.words(check)
    assert "✘ correct" in said and said.count("✘ correct: ") == 1 and "Change the cell" in said
    html = check[0]["data"]["text/html"]
    assert '<td class="wrong' in html
    assert 13 not in course.progress().passed


@needs_kernel
@pytest.mark.slow
def test_a_cell_that_is_older_than_the_file_gets_what_stands_there(course: Workspace) -> None:
    given = {number: text.strip("\n") for number, text in enumerate(AnswerFile(course, RING).given())}
    course.file(RING).write_text(RING.source.solution(marks=True))
    found = kernel.outputs(
        kernel_book(course, {3: given[3]}, "%%answer 3\n1 / 0", "%%answer 3\n" + given[3], "lesson")
    )
    (payload,) = [one for one in found[1] if one.get("source") == "set_next_input"]
    assert payload["replace"] and payload["text"] == f"%%answer 3\n{in_solution(RING, 3)}"
    assert "changed beside the notebook" in kernel.words(found[1])
    failed, again, _ = found[2:]
    assert (
        any("ring.py" in line for line in failed[-1]["traceback"])
        and failed[-1]["ename"] == "ZeroDivisionError"
    )
    assert any(one.get("source") == "set_next_input" for one in again) and "ZeroDivisionError" in str(again)


@needs_kernel
@pytest.mark.slow
def test_what_cannot_be_done_is_said_in_a_line(course: Workspace) -> None:
    _, picture, word, far = kernel.outputs(
        kernel_book(course, {}, "lesson.picture()", "%%answer two\nx", "%%answer 77\nx")
    )
    (told,) = picture[0]["traceback"]
    assert told.partition(": ")[2] == (
        "blank 1: the first half. Which chunk goes to the right, which one comes from the left? (about 2 lines) is still to be "
        "written; then there is something to draw"
    )
    assert word[0]["traceback"] == ["the first line of the cell is like `%%answer 2`, this is `%%answer two`"]
    assert far[0]["traceback"] == ["lesson 13 has the cells 1 to 6, and this is %%answer 77"]


def test_a_verdict_shows_itself_in_html_and_in_letters() -> None:
    verdict = CheckVerdict(
        RING, {"correct": False, "bytes": None, "<b>": False}, worth={"correct": 1, "bytes": 3, "<b>": 2}
    )
    verdict.said = {"bytes": "not the first that is out", "correct": "1 < 2\n  at ring.py:3", "<b>": "silent"}
    verdict.used = {5: True, 12: False}
    exam = SimpleNamespace(grid=None, scene=None, text="<i>drawn</i>", undrawn="", printed="\x1b[2J<script>")
    page = LampPage(exam, verdict)  # type: ignore[arg-type]
    html, letters = page._repr_html_(), repr(page)
    assert "<script" not in html and "<i>" not in html and "\x1b" not in html + letters
    assert "✘ correct: 1 &lt; 2" in html and "✘ correct: 1 < 2\n    at ring.py:3" in letters
    assert "silent" not in html + letters and "not the first" not in html + letters
    for said in (
        "☆☆☆",
        "(lesson 5 is yours, lesson 12 is ours)",
        "Change the cell, run it, and check again.",
    ):
        assert said in html and said in letters


def test_a_verdict_says_what_comes_next() -> None:
    nothing = SimpleNamespace(undrawn="no picture", printed="")
    passed = CheckVerdict(RING, {"correct": True}, worth={"correct": 1})
    assert "Passed. Ours: mtd notebook 13 --solution. Next: mtd notebook 17" in repr(
        LampPage(nothing, passed, lessons.find(17))
    )  # type: ignore[arg-type]
    blank = CheckVerdict(RING, unwritten=["blank 1: a < b"])
    assert "<li>blank 1: a &lt; b</li>" in LampPage(nothing, blank)._repr_html_()  # type: ignore[arg-type]


def test_without_jupyterlab_the_command_says_what_to_do(
    course: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(course.folder)
    monkeypatch.setattr(notebook, "find_spec", lambda name: None)
    assert cli.main(["notebook", "13"]) == 2
    assert "JupyterLab is not installed: pip install" in capsys.readouterr().err.replace("\n", " ")
    assert (course.place(RING) / "13_ring.ipynb").exists()


def test_an_interrupt_is_for_jupyterlab_which_asks_and_ends(
    course: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command waits for it, whatever the answer is."""
    said = iter([KeyboardInterrupt, KeyboardInterrupt, 0])

    class Lab(contextlib.nullcontext["Lab"]):
        def __enter__(self) -> Lab:
            return self

        def wait(self) -> int:
            one = next(said)
            if one is KeyboardInterrupt:
                raise KeyboardInterrupt
            return 0

    monkeypatch.chdir(course.folder)
    monkeypatch.setattr(notebook, "find_spec", lambda name: name)
    monkeypatch.setattr(notebook.subprocess, "Popen", lambda command: Lab())
    assert cli.main(["notebook", "13"]) == 0 and [*said] == []


@needs_kernel
@pytest.mark.slow
def test_the_first_notebook_of_all_makes_a_course_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = kernel_book(Workspace(tmp_path), {1: "x = 1"})
    assert "13_ring/ring.py" in kernel.words(kernel.outputs(path)[0])
    assert "x = 1" in (path.parent / "course" / "13_ring" / "ring.py").read_text()


@needs_kernel
@pytest.mark.slow
def test_an_interrupt_ends_the_check_and_says_where_the_code_was(course: Workspace, tmp_path: Path) -> None:
    note = tmp_path / "it runs"
    text = RING.source.solution().replace(
        "    for step in range(size - 1):",
        f"    open({str(note)!r}, 'w').close()\n    while True: size += 1\n    for step in range(0):",
        1,
    )
    course.file(RING).write_text(text)
    said = kernel.words(kernel.outputs(kernel_book(course, {}, "lesson.check()"), str(note))[-1])
    assert "you stopped it" in said and "ring.py:" in said and "while True" in said
    assert 13 not in course.progress().passed
