"""The same in PyTorch: at the end of a lesson, some lines that torch runs, and so do we with other imports.

    lessons/13_ring/torch_bridge.py

Its docstring says what differs and which tutorial it leads to. It runs on three ranks. A test compares its
output in torch with that here (`tests/parity/test_bridges.py`).
"""

from __future__ import annotations

import ast
import re
from typing import Final

from mtd.course.lesson import BRIDGE, Lesson, LessonError

SIZE: Final = 3
HEADING: Final = "The same in PyTorch"
OF_OURS: Final = "With this library (in its repository)"


def text_of(lesson: Lesson) -> str:
    """LessonError where the lesson has none: the first four have no ranks to speak of."""
    if not lesson.bridge:
        raise LessonError(f"lesson {lesson.number} has no {BRIDGE}; those from lesson 5 on have one")
    return lesson.bridge


def parts(text: str) -> tuple[str, str]:
    """Its docstring, and its lines."""
    tree = ast.parse(text)
    said, end = ast.get_docstring(tree) or "", tree.body[0].end_lineno or 0
    return said, "\n".join(text.split("\n")[end:]).strip("\n") + "\n"


def page(lesson: Lesson) -> str:
    """Markdown, for the end of the lesson's text. An address stands in a line of its own."""
    said, code = parts(text_of(lesson))
    _, *paragraphs = said.split("\n\n")
    about = "\n\n".join(paragraphs).replace("\nHere: ", f"\n\n{OF_OURS}: ")
    return f"## {HEADING}\n\n{about}\n\n```python\n{code}```\n"


def ours(text: str) -> str:
    """The lines with minitorch_dist for torch where they import."""
    text = re.sub(r"^import torch$", "import minitorch_dist as torch", text, flags=re.MULTILINE)
    return re.sub(r"^(import|from) torch\.", r"\1 minitorch_dist.", text, flags=re.MULTILINE)
