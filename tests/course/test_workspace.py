"""A learner's folder: made, found, brought up to date, and never written over."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mtd import cli
from mtd.course import lesson, progress as progresses, workspace
from mtd.course.lesson import LessonError
from mtd.course.source import unwritten
from mtd.course.verdict import CheckVerdict
from mtd.course.workspace import WorkspaceError, make
from tests.course.small import LESSONS, SOLVED, room


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_a_new_folder_has_all_that_one_needs(tmp_path: Path) -> None:
    where, made = make(tmp_path / "course", room(tmp_path / "room"))
    assert made.added == [
        "01_plus/plus.py",
        "01_plus/text.md",
        "02_twice/twice.py",
        "02_twice/text.md",
        "05_many/many.py",
        "05_many/text.md",
    ]
    assert "mtd check 1" in (where.folder / "README.md").read_text()
    paths = json.loads((where.folder / "pyrightconfig.json").read_text())["extraPaths"]
    assert paths == ["01_plus", "02_twice", "05_many"]
    for one in where.lessons():
        assert unwritten(where.text_of(one), one.number) and not where.is_begun(one)
    assert repr(where) == f"<Workspace {where.folder}, 0 passed>"


def test_again_it_brings_what_is_new_and_says_what_changed(tmp_path: Path) -> None:
    lessons = room(tmp_path / "room", (1, 2))
    where, _ = make(tmp_path / "course", lessons)
    where.file(lesson.find(1, lessons)).write_text(SOLVED[1])
    room(tmp_path / "room")
    for name in ("01_plus/plus.py", "02_twice/twice.py"):
        (lessons / name).write_text((lessons / name).read_text() + "\nNEW = 1\n")
    _, made = make(where.folder, lessons)
    assert made.added == ["05_many/many.py", "05_many/text.md"]
    assert made.renewed == ["02_twice/twice.py"] and made.changed == ["01_plus/plus.py"]
    assert (where.folder / "01_plus/plus.py").read_text() == SOLVED[1]
    assert "NEW" in (where.folder / "02_twice/twice.py").read_text()
    assert make(where.folder, lessons)[1] == workspace.Made()


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    lessons = room(tmp_path / "room")
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="is a file"):
        make(tmp_path / "file", lessons)
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letters").write_text("")
    with pytest.raises(WorkspaceError, match=r"other things in it \(letters"):
        make(tmp_path / "home", lessons)
    (tmp_path / "home" / "letters").rename(tmp_path / "home" / ".git")
    make(tmp_path / "home", lessons)


def test_it_is_found_upward_and_else_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lessons = room(tmp_path / "room")
    with pytest.raises(WorkspaceError, match="mtd init course"):
        workspace.find(tmp_path, lessons)
    first, _ = make(tmp_path / "first", lessons)
    second, _ = make(tmp_path / "second", lessons)
    assert workspace.find(first.folder / "01_plus").folder == first.folder
    assert workspace.find(tmp_path).folder == first.folder  # the last one used
    assert workspace.find(second.folder).folder == workspace.find(tmp_path).folder == second.folder
    workspace.state_file().write_text("{")
    with pytest.raises(WorkspaceError):
        workspace.find(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")  # a home that cannot be written to
    assert workspace.find(second.folder).folder == second.folder


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    where, _ = make(tmp_path / "course", room(tmp_path / "room"))
    one = lesson.find(1, where.room)
    where.file(one).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LessonError, match="not UTF-8"):
        where.text_of(one)
    where.file(one).unlink()
    with pytest.raises(LessonError, match="mtd reset 1"):
        where.text_of(one)
    make(where.folder, where.room)
    assert unwritten(where.text_of(one), 1)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("pluss", "perhaps 01_plus"), ("03", "there are 1, 2, 5"), ("02_twize", "perhaps 02_twice"), ("", "there are 1")],
)
def test_an_unknown_lesson_has_near_names(wanted: str, said: str, tmp_path: Path) -> None:
    lessons = room(tmp_path / "room")
    with pytest.raises(LessonError, match=said):
        lesson.find(wanted, lessons)
    for name in ("2", "02", "twice", "02_twice", "twice.py", 2):
        assert lesson.find(name, lessons).number == 2


class Learning(RuleBasedStateMachine):
    """A learner writes, passes, takes ours, and updates, in any order: nothing of theirs is ever lost, and
    later lessons stand on exactly what passed."""

    @initialize()
    def begin(self) -> None:
        self.holder = tempfile.TemporaryDirectory()
        base = Path(self.holder.name)
        self.lessons = room(base / "room", (1, 2))
        self.here, _ = make(base / "course", self.lessons)
        self.texts: dict[int, str] = {}  # what the learner wrote
        self.passed: dict[int, str] = {}
        self.ours: set[int] = set()

    @rule(number=st.sampled_from([1, 2]), text=st.sampled_from(["a = 1\n", "b = 2\n", "c = 3\n"]))
    def writes(self, number: int, text: str) -> None:
        self.here.file(lesson.find(number, self.lessons)).write_text(text)
        self.texts[number] = text

    @rule(number=st.sampled_from([1, 2]), is_right=st.booleans())
    def checks(self, number: int, is_right: bool) -> None:
        one = lesson.find(number, self.lessons)
        verdict = CheckVerdict(one, {"correct": is_right}, worth={"correct": 1})
        text = self.here.text_of(one)
        self.here.keep(one, text, verdict)
        if is_right:
            self.passed[number] = text
        elif self.passed.get(number) == text:
            del self.passed[number]

    @rule(number=st.sampled_from([1, 2]))
    def takes_ours_or_theirs(self, number: int) -> None:
        with progresses.changing(self.here.folder) as progress:
            progress.reference ^= {number}
        self.ours ^= {number}

    @rule(note=st.integers(0, 3), number=st.sampled_from([1, 2]))
    def updates(self, note: int, number: int) -> None:
        path = self.lessons / f"{number:02}_{LESSONS[number][0]}" / f"{LESSONS[number][0]}.py"
        path.write_text(path.read_text().partition("# note")[0] + f"# note {note}\n")
        make(self.here.folder, self.lessons)

    @invariant()
    def nothing_is_lost_and_what_counts_is_what_passed(self) -> None:
        for number, text in self.texts.items():
            assert self.here.text_of(lesson.find(number, self.lessons)) == text
        solved = self.here.solved(self.here.progress())
        for number in (1, 2):
            now = self.here.text_of(lesson.find(number, self.lessons))
            counts = self.passed.get(number) == now and number not in self.ours
            assert (number in solved) == counts

    def teardown(self) -> None:
        self.holder.cleanup()


Learning.TestCase.settings = settings(max_examples=15, stateful_step_count=15)
test_learning = Learning.TestCase


def test_files_that_a_lesson_gives_are_there_as_they_are(tmp_path: Path) -> None:
    lessons = room(tmp_path / "room", (1, 2))
    told = lessons / "02_twice" / "lesson.toml"
    told.write_text('given = ["numbers.json"]\n' + told.read_text())
    (lessons / "02_twice" / "numbers.json").write_text("[1, 2]\n")
    where, made = make(tmp_path / "course", lessons)
    assert "02_twice/numbers.json" in made.added
    assert (where.folder / "02_twice" / "numbers.json").read_text() == "[1, 2]\n"
    (where.folder / "02_twice" / "numbers.json").unlink()
    assert make(where.folder, lessons)[1].added == ["02_twice/numbers.json"]


def test_a_lesson_between_two_others() -> None:
    """5.5 stands between 5 and 6. It is found by number as by name."""
    numbers = [one.number for one in lesson.all_lessons()]
    assert numbers[4:7] == [5, 5.5, 6]
    for wanted in ("5.5", "05.5", 5.5, "properties", "05.5_properties", "matching.py"):
        assert lesson.find(wanted).number == 5.5
    assert lesson.find("5").number == 5
    with pytest.raises(LessonError, match=r"there are 1 to 19, 21 to 35, 5\.5 "):
        lesson.find("99")


FORMER = [(one, folder) for one in lesson.all_lessons() for folder in one.formerly]


@pytest.mark.parametrize(("one", "folder"), FORMER, ids=[folder for _, folder in FORMER])
def test_a_lesson_that_is_a_part_of_another_leads_there(
    one: lesson.Lesson, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its number and its names, in each command and its answer is kept."""
    label, _, name = folder.partition("_")
    number = lesson.number_of(label)
    for wanted in (number, str(number), label, name, folder, f"{name}.py"):
        assert lesson.find(wanted) == one and one.moved(wanted)
    assert not one.moved(one.number) and not one.moved(None)
    assert folder not in {each.folder.name for each in lesson.all_lessons()}
    where, _ = make(tmp_path / "course")
    (where.folder / folder).mkdir()
    (where.folder / folder / f"{name}.py").write_text("kept = True\n")
    with progresses.changing(where.folder) as progress:
        progress.present = number
        progress.passed[number] = progresses.Passed(3, "")
    assert where.present(where.progress()) == one
    monkeypatch.chdir(where.folder)
    moved = f"Lesson {number} is a part of lesson {one.number} now, {one.title}. Your answer stays"
    for words in (
        ["text", label],
        ["check", name],
        ["hint", str(number)],
        ["show", label],
        ["size", name],
        ["use", "reference", folder],
    ):
        cli.main(words)
        assert f"{moved} in {folder}." in " ".join(capsys.readouterr().out.split())
    cli.main(["init"])
    assert f"{folder}: {moved} there." in " ".join(capsys.readouterr().out.split())
    assert (where.folder / folder / f"{name}.py").read_text() == "kept = True\n"
    cli.main(["text", str(one.number)])
    assert "is a part of" not in capsys.readouterr().out


