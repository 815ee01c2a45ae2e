"""Whose code failed: which lesson an error comes from, and whether it is yours."""

import json
import traceback
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]


class Failed(Exception):
    """A program did not come to its end; the text says why. `asked`: the module that was being examined."""

    def __init__(self, text, asked=""):
        super().__init__(text)
        self.asked = asked


def lessons():
    """For each module its lesson's number and title, and whose it is. `mtd assemble` wrote this down."""
    return json.loads((FOLDER / "lessons.json").read_text("utf-8"))


def named(module):
    lesson = lessons()[module]
    return f"lesson {lesson['number']:02} ({module}.py, {lesson['whose']})"


def in_words(error, where):
    """An error, and all lessons that it went through, the innermost first."""
    lines, known = [f"{where}: {type(error).__name__}: {error}"], lessons()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.parent == FOLDER and path.stem in known:
            lines.append(
                f"    in {frame.name} of {named(path.stem)}, line {frame.lineno}: {frame.line}"
            )
    if len(lines) == 1:
        lines += [
            f"    {line}"
            for line in "".join(traceback.format_tb(error.__traceback__)).splitlines()[-6:]
        ]
    return "\n".join(lines)
