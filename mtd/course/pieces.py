"""A lesson's file as the cells of a notebook: its pieces, which one after the other are the whole text.

cut(text)              the docstring, a piece for each function and class, and what runs as a script
carried(pieces, text)  the same pieces after somebody changed the text in an editor
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from mtd.course.sizes import first_line


def cut(text: str) -> list[str]:
    """Cut before each function and class; lines in between stand with the function or class after them. The first part is
    the docstring, the last one what only runs as a script; both may be empty."""
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    body = [node for node in tree.body if not _is_main(node)]
    if ast.get_docstring(tree):
        body = body[1:]
    begun = [_first_line(node, lines) for node in body]
    cuts: list[int] = []
    is_defined = True
    for node, line in zip(body, begun, strict=True):
        defines = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if is_defined or (defines and len(cuts) == 1):
            cuts.append(line)
        is_defined = defines
    last = max((node.end_lineno or 0 for node in body), default=0)
    while last < len(lines) and (not lines[last].strip() or lines[last].strip() == "# END"):
        last += 1
    bounds = [0, *(line - 1 for line in cuts), last, len(lines)]
    return ["".join(lines[begin:end]) for begin, end in pairwise(bounds)]


def about(text: str) -> str:
    """The docstring of the file."""
    return ast.get_docstring(ast.parse(text)) or ""


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _first_line(node: ast.stmt, lines: Sequence[str]) -> int:
    """With the decorators and comments above it."""
    first = first_line(node)
    while first > 1 and lines[first - 2].startswith("#") and not lines[first - 2].startswith("# END"):
        first -= 1
    return first


def carried(pieces: Sequence[str], text: str) -> list[str]:
    """As many pieces of a text that was changed: each begins at the line at which it began before, or at what replaced it."""
    if "".join(pieces) == text:
        return [*pieces]
    old, new = "".join(pieces).splitlines(keepends=True), text.splitlines(keepends=True)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()

    def place(line: int) -> int:
        for tag, begin, end, there, behind in blocks:
            if begin <= line < end:
                return there + line - begin if tag == "equal" or line == begin else behind
        return len(new)

    ends = accumulate(len(piece.splitlines(keepends=True)) for piece in pieces[:-1])
    bounds = [0, *map(place, ends), len(new)]
    return ["".join(new[begin:end]) for begin, end in pairwise(bounds)]
