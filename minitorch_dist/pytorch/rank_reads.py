"""The rank in Python's C code, in a script that one rank runs for others (see `folding`).

`int` of a text makes a plain number in C, and nobody can watch what that is compared with. But where the text goes straight into
`int`, nothing else sees it. So these expressions of the user's files are compiled as calls of `called` or `indexed`, which answer
with a number that notices comparisons:

    int(os.environ["RANK"])     int(os.environ.get("RANK", …))     int(os.getenv("RANK", …))

A list is indexed in C, and a range counted, too. So `sizes[rank]` becomes a call of `item`, and `range(rank)` one of `counted`. Ranks for
which another number stands there, or another count, leave the role.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, Final

import numpy as np

from minitorch_dist.launching.rank_environment import RankEnvironment
from minitorch_dist.pytorch import folding

NUMBERS: Final = (int, float, bool, type(None))
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
            case ast.Call(ast.Name("range") as to, given, []):
                return _call("counted", node, to, *given)
            case _:
                return node
        return _call(ours, node, *parts) if name in OF_RANK else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        is_plain = isinstance(node.slice, ast.Constant | ast.Slice | ast.Tuple)
        if is_plain or not isinstance(node.ctx, ast.Load):
            return node
        return _call("item", node, node.value, node.slice)

    def visit_FunctionDef(self, node: Any) -> ast.AST:
        """Its annotations stay as they are."""
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node  # type: ignore[no-any-return]

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 - named by ast

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = node.value and self.visit(node.value)
        return node


def _call(ours: str, node: ast.expr, *parts: ast.expr) -> ast.AST:
    """A call of a function of this module."""
    place = ast.parse(f"__import__({__name__!r}, fromlist=['']).{ours}", mode="eval").body
    return ast.copy_location(ast.Call(place, list(parts), []), node)


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


def item(table: Any, key: Any) -> Any:
    """`table[key]`"""
    found = table[key]
    if type(found) in NUMBERS and type(table) in (list, tuple) and _is_watched(key):
        others = (table[n] if -len(table) <= n < len(table) else "" for n in key.table)
        key.agree(np.array([type(other) in NUMBERS and other == found for other in others]), True)
    return found


def counted(to: Any, *given: Any) -> Any:
    """`to(*given)`, of which `to` is `range` if the program has not named another function so."""
    made = to(*given)
    for each in given:
        if to is range and _is_watched(each):
            tables = np.broadcast_arrays(*(one.table if _is_watched(one) else one for one in given))
            counts = [len(range(*row)) for row in zip(*(one.tolist() for one in tables), strict=True)]
            each.agree(np.array(counts) == len(made), True)
    return made


def _is_watched(value: Any) -> bool:
    """Whether it is the rank, or computed from it, as a number that notices comparisons."""
    return isinstance(value, int) and hasattr(value, "agree")


def _watched(name: str) -> int | None:
    """This rank's number, if it runs for others and the variable is as the launcher has set it."""
    table: Any = os.environ._data  # type: ignore[attr-defined]
    if not isinstance(table, RankEnvironment) or table.has_changed(os.environ.encodekey(name)):
        return None
    return folding.rank_of_world()
