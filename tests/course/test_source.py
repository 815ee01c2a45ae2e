"""Marked sources: what they become, and marks that do not fit."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from mtd.course import sizes, source

TEXT = """def right(rank, size):
    # BLANK 1: who sits to the right (about 1 line)
    # of the rank
    return (rank + 1) % size
    # END


def shift(x, y):
    # BLANK 2: mend this
    both(x, y)
    # INSTEAD
    #| send(x)
    #| if y:
    #|     receive(y)
    # END
"""


def test_skeleton_and_solution() -> None:
    made = source.parse(TEXT)
    assert [blank.task for blank in made.blanks] == ["who sits to the right (about 1 line)", "mend this"]
    skeleton = made.skeleton(13)
    assert '    raise NotImplementedError("lesson 13, blank 1")' in skeleton
    assert "    send(x)\n    if y:\n        receive(y)\n    # END" in skeleton
    assert "# of the rank" in skeleton and "both" not in skeleton
    assert source.unwritten(skeleton, 13) == ["blank 1: who sits to the right (about 1 line)"]
    assert source.unwritten(skeleton, 12) == []
    assert made.solution() == (
        "def right(rank, size):\n    return (rank + 1) % size\n\n\ndef shift(x, y):\n    both(x, y)\n"
    )
    assert source.unwritten(made.solution(marks=True), 13) == []
    assert "    if rank:\n        return 5\n" in made.filled({1: ("if rank:", "    return 5")})


def test_a_long_task_has_several_lines_and_is_one_sentence_again() -> None:
    task = f"who sits to the right, {' and '.join(['who comes after that one'] * 5)} (about 1 line)"
    made = source.parse(TEXT.replace("who sits to the right (about 1 line)", task))
    skeleton = made.skeleton(13)
    assert skeleton.count("\n    #          ") == 2 and max(map(len, skeleton.split("\n"))) <= 100
    assert source.missing(skeleton, 13) == [(6, f"blank 1: {task}")]
    assert source.parse(made.solution(marks=True)).blanks[0].solution == made.blanks[0].solution


def test_a_skeleton_of_old_is_open_still() -> None:
    """The line that raises had the task in it, and the mark above may be gone."""
    for said in (": who sits to the right", ": it is open", ""):
        (found,) = source.unwritten(f'raise NotImplementedError("lesson 13, blank 1{said}")\n', 13)
        assert found == f"blank 1{said or ': it is open'}"


def test_code_beside_the_line_that_says_what_is_missing() -> None:
    skeleton = source.parse(TEXT).skeleton(13)
    missing = next(line for line in skeleton.split("\n") if "NotImplementedError" in line)
    for doubled in (f"    here = rank\n{missing}", f"{missing}\n    return rank + 1"):
        (said,) = source.unwritten(skeleton.replace(missing, doubled), 13)
        assert said.endswith(source.DELETE)


@pytest.mark.parametrize(
    ("behind", "is_doubled"),
    [("def right(rank):\n    return rank", True), ("def carried(x):\n    return x", False), ("", False)],
)
def test_code_behind_the_blank_of_a_whole_file(behind: str, is_doubled: bool) -> None:
    """Functions that were finished in a smaller size stand there, too. They are no reason to delete the line."""
    text = f"""# BLANK 1: all of this
# right(rank)
#     The rank to the right, not carried(x).
raise NotImplementedError("lesson 13, blank 1")
# END


{behind}
"""
    (said,) = source.unwritten(text, 13)
    assert (source.DELETE in said) is is_doubled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# BLANK 1: a\nx = 1\n", "blank 1 has no '# END'"),
        ("# BLANK 1: a\n# BLANK 2: b\n# END\n", "blank 1 has no '# END' before this"),
        ("x = 1\n# END\n", "'# END' without"),
        ("# BLANK one\nx = 1\n# END\n", "a mark is like"),
        ("# BLANK 2: a\nx = 1\n# END\n", "expected 1, 2, 3"),
        ("# BLANK 1: a\nx = 1\n# INSTEAD\ny = 2\n# END\n", "begins with '#|'"),
    ],
)
def test_marks_that_do_not_fit(text: str, said: str) -> None:
    with pytest.raises(source.MarksError, match=said.replace("|", r"\|")):
        source.parse(text)


def test_a_mutant_may_fill_some_of_the_blanks() -> None:
    wrong = "# BLANK 2: mend this\nonly(x)\n# END\n"
    (blank,) = source.parse(wrong, some=True).blanks
    filled = source.parse(TEXT).filled({blank.number: blank.solution})
    assert "    only(x)\n" in filled and "    return (rank + 1) % size\n" in filled
    with pytest.raises(source.MarksError, match="expected 1, 2, 3"):
        source.parse(wrong)


@given(st.lists(st.sampled_from(["x = 1", "", "    y", "# note", '"""doc"""']), max_size=8))
def test_a_text_without_blanks_stays_as_it_is(lines: list[str]) -> None:
    text = "\n".join(lines).rstrip("\n") + "\n"
    assert source.parse(text).skeleton(1) == source.parse(text).solution() == text


def test_what_is_to_be_repaired_and_is_as_it_was_given() -> None:
    made = source.parse(TEXT)
    skeleton = made.skeleton(13)
    assert [(line, blank.number) for line, blank in source.as_given(skeleton, made)] == [(9, 2)]
    assert source.as_given(skeleton.replace("send(x)", "send(y)"), made) == []
    assert source.as_given(made.solution(marks=True), made) == source.as_given("", made) == []


def test_which_function_is_around_a_line() -> None:
    text = 'def one():\n    """Does it.\n\n    More."""\n    def two():\n        x = 1\n    return two\n\n\ny = 1\n'
    assert sizes.around(text, 6) == sizes.around(text, 7) == "one: Does it."
    assert sizes.around(text, 10) == sizes.around("def (", 1) == ""
