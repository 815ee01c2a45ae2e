"""The outputs that are stored: of the cells that stand there, and the same on each machine."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mtd.course import building, notebooks, outputs
from mtd.course.notebooks import NotebookCell

MOST = 400_000  # bytes of a notebook
STORED = sorted(path for path, _ in building.generated() if path.suffix == ".ipynb")


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_each_notebook_has_run(path: Path) -> None:
    text = path.read_text("utf-8")
    assert outputs.are_there(text) and len(text) < MOST, "mtd dev build"
    for cell in outputs.code_cells(text):
        for one in cell["outputs"]:
            assert one["output_type"] != "error" and one.get("name") != "stderr", cell["source"]
            shown = "".join(one.get("text", [])) + "".join(one.get("data", {}).get("text/plain", []))
            assert not re.search(r"/(tmp|home|root|usr)/|0x[0-9a-f]{6}", shown)


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_reader_sees_pictures(path: Path) -> None:
    kinds = {
        kind
        for cell in outputs.code_cells(path.read_text("utf-8"))
        for one in cell["outputs"]
        for kind in one.get("data", {})
    }
    assert path.stem == "00_find_the_hang" or kinds & {"image/png", "image/svg+xml", "text/html"}


def written(*cells: str) -> str:
    return notebooks.book("small", [NotebookCell(cell, True) for cell in cells])


def with_outputs(text: str, *said: str) -> str:
    book = json.loads(text)
    for number, (cell, words) in enumerate(zip(book["cells"], said, strict=True), 1):
        cell["execution_count"] = number
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [words]}]
    return json.dumps(book)


def said(text: str) -> list[str]:
    return ["".join(one["text"]) for cell in outputs.code_cells(text) for one in cell["outputs"]]


def test_outputs_are_kept_while_the_code_is_the_same() -> None:
    stored = with_outputs(written("1", "2"), "one", "two")
    assert said(outputs.kept(written("1", "2"), stored)) == ["one", "two"]
    assert outputs.are_there(outputs.kept(written("1", "2"), stored))
    for other in (written("1", "3"), written("2", "1"), written("1")):
        assert said(outputs.kept(other, stored)) == [] and not outputs.are_there(outputs.kept(other, stored))


def test_cells_of_the_solution_show_what_they_show_there() -> None:
    solution = with_outputs(written("ours", "picture"), "…", "new")
    stored = with_outputs(written("blank", "picture"), "open", "old")
    assert said(outputs.kept(written("blank", "picture"), stored, solution)) == ["open", "new"]
    changed = outputs.kept(written("another blank", "picture"), stored, solution)
    assert said(changed) == ["new"] and not outputs.are_there(changed)


def after_a_run(text: str) -> str:
    """In a process of its own, because nbclient leaves sockets behind."""
    program = "import sys; from mtd.course import outputs; print(outputs.made(sys.stdin.read()))"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
@pytest.mark.skipif(not outputs.can_be_made(), reason="needs nbclient, ipykernel, matplotlib")
def test_a_run_is_the_same_each_time_and_names_no_place() -> None:
    cells = [
        "print(1)\nprint(2)",
        "import os\nobject()",
        "{'a', 'b', 'c'}",
        "from mtd.course import answers\nanswers.begin(1)",
    ]
    made = [after_a_run(written(*cells)) for _ in range(2)]
    assert made[0] == made[1] and outputs.are_there(made[0])
    first, second, *_ = outputs.code_cells(made[0])
    assert first["outputs"][0]["text"] == ["1\n", "2\n"]
    assert second["outputs"][0]["data"]["text/plain"] == ["<object>"]
    with pytest.raises(subprocess.CalledProcessError) as caught:
        after_a_run(written("import os\nos.getcwd()"))
    assert "a cell shows where it ran" in caught.value.stderr
