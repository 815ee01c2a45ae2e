"""A lesson's blanks in three sizes: one source, one check, and what the learner wrote is carried over."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mtd.course import checking, lesson, sizes, source
from mtd.course.carrying import carry
from mtd.course.explain import remarks
from mtd.course.lesson import ROOM, Lesson, LessonError, Mutant
from mtd.course.path import LessonAnswer
from mtd.course.sizes import FILE, FUNCTION, GAP, SIZES
from tests.deep import some_of

LESSONS = lesson.all_lessons()
LARGER = [(one, size) for one in LESSONS for size in (FUNCTION, FILE)]
STEPS = [(before, after) for before in SIZES for after in SIZES if before != after]
COURSE = Path(checking.__file__).parent
TAKEN_AS_ARGUMENTS = {28: "lossy_wires.py", 29: "elastic.py"}  # there as `rules.Once`


def named(one: object) -> str:
    return one.folder.name if isinstance(one, Lesson) else getattr(one, "name", str(one))


def statements(text: str) -> list[str]:
    """The statements of a module, in any order."""
    return sorted(ast.unparse(node) for node in ast.parse(text).body)


def code(text: str) -> Counter[str]:
    """The lines, in any order, without those that separate sections or are about the next one."""
    lines = (line.rstrip() for line in text.split("\n"))
    return Counter(line for line in lines if line and not line.startswith("#"))


def written(folder: Path, one: Lesson, text: str) -> Path:
    (folder / one.file).write_text(text, encoding="utf-8")
    return folder


# ------------------------------------------------------------------------------- one source


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_all_sizes_have_the_same_solution(one: Lesson) -> None:
    """The function's is the same text; the file's has the same lines, those that are given first."""
    ours = one.source.solution()
    assert one.sized(GAP) == one.source
    assert one.sized(FUNCTION).solution() == ours
    assert code(one.sized(FILE).solution()) == code(ours)
    assert statements(one.sized(FILE).solution()) == statements(ours)
    many = [sizes.lines_to_write(one.sized(size)) for size in SIZES]
    assert many == sorted(many) and many[0] >= 1


@pytest.mark.parametrize(("one", "size"), LARGER, ids=named)
def test_a_larger_size_unsolved_says_what_is_missing(one: Lesson, size: str, tmp_path: Path) -> None:
    sized = one.sized(size)
    skeleton = sized.skeleton(one.number)
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, skeleton)))
    assert not verdict.is_passed and not verdict.lamps
    open_blanks = [blank for blank in sized.blanks if not blank.instead]  # the others hold an example
    assert len(verdict.unwritten) == len(open_blanks) == len(source.missing(skeleton, one.number))
    assert str(verdict).startswith(f"NotImplemented: blank {open_blanks[0].number}: ")
    assert [blank.number for blank in sized.blanks] == list(range(1, len(sized.blanks) + 1))


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_the_function_size_keeps_heads_docstrings_and_all_other_functions(one: Lesson) -> None:
    ours = dict(sizes.functions(ast.parse(one.source.solution())))
    skeleton = one.sized(FUNCTION).skeleton(one.number)
    theirs = dict(sizes.functions(ast.parse(skeleton)))
    assert list(theirs) == list(ours)
    open_ones = set()
    examples = "\n".join(line for blank in one.source.blanks for line in blank.instead)
    for name, function in theirs.items():
        if f"def {name}(" in examples:  # an example stands there, with arguments of its own
            open_ones.add(name)
            continue
        assert ast.dump(function.args) == ast.dump(ours[name].args)
        assert ast.get_docstring(function) == ast.get_docstring(ours[name])
        if ast.dump(function) != ast.dump(ours[name]):
            body = function.body[ast.get_docstring(function) is not None :]
            assert len(body) == 1 and isinstance(body[0], ast.Raise), name
            open_ones.add(name)
    gaps = dict(sizes.functions(ast.parse(one.source.skeleton(one.number))))
    with_gap = {name for name in ours if ast.dump(gaps[name]) != ast.dump(ours[name])}
    assert open_ones == with_gap | {*one.whole}


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_a_file_asks_for_each_name_that_others_use(one: Lesson) -> None:
    """The check, later lessons, the stack's face and the course use only names that are asked for, or given."""
    sized = one.sized(FILE)
    skeleton = sized.skeleton(one.number)
    given = {name for node in ast.parse(skeleton).body for name in sizes.names_of(node)}
    asked = sizes.asked_for(one.source, one.exports)
    nodes = ast.parse(one.source.solution()).body
    everything = {name for node in nodes for name in sizes.names_of(node)}
    assert {*one.exports} <= everything
    assert used_by_others(one) & everything <= {*asked} | given
    (blank,) = sized.blanks
    for name in asked.keys() - given:
        assert any(name in line for line in blank.more), name
    for node in nodes:
        if isinstance(node, sizes.Function | ast.ClassDef) and node.name in asked.keys() - given:
            assert ast.get_docstring(node), f"{node.name} has no docstring, which the file size shows"


