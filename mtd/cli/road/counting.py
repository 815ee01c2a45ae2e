"""The path of a call: every function of ours that it enters, in the order of first entry.

A function counts once: from its first line (`def`, or its decorator) to its last, without its docstring. Functions of
other packages are not counted. Functions that run in another thread are not on the caller's path.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import minitorch_dist
import transports.contract

HOUSE = Path(minitorch_dist.__file__).parent.parent
HOMES = (minitorch_dist.__file__, transports.contract.__file__)
OURS = tuple(f"{Path(file).parent}/" for file in HOMES if file)


class EnteredFunction(NamedTuple):
    """One function that was entered. `path` counts from the checkout's folder."""

    path: str
    name: str
    first: int
    last: int


class Road(NamedTuple):
    """The functions of one call in the order in which it first entered them."""

    functions: list[EnteredFunction]

    @property
    def files(self) -> list[str]:
        return [*dict.fromkeys(function.path for function in self.functions)]

    @property
    def lines(self) -> int:
        """Lines a reader would read: a function inside another one is read with it."""
        spans = ((path, range(first, last + 1)) for path, _, first, last in self.functions)
        return len({(path, line) for path, lines in spans for line in lines if line not in docstrings(path)})

    def functions_of(self, path: str) -> list[EnteredFunction]:
        return [function for function in self.functions if function.path == path]


def follow(call: Callable[[], object]) -> Road:
    """Make the call, and note where it went."""
    entered: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            entered[frame.f_code] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Road([_function(code) for code in entered if code is not note.__code__ and _is_ours(code)])


def about(path: str) -> str:
    """The first sentence of a file's docstring."""
    text = ast.get_docstring(ast.parse((HOUSE / path).read_text("utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split())
    return first.partition(". ")[0].rstrip(".:")


@functools.cache
def docstrings(path: str) -> frozenset[int]:
    """The lines of a file's docstrings."""
    tree = ast.parse((HOUSE / path).read_text("utf-8"))
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    )


def _is_ours(code: CodeType) -> bool:
    """A function of the library: bodies of modules and classes run once, when they are imported."""
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED)
    return is_function and code.co_filename.startswith(OURS) and "cli/road/" not in code.co_filename


@functools.cache
def _function(code: CodeType) -> EnteredFunction:
    last = max(line for _, _, line in code.co_lines() if line is not None)
    path = Path(code.co_filename).relative_to(HOUSE).as_posix()
    return EnteredFunction(path, code.co_qualname, code.co_firstlineno, last)
