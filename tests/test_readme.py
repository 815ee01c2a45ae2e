"""The front door: its example runs on every wire it names and under PyTorch, and its links lead somewhere."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mtd.course import lesson
from mtd.course.code_lines import code_lines
from mtd.course.lesson import ROOM
from tests.ports import free_port

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FRONT = [ROOT / name for name in ("README.md", "DESIGN.md", "CONTRIBUTING.md")]
PAGES = [*FRONT, *sorted((ROOT / "docs").rglob("*.md")), ROOT / "lessons" / "README.md"]


def example() -> str:
    found = re.search(r"^```python\n# train\.py\n(.*?)^```", README, re.M | re.S)
    assert found is not None
    return found[1]


def lines_of(command: list[str], folder: Path) -> list[str]:
    """What four ranks say, in order of ranks."""
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    # processes share a terminal: two may end up on one line
    return sorted(re.findall(r"rank \d of 4: loss \d\.\d{4}", done.stdout))


@pytest.mark.slow
def test_the_example_says_the_same_on_every_wire(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(example())
    play = [sys.executable, "-m", "mtd", "run", "--ranks", "4", "train.py"]
    simulated = lines_of(play, tmp_path)
    assert len(simulated) == 4
    for address in ("tcp://", "file://", "mqtt://"):
        assert f"mtdrun --nproc-per-node 4 --net {address} train.py" in README
        run = [sys.executable, "-m", "minitorch_dist.distributed.run", "--nproc-per-node", "4", "--net"]
        assert lines_of([*run, address, "train.py"], tmp_path) == simulated, address


@pytest.mark.parity
def test_the_example_runs_under_torch(tmp_path: Path) -> None:
    """The ranks get the variables that torchrun sets; torchrun itself would end all ranks when one aborts on its way out."""
    pytest.importorskip("torch")
    (tmp_path / "real.py").write_text(example().replace("minitorch_dist", "torch"))
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": "4"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "real.py"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(4)
    ]
    for number, rank in enumerate(ranks):
        said, errors = rank.communicate(timeout=300)
        # torch's gloo aborts now and then when it is taken down, after the work: one run in ten here
        aborted = rank.returncode == -signal.SIGABRT and "terminate called without an active exception" in errors
        assert rank.returncode == 0 or aborted, errors
        loss = re.search(rf"rank {number} of 4: loss (\d\.\d{{4}})", said)
        assert loss is not None and float(loss[1]) < 0.01, said + errors


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http://", "https://", "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


NUMBERS = {
    word: number
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
} | {"twenty": 20, "thirty-five": 35}
COUNTED = "lessons|hangs|levels|tables of papers|names|programs|of them are here"
NOT_ALL = {  # figures before such words that do not count all of them
    ("docs/security.md", "15,000 levels"),
    ("docs/design/mqtt.md", "64 levels"),
    ("docs/design/course.md", "seven lessons"),
    ("docs/programs.md", "Eight programs"),
}


def true_counts() -> dict[str, int]:
    from minitorch_dist.distributed.schedules import BUILT_IN
    from mtd import zoo
    from mtd.course import levels
    from mtd.course.lesson import all_lessons
    from mtd.papers import PAPERS
    from tests.programs import playing

    return {
        "of them are here": len(BUILT_IN),
        "tables of papers": len(PAPERS),
        "hangs": len(zoo.NAMES),
        "lessons": len(all_lessons()),
        "levels": len(levels.NAMES),
        "programs": len(playing.SMALL | playing.FIFTY),
    }


def figures_in(page: Path) -> set[tuple[str, str]]:
    """Numbers from three on that stand before the word for what they count, and their words."""
    text = re.sub(r"^```.*?^```|^\|.*?$", "", page.read_text("utf-8"), flags=re.M | re.S)
    number = rf"(?:\d[\d,]*|{'|'.join(NUMBERS)})"
    pattern = rf"(?<![\w.,/-])({number})\s+\[?({COUNTED})\b"
    return {(one[1], one[2]) for one in re.finditer(pattern, text, re.I)}


def test_each_figure_that_counts_something_is_true() -> None:
    true, wrong, seen = true_counts(), [], 0
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        for said, words in figures_in(page):
            value = NUMBERS.get(said.lower()) or int(said.replace(",", ""))
            if value < 3 or (name, f"{said} {words}") in NOT_ALL:
                continue
            seen += 1
            if value != true.get(words.lower()):
                wrong.append(f"{name}: {said} {words}, and there are {true.get(words.lower())}")
    assert wrong == [] and seen > 7


def test_names_of_the_reference_are_counted_to_ten() -> None:
    names = (ROOT / "docs" / "generator" / "names.toml").read_text("utf-8")
    listed = sum(len(found.split()) for found in re.findall(r'^names = """(.*?)"""', names, re.M | re.S))
    for page in ("docs/README.md", "CHANGELOG.md"):
        said = re.search(r"some (\d+) (?:other )?names", (ROOT / page).read_text("utf-8"))
        assert said is not None and int(said[1]) == round(listed, -1), page


def test_lines_of_the_small_stack_are_true_to_a_hundred() -> None:
    lines = [
        sum(code_lines(path.read_text("utf-8")) for path in (ROOM.parent / "mystack" / folder).glob("[a-z]*.py"))
        for folder in ("", "face")
    ]
    said = re.search(r"in some ([\d,]+) lines of code\..*?Some ([\d,]+) more lines", README, re.S)
    assert said is not None
    assert [int(one.replace(",", "")) for one in said.groups()] == [round(many, -2) for many in lines]


def shown(words: str) -> str:
    """The block of output below a paragraph with these words."""
    found = re.search(rf"{re.escape(words)}[^\n]*\n\n((?:    [^\n]*\n)+)", README)
    assert found is not None, words
    return textwrap.dedent(found[1])


def said_by(command: list[str], folder: Path) -> str:
    state = {"XDG_STATE_HOME": str(folder / "state"), "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    return subprocess.run(
        [sys.executable, "-m", "mtd", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **state},
    ).stdout


@pytest.mark.slow
def test_the_verdict_is_what_the_check_says(tmp_path: Path) -> None:
    ring = lesson.find(13)
    (published,) = (one for one in ring.mutants if one.name == "whole_tensor")
    assert "a course's reference solution" in published.story
    said_by(["init", "course"], tmp_path)
    (tmp_path / "course" / ring.folder.name / ring.file).write_text(published.text, encoding="utf-8")
    verdict = said_by(["check", "13", "--quiet"], tmp_path / "course")
    assert verdict == shown("`mtd check 13` measures")


@pytest.mark.slow
def test_the_hang_is_reported_as_the_page_says(tmp_path: Path) -> None:
    report = shown("`mtd zoo sglang_33289` says so:")
    assert report.count("\n") == 3 and report in said_by(["zoo", "sglang_33289"], tmp_path)


def test_the_first_screen_is_one_screen_and_has_one_beginning() -> None:
    """Of a screen's 35 lines of 140 columns; and no other page offers another beginning."""
    screen = README.partition("\n## ")[0]
    assert screen.count("\n") <= 35 and max(map(len, screen.split("\n"))) <= 150
    assert "    mtd   " in screen and "docs/ring.svg" in screen and len(re.findall(r"\*\*\[", screen)) == 4
    assert (ROOM / "README.md").read_text("utf-8").startswith("# The lessons\n\n`mtd` is the beginning.")
    assert "begins with `mtd`" in (ROOM / "start.py").read_text("utf-8")
    assert "opens the course" in (ROOT / "mtd" / "cli" / "demo.py").read_text("utf-8")
    for page in ("ten_minutes.md", "install.md", "course.md"):
        commands = re.findall(r"^    (mtd\b.*?)(?:  .*)?$", (ROOT / "docs" / page).read_text("utf-8"), re.M)
        assert commands[0] == "mtd", page
    assert "<animate" in (ROOT / "docs" / "ring.svg").read_text("utf-8")
    assert "<script" not in (ROOT / "docs" / "ring.svg").read_text("utf-8")


@pytest.mark.parametrize(("contents", "folder"), [("docs/README.md", "docs"), ("docs/design/README.md", "docs/design")])
def test_every_page_is_in_the_contents(contents: str, folder: str) -> None:
    text = (ROOT / contents).read_text(encoding="utf-8")
    linked = {
        ((ROOT / contents).parent / target.partition("#")[0]).resolve()
        for target in re.findall(r"\]\(([^)\s]+)\)", text)
    }
    pages = {page for page in (ROOT / folder).glob("*.md") if page != ROOT / contents}
    assert pages - linked == set()