def used_by_others(one: Lesson) -> set[str]:
    found = used_names()[one.module]
    if one.number in TAKEN_AS_ARGUMENTS:
        text = (COURSE / TAKEN_AS_ARGUMENTS[one.number]).read_text("utf-8")
        found |= attributes(ast.parse(text), {"rules", "_rules"})["rules"]
    return found


@cache
def used_names() -> dict[str, set[str]]:
    """By module of a lesson: the names in it that other files of the lessons use, without the mutants."""
    found: dict[str, set[str]] = {one.module: set() for one in LESSONS}
    for path in ROOM.rglob("*.py"):
        if path.parent.name == "mutants":
            continue
        tree, own = ast.parse(path.read_text("utf-8")), path.stem
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in found.keys() - {own}:
                found[node.module] |= {each.name for each in node.names}
        for module, names in attributes(tree, found.keys() - {own}).items():
            found[module] |= names
    return found


def attributes(tree: ast.Module, modules: set[str]) -> dict[str, set[str]]:
    """X in `ring.X` and `self._rules.X`, if ring and _rules are among the modules, and the file imports them."""
    imported = {"rules", "_rules"} | {
        each.name for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names
    }
    found: dict[str, set[str]] = {module.strip("_"): set() for module in modules}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
            name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
            if name in modules & imported:
                found[name.strip("_")].add(node.attr)
    return found


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_what_is_given_fits_an_editor(one: Lesson) -> None:
    """100 columns: tasks, comments, docstrings and code."""
    for size in SIZES:
        lines = enumerate(one.sized(size).skeleton(one.number).split("\n"), 1)
        wide = [f"{one.file}:{number} {line}" for number, line in lines if len(line) > source.WIDTH]
        assert not wide, (size, wide)


# ------------------------------------------------------------------------------ carried over


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_a_solution_and_a_skeleton_are_carried_to_every_size(one: Lesson) -> None:
    for before, after in STEPS:
        fresh = carry(one.sized(before).skeleton(one.number), one, before, after)
        assert fresh.text == one.sized(after).skeleton(one.number) and not fresh.kept
        found = carry(one.sized(before).solution(marks=True), one, before, after)
        left = {text.split()[-4] for text in source.unwritten(found.text, one.number)}
        assert left <= ({*one.whole} if before == GAP else set()), (before, after)
        if not left:
            assert statements(found.text) == statements(one.source.solution()), (before, after)


@pytest.mark.parametrize("one", LESSONS, ids=named)
def test_a_filled_function_stays_filled_and_comes_back(one: Lesson) -> None:
    """One blank is filled, the others are not. Away and back it is the same text, and nothing is asked twice."""
    for before, after in STEPS:
        sized = one.sized(before)
        first = sized.blanks[0]
        if len(sized.blanks) < 2 or first.instead:
            continue
        text = sized.skeleton(one.number).replace(first.missing(one.number), "\n".join(first.solution))
        found = carry(text, one, before, after)
        ast.parse(found.text)
        for name in found.kept:
            assert body(found.text, name) == body(text, name), (before, after, name)
        left = source.as_given(found.text, one.sized(after))
        assert left or source.unwritten(found.text, one.number)


