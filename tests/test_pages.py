"""The programs in the pages run, and print what the pages say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mtd.course.lesson import all_lessons

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and text of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)


def run(program: str, folder: Path) -> str:
    path = folder / "example.py"
    path.write_text(program)
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": root},
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_collectives(tmp_path: Path) -> None:
    programs = [text for _, text in blocks("collectives.md") if "__main__" in text]
    printed = [text for language, text in blocks("collectives.md") if not language]
    assert run(programs[0], tmp_path).rstrip() == printed[0].rstrip()


@pytest.mark.slow
def test_pipelines(tmp_path: Path) -> None:
    (program, printed), *_ = zip(
        [t for language, t in blocks("pipelines.md") if language == "python"],
        [t for language, t in blocks("pipelines.md") if not language],
        strict=False,
    )
    found = [line.rstrip() for line in run(program, tmp_path).splitlines()]
    assert found == printed.splitlines()


@pytest.mark.slow
def test_fsdp(tmp_path: Path) -> None:
    """The numbers of its table are those of the ledger."""
    program = next(t for language, t in blocks("fsdp.md") if language == "python")
    printed = run(program, tmp_path)
    table = re.findall(
        r"^\| (parameters|gradients|optimizer|together) \| ([\d.]+ MB)", (DOCS / "fsdp.md").read_text(), re.M
    )
    assert len(table) == 4
    for name, number in table:
        kind = {"parameters": "parameter", "gradients": "gradient"}.get(name, name)
        line = next(line for line in printed.splitlines() if line.strip().startswith(kind))
        assert line.endswith(number), line


@pytest.mark.slow
def test_rpc(tmp_path: Path) -> None:
    (_, program), (_, printed), *_ = blocks("rpc.md")
    assert run(program, tmp_path) == printed


NO_FILES_OF_OURS = {
    "utils.py",
    "helpers.py",
    "common.py",
    "x.py",
    "lib.py",
    "hello.py",
    "mine.py",
    "train.py",
}  # examples, and other projects' files


def test_pages_name_files_that_are_there() -> None:
    root = DOCS.parent
    folders = ("minitorch_dist", "transports", "mtd", "programs", "lessons", "tests", "docs")
    files = [path.as_posix() for folder in folders for path in (root / folder).rglob("*.py")]
    pages = [*root.glob("*.md"), *DOCS.rglob("*.md")]
    missing = [
        (page.name, name)
        for page in pages
        if page.name != "CHANGELOG.md"  # it speaks of the past
        for name in re.findall(r"`([\w./]+\.py)`", page.read_text("utf-8"))
        if name not in NO_FILES_OF_OURS and not any(file.endswith(f"/{name}") for file in files)
    ]
    assert len(pages) > 40 and missing == []


def test_the_glossary_is_in_order_and_in_plain_sentences() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (DOCS / "glossary.md").read_text("utf-8"), re.M)
    rows = [row for row in rows if row[0] != "word"]
    greek = [word for word, _ in rows if word[0] in "αβγ"]
    words = [word for word, _ in rows[len(greek) :]]
    assert len(words) > 100
    assert words == sorted(words, key=str.casefold)
    assert len({word.casefold() for word in words}) == len(words)
    for word, sentence in rows:
        assert sentence.endswith("."), word
        assert not re.match(r"(Who|Whoever|What)\b", sentence), word
        assert all(len(one.split()) <= 20 for one in re.split(r"[.;:] ", sentence)), word


OTHERWISE = {"messages", "broadcasts", "rounds"}  # lamps, and what numpy does: not the words of the glossary


def test_the_course_links_each_word_of_the_glossary_where_it_is_introduced() -> None:
    """A word that a lesson stresses, for the first time in the course, and that the glossary has."""
    heads = re.findall(r"^\| ([^|]+?) \|", (DOCS / "glossary.md").read_text("utf-8"), re.M)
    known = {word.strip().lower() for head in heads for word in re.sub(r"\(.*?\)", "", head).split(",")}
    met: set[str] = set()
    for one in all_lessons():
        text = re.sub(r"```.*?```", "", one.text, flags=re.S)
        for found in re.finditer(r"(\[?)(?<![*\w])(\*\*?)([^*\n]+?)\2(?![*\w])(\S*)", text):
            word = found[3].strip(" .:,").lower()
            head = next((each for each in (word, word.rstrip("s")) if each in known), "")
            if head and word not in OTHERWISE and head not in met:
                met.add(head)
                assert found[1] and found[4].startswith("](../../docs/glossary.md)"), (one, found[0])
        assert "glossary.md" not in one.plain_text
    assert len(met) > 30
