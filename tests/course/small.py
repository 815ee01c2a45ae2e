"""A course of three small lessons, whose checks take no time."""

from __future__ import annotations

from pathlib import Path

LESSONS = {
    1: ("plus", "def plus(x, y):\n    # BLANK 1: their sum (about 1 line)\n    return x + y\n    # END\n", "plus(2, 3) == 5, 'the sum of 2 and 3'"),
    2: ("twice", "from plus import plus\n\n\ndef twice(x):\n    # BLANK 1: two of it\n    # With plus.\n    return plus(x, x)\n    # END\n", "twice(4) == 8, 'twice 4'"),
    5: ("many", "from twice import twice\n\n\ndef many(x):\n    # BLANK 1: four of it\n    return twice(twice(x))\n    # END\n", "many(2) == 8, 'four times 2'"),
}  # fmt: skip
SOLVED = {
    number: text.replace("    # END\n", "").replace("    # BLANK 1: ", "    # ")
    for number, (_, text, _) in LESSONS.items()
}


def room(folder: Path, numbers: tuple[int, ...] = (1, 2, 5)) -> Path:
    """Write them into a folder, or some of them."""
    for number in numbers:
        name, source, claim = LESSONS[number]
        place = folder / f"{number:02}_{name}"
        (place / "mutants").mkdir(parents=True, exist_ok=True)
        requires = [other for other in LESSONS if other < number][-1:]
        (place / "lesson.toml").write_text(
            f'title = "Lesson {name}"\nquestion = "What is {name}?"\npart = "Sums"\nfile = "{name}.py"\n'
            f'why = "Whoever cannot add cannot count."\nseconds = 1\nminutes = 5\nrequires = {requires}\n'
            f'exports = ["{name}"]\nbugs = ["https://example.org/{name}"]\n\n'
            '[[predict]]\nask = "What is two and three?"\ntruth = "two_and_three"\nformula = "2 + 3"\n'
        )
        (place / f"{name}.py").write_text(source)
        (place / "text.md").write_text(f"Add. This is *{name}*.\n")
        (place / "hints.md").write_text("# Nudge\nThink.\n\n# Plan\nCount.\n\n# Near code\nx + y.\n")
        (place / "plot.py").write_text("print(1)\n")
        (place / "check.py").write_text(
            f"from {name} import {name}\n\nfrom mtd.course import MeasuredCost, lamp\n\n\n"
            f'@lamp("correct")\ndef right():\n    assert {claim}\n\n\n'
            '@lamp("rounds")\ndef rounds():\n    return MeasuredCost(2.0, 2.0)\n\n\n'
            "def two_and_three():\n    return 5\n\n\ndef picture():\n    return 'x + y'\n"
        )
    return folder