def body(text: str, name: str) -> str:
    everything = dict(sizes.functions(ast.parse(text)))
    everything |= {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}  # type: ignore[misc]
    return ast.dump(everything[name])


def test_a_file_with_functions_of_ones_own_becomes_a_lesson_with_gaps() -> None:
    one = lesson.find(14)
    text = one.sized(FILE).skeleton(14) + (
        "\n\nfrom operator import floordiv\n\n\ndef half(rank):\n    return floordiv(rank, 2)\n"
        "\n\ndef rank_of(number, size):\n    return half(2 * number)\n"
    )
    found = carry(text, one, FILE, GAP)
    assert found.kept == ("half", "rank_of") and found.dropped == ()
    assert "return half(2 * number)" in found.text and "floordiv(rank, 2)" in found.text
    assert len(source.unwritten(found.text, 14)) == len(one.source.blanks) - 1
    again = carry(found.text, one, GAP, FILE)
    assert again.kept == ("rank_of", "half") or again.kept == ("half", "rank_of")
    assert "# rank_of(number, size)" not in again.text and "# number_of(rank, size)" in again.text
    assert "from operator import floordiv" in again.text
    ast.parse(again.text)


def test_what_is_no_python_is_not_carried() -> None:
    one = lesson.find(13)
    found = carry("def (", one, GAP, FUNCTION)
    assert found.text == one.sized(FUNCTION).skeleton(13) and found.dropped == ("ring.py",)
    with pytest.raises(ValueError, match="no size 'huge'; there are gap, function, file"):
        one.sized("huge")


# ------------------------------------------------------------------------------ what is said


def test_a_name_that_the_file_lacks_is_asked_for_in_words(tmp_path: Path) -> None:
    one = lesson.find(28)
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, "if True:\n    class Once: ...\n")))
    said = verdict.said["runs"]
    assert said.startswith("lesson 28 asks for a ") and "Once" not in said
    assert "lesson 28 asks for a function records(data, start=0), and wires.py has none" in said
    assert "lesson 28 asks for a class Kept, and wires.py has none" in said
    assert sizes.absent("from elsewhere import *", one.source, one.exports) == []


def test_methods_helpers_and_arguments_that_differ_are_told() -> None:
    ours, text = lesson.find(28).source, "class Once:\n    pass\n\n\ndef records(data): ...\n"
    error = "AttributeError: 'Once' object has no attribute 'take'"
    (said,) = remarks(error, text, ours, "wires.py")
    assert said.startswith("Once is to have a method take(number, message, again=False): Message `number`")
    (said,) = remarks("NameError: name 'checksum' is not defined", text, ours, "wires.py")
    assert said == "our file has a function for this, checksum(body), and yours has none"
    error = "TypeError: records() takes 1 positional argument but 2 were given"
    assert remarks(error, text, ours, "wires.py") == [
        "it is called as records(data, start=0), and yours is records(data)"
    ]
    assert remarks(error, ours.solution(), ours, "wires.py") == []


def test_hints_of_larger_sizes_are_about_the_function() -> None:
    one = lesson.find(13)
    assert one.hints_for(GAP) == one.hints
    nudge, plan, near = one.hints_for(FUNCTION)
    assert nudge == one.hints[0] and "`all_reduce`: ours has about 17 lines and 2 loops" in plan
    assert near.startswith(one.hints[2]) and "work = dist.isend(parts[going], right)" in near
    assert "going = (rank" not in near.removeprefix(one.hints[2])
    assert "mtd size 13 function" in one.hints_for(FILE)[0]
    for each in LESSONS:
        assert all(len(each.hints_for(size)) == 3 for size in SIZES)