def test_an_answer_from_before_parameters_had_their_own_shards_is_told_so() -> None:
    sharded = lesson.find(21)
    old = sharded.source.solution().replace("    def in_shape(self, flat):", "    def parts(self, flat):")
    assert "mtd reset 21" in sharded.outdated(old) and not sharded.outdated(sharded.source.solution())


def test_progress_in_a_lesson_between_two_others(tmp_path: Path) -> None:
    with progresses.changing(tmp_path) as found:
        found.present = 5.5
        found.hints[5.5] = found.hints[13] = 2
        found.reference.add(5.5)
    again = progresses.read(tmp_path)
    assert (again.present, again.hints, again.reference) == (5.5, {5.5: 2, 13: 2}, {5.5})
    assert not again.notice


@pytest.mark.slow
def test_an_answer_from_before_two_lessons_were_one_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lessons 2 and 3 as they were: solved, passed, and then brought up to date."""
    where, _ = make(tmp_path / "course")
    books, backwards = lesson.find(2), lesson.find(3)
    old = {
        2: books.source.solution().split("# Broadcasting.")[0],
        3: backwards.source.solution().replace("from books import", "from broadcasting import"),
    }
    with progresses.changing(where.folder) as progress:
        for one in (books, backwards):
            where.file(one).write_text(old[one.number], "utf-8")
            progress.passed[one.number] = progresses.Passed(3, progresses.digest(old[one.number]))
            progress.written[f"{one.folder.name}/{one.file}"] = "another"
    assert where.solved(where.progress()) == where.written(where.progress()) == {}
    monkeypatch.chdir(where.folder)
    monkeypatch.setenv("COLUMNS", "100")
    for words, said in (
        (["init"], "02_books/books.py: lesson 2 has changed since you wrote this file"),
        (["list", "--all"], "before the lesson changed: mtd check 3"),
        (["check", "2"], "`mtd reset 2` brings the new file"),
        (["check", "3"], "write `from books import sum_to` for `from broadcasting import sum_to`"),
    ):
        cli.main(words)
        assert said in " ".join(capsys.readouterr().out.split())
    where.file(backwards).write_text(backwards.source.solution(), "utf-8")
    assert cli.main(["check", "3"]) == 0
    assert not any(one.outdated(one.source.solution()) for one in where.lessons())
    assert not any(one.outdated(one.source.skeleton(one.number)) for one in where.lessons())
