"""The rules for an answer's file. It is given a setting, and it answers: so it reads no files and no other modules.

tree = admitted(text, "slow_links.py", chapter)       NotAdmitted says the line, and what is not allowed there

This is a rule of a game, and no sandbox: it finds what one would write, and not all that one could.
"""

from __future__ import annotations

import ast
import copy

from mtd.course.chapters.chapter import Chapter
from mtd.course.contest import NotAdmitted
from mtd.course.lesson import all_lessons

IMPORTED = (
    "__future__ bisect collections dataclasses fractions functools heapq itertools math operator statistics typing"
)
UNUSED = "open eval exec compile getattr setattr delattr vars globals locals dir input breakpoint type"
UNREACHED = "sys os io builtins modules inspect torch dist sim"
PLAIN, NAMES, MODULES = (frozenset(words.split()) for words in (IMPORTED, UNUSED, UNREACHED))
ORDERS = "minitorch_dist.distributed.pipelining.orders"


def admitted(text: str, name: str, chapter: Chapter) -> ast.Module:
    """The file, parsed; NotAdmitted if it has something that is not allowed."""
    if not text.strip():
        raise NotAdmitted(
            f"{name} is empty: write def {chapter.function}(…) "
            f"(mtd contest {chapter.lesson.number} --begin writes a file where there is none)"
        )
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
        said = error.msg if isinstance(error, SyntaxError) else error
        raise NotAdmitted(f"{name}{line} is not Python: {said}") from error
    here = chapter.lesson
    modules = {one.module for one in all_lessons(here.folder.parent) if one.number <= here.number}
    for node in sorted(ast.walk(tree), key=lambda node: getattr(node, "lineno", 0)):
        why = _forbidden(node, modules)
        if why:
            raise NotAdmitted(
                f"{name}, line {getattr(node, 'lineno', 1)}: {why}. The function gets all that it needs as arguments"
            )
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if chapter.function not in functions:
        raise NotAdmitted(f"{name} has no function {chapter.function}(…), which this chapter asks for")
    if _same(tree, ast.parse(chapter.best)):
        raise NotAdmitted(f"{name} is our answer, word for word: it is in the table already")
    return tree


def _forbidden(node: ast.AST, modules: set[str]) -> str:
    """The fault of this piece of the file, in words; "" if it has none."""
    if isinstance(node, ast.Import):
        for one in node.names:
            if one.name not in PLAIN | modules | {ORDERS}:
                return f"it may not import {one.name}"
    if isinstance(node, ast.ImportFrom):
        if node.level or node.module not in PLAIN | modules | {ORDERS}:
            return f"it may not import from {'.' * node.level}{node.module or ''}"
        hidden = [one.name for one in node.names if one.name in MODULES or one.name.startswith("_")]
        if hidden and node.module != "__future__":
            return f"it may not import {hidden[0]} from {node.module}"
    if isinstance(node, ast.Name) and (node.id in NAMES or node.id.startswith("__")):
        return f"it may not use {node.id}"
    if isinstance(node, ast.Attribute):
        if node.attr in MODULES or node.attr.startswith("_"):
            return f"it may not use .{node.attr}"
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        if not isinstance(node.ctx, ast.Load) and not is_own:
            return f"it may not change .{node.attr} of something that it was given"
    return ""


def _same(one: ast.Module, other: ast.Module) -> bool:
    """The same code, whatever its comments, docstrings and layout."""
    return ast.dump(_bare(copy.deepcopy(one))) == ast.dump(_bare(other))


def _bare(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return tree