# ------------------------------------------------------------------------------ one check

SHORT = '''
def all_reduce(tensor, op=dist.ReduceOp.SUM):
    """Without helpers: one list of slices, one loop for both halves."""
    rank, size = dist.get_rank(), dist.get_world_size()
    flat, n = tensor.view(-1), tensor.numel()
    for step in range(2 * (size - 1)):
        is_first = step < size - 1
        place = rank - step % (size - 1) + (not is_first)
        going, coming = (flat[n * c // size : n * (c + 1) // size] for c in (place % size, (place - 1) % size))
        received = torch.empty_like(coming)
        work = dist.isend(going, (rank + 1) % size)
        dist.recv(received, (rank - 1) % size)
        work.wait()
        coming.copy_(COMBINE[op](coming, received) if is_first else received)
'''


@pytest.mark.slow
@pytest.mark.parametrize("one", some_of(LESSONS, 0, 11), ids=named)
def test_the_same_check_passes_all_sizes(one: Lesson, tmp_path: Path) -> None:
    """Function and gap have one text, and the walk checks that; the file's has another order."""
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, one.sized(FILE).solution())))
    assert verdict.stars == 3, str(verdict)


@pytest.mark.slow
def test_another_file_of_ones_own_passes(tmp_path: Path) -> None:
    one = lesson.find(13)
    ours = dict(sizes.functions(ast.parse(one.source.solution())))
    rest = "\n\n".join(ast.unparse(node) for name, node in ours.items() if name != "all_reduce")
    skeleton = one.sized(FILE).skeleton(13)
    head = skeleton[: skeleton.index("# BLANK")]
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, f"{head}{rest}\n\n{SHORT}")))
    assert verdict.stars == 3, str(verdict)


MUTANTS = [(one, mutant) for one in LESSONS for mutant in one.mutants]
FIRST = [place for place, (one, mutant) in enumerate(MUTANTS) if one.number in (1, 11, 15) and mutant is one.mutants[0]]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "mutant"), some_of(MUTANTS, *FIRST), ids=named)
def test_a_mutant_dies_in_all_sizes(one: Lesson, mutant: Mutant, tmp_path: Path) -> None:
    """The function's text is the gap's, which the walk checks. The file's is in another order."""
    text = carry(mutant.text, one, GAP, FILE).text
    if source.unwritten(text, one.number):  # it is the example of the skeleton, which is not kept
        assert any(blank.instead for blank in one.source.blanks)
        text = mutant.text
    head, *rest = (ast.unparse(node) for node in ast.parse(text).body)
    text = "\n\n\n".join([head, *rest]) + "\n"
    verdict = checking.check(LessonAnswer(one, written(tmp_path, one, text)), only={*mutant.caught_by})
    assert all(verdict.lamps[name] is False for name in mutant.caught_by), str(verdict)


def test_a_whole_file_of_a_mutant_gets_the_names_that_it_lacks(tmp_path: Path) -> None:
    one = lesson.find(28)
    path = tmp_path / "lazy.py"
    path.write_text('"""Lazy.\n\nCaught by: right\n"""\n\n\ndef records(data, start=0):\n    return [], 0\n')
    text = lesson.read_mutant(one, path).text
    assert not sizes.absent(text, one.source, one.exports)
    assert text.count("def records(") == 1 and "import zlib" in text
    path.write_text("no docstring")
    with pytest.raises(LessonError, match="does not begin with a docstring"):
        lesson.read_mutant(one, path)


@pytest.mark.parametrize("number", [7, 16, 27])
def test_a_whole_function_shows_the_wrong_lines_that_its_task_speaks_of(number: int) -> None:
    one = lesson.find(number)
    skeleton = one.sized("function").skeleton(number)
    for blank in one.source.blanks:
        for line in blank.instead:
            assert f"#     {line[len(blank.indent) :]}" in skeleton
    assert skeleton.count("#   Not like this:") == sum(bool(blank.instead) for blank in one.source.blanks)
