"""`int(os.environ["RANK"])` of a script that one rank runs for others (see `folding`).

`int` of a text makes a plain number in C, and nobody can watch what that is compared with. But where the text goes straight into
`int`, nothing else sees it. So these expressions of the user's files are compiled as calls of `called` or `indexed`, which answer
with a number that notices comparisons:

    int(os.environ["RANK"])     int(os.environ.get("RANK", …))     int(os.getenv("RANK", …))
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, Final

from minitorch_dist.launching.rank_environment import RankEnvironment
from minitorch_dist.pytorch import folding

OF_RANK: Final = [name.decode() for name in folding.OF_RANK]


def compiled(source: bytes | str, file: str) -> CodeType:
    """The user's file, in which these expressions are calls of ours."""
    tree = _Calls().visit(ast.parse(source, file))
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class WatchedLoader(SourceFileLoader):
    """Of a user's module. It reads and writes no cache."""

    def get_code(self, fullname: str) -> CodeType:
        file = self.get_filename(fullname)
        return compiled(self.get_data(file), file)


class _Calls(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name("int") as to, [ast.Call(read, [ast.Constant(name), *_] as given, [])], []):
                ours, parts = "called", [to, read, *given]
            case ast.Call(ast.Name("int") as to, [ast.Subscript(table, ast.Constant(name) as key)], []):
                ours, parts = "indexed", [to, table, key]
            case _:
                return node
        if name not in OF_RANK:
            return node
        place = ast.parse(f"__import__({__name__!r}, fromlist=['']).{ours}", mode="eval").body
        return ast.copy_location(ast.Call(place, parts, []), node)


def called(to: Any, read: Callable[..., Any], *given: Any) -> Any:
    """`int(read(*given))`"""
    if to is int and read in (os.environ.get, os.getenv):
        watched = _watched(given[0])
        if watched is not None:
            return watched
    return to(read(*given))


def indexed(to: Any, table: Any, key: str) -> Any:
    """`int(table[key])`"""
    watched = _watched(key) if to is int and table is os.environ else None
    return to(table[key]) if watched is None else watched


def _watched(name: str) -> int | None:
    """This rank's number, if it runs for others and the variable is as the launcher has set it."""
    table: Any = os.environ._data  # type: ignore[attr-defined]
    if not isinstance(table, RankEnvironment) or table.has_changed(os.environ.encodekey(name)):
        return None
    return folding.rank_of_world()
