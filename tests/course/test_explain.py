"""An error in a learner's code, told in words about that code."""

from __future__ import annotations

import importlib.util
import textwrap
from pathlib import Path

import pytest

from mtd.course import source
from mtd.course.explain import in_words, remarks, silent, too_early

STILL_THERE = "this line stands where your code belongs. Write yours, and delete it"
LESSON = '''
def half(x):
    # BLANK 1: a half of it (about 1 line)
    return x / 2
    # END


def both(x, y):
    """Given."""
    whole = half(x) + half(y)
    return whole


class Sum:
    def __init__(self):
        # BLANK 2: what has been added, nothing yet
        self.total = 0
        # END

    def add(self, x):
        self.total += x
        return self.total
'''


def loaded(folder: Path, text: str) -> tuple[object, Path]:
    file = folder / "mine.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("mine", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, file


EARLY = """def more(x):
    # BLANK 1: y, one more than x (about 1 line)
    y = x + 1
    # END
    z = y * 2
    # BLANK 2: give it back (about 1 line)
    return z
    # END
"""


def test_a_given_line_that_cannot_go_on(tmp_path: Path) -> None:
    text = LESSON.replace("    return x / 2\n", "    x / 2\n")
    module, file = loaded(tmp_path, text)
    with pytest.raises(TypeError) as caught:
        module.both(3, 4)  # type: ignore[attr-defined]
    first, place, values = in_words(caught.value, file).split("\n")
    assert first.startswith("TypeError: unsupported operand")
    assert place.strip() == "mine.py:10: whole = half(x) + half(y)"
    assert values.strip() == "(a given line; there x = 3, y = 4)"
    ours = source.parse(LESSON)
    assert remarks(f"{first}", text, ours, "mine.py") == [
        "half can come to its end without a return, and gives None (mine.py:2)"
    ]


def test_what_the_check_cannot_use(tmp_path: Path) -> None:
    """None of the frames is in the learner's file: the line of the check tells what was expected."""
    check, place = loaded(tmp_path, "def look(x):\n    assert x.shape == (2,), 'two'\n")
    with pytest.raises(AttributeError) as caught:
        check.look(None)  # type: ignore[attr-defined]
    said = in_words(caught.value, tmp_path / "other.py", place).split("\n")[1].strip()
    assert said == "in the check, with what your code gave: mine.py:2: assert x.shape == (2,), where x = None"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AssertionError("two are missing"), "two are missing"),
        (KeyError((0, 1)), "KeyError: there is no (0, 1) in it"),
        (ValueError(), "ValueError: ValueError"),
        (NotImplementedError(), f"NotImplementedError: {STILL_THERE}"),
        (NotImplementedError("lesson 1, blank 1: the right neighbour"), f"NotImplementedError: {STILL_THERE}"),
        (NotImplementedError("no halves here"), "NotImplementedError: no halves here"),
    ],
)
def test_its_first_line(error: BaseException, said: str, tmp_path: Path) -> None:
    assert in_words(error, tmp_path / "mine.py") == said


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return x", []),
        ("return", ["half returns nothing here"]),
        ("return None", ["half returns nothing here"]),
        ("if x:\n    return x", ["half can come to its end without a return, and gives None"]),
        ("if x:\n    return x\nelse:\n    raise ValueError", []),
        ("while True:\n    if x:\n        return x", []),
        ("while True:\n    break", ["half can come to its end without a return, and gives None"]),
        ("for y in x:\n    return y", ["half can come to its end without a return, and gives None"]),
        ("try:\n    return x\nfinally:\n    pass", []),
        ("with x:\n    return x", []),
        ("match x:\n    case 1:\n        return 1\n    case _:\n        return 2", []),
        ("match x:\n    case 1:\n        return 1", ["half can come to its end without a return, and gives None"]),
        (
            "print(x)",
            ["half can come to its end without a return, and gives None. You see the print, and its caller does not"],
        ),
        ("def inner():\n    pass\nreturn inner", []),
        ("yield x", []),
    ],
)
def test_functions_that_return_nothing(body: str, said: list[str]) -> None:
    text = f"def half(x):\n{textwrap.indent(body, '    ')}\n\n\ndef more(x):\n    pass\n"
    assert [words for _, words in silent(text, LESSON)] == said


def test_a_return_within_a_blank_that_skips_given_lines() -> None:
    ours = source.parse(EARLY)
    assert too_early(EARLY, ours) == []
    answer = EARLY.replace("    y = x + 1", "    if x:\n        return x + 1\n    y = 1")
    said = "the return in blank 1 leaves the function before `z = y * 2`"
    assert too_early(answer, ours) == [(4, said)]
    assert remarks("it is 4", answer, ours, "mine.py") == [f"{said} (mine.py:4)"]
    within = EARLY.replace("    y = x + 1", "    def y():\n        return x + 1")
    assert too_early(within, ours) == []
    assert too_early(EARLY.replace("return z", "return 7"), ours) == []


@pytest.mark.parametrize(
    "error",
    [
        "NameError: name 'total' is not defined",
        "AttributeError: 'Sum' object has no attribute 'total'\n    mine.py:20: self.total += x",
        "TypeError: unsupported\n    mine.py:20: self.total += x\n    (there self.total = None)",
    ],
)
def test_a_name_that_a_blank_is_to_set(error: str) -> None:
    wanted = ["blank 2 is to set total: what has been added, nothing yet"]
    assert remarks(error, LESSON, source.parse(LESSON), "mine.py") == wanted


def test_a_local_name_of_a_property_is_not_what_its_blank_is_to_set() -> None:
    text = LESSON + textwrap.dedent("""
        # BLANK 3: a property
        def property_of_half(half):
            whole = half(3)
            assert whole == 1.5
        # END
    """)
    ours = source.parse(text)
    assert not remarks("NameError: name 'whole' is not defined", text, ours, "mine.py")
    said = remarks("AttributeError: 'Sum' object has no attribute 'total'", text, ours, "mine.py")
    assert said == ["blank 2 is to set total: what has been added, nothing yet"]
