"""The public names that nobody uses: no lesson, program or notebook, and no part of the library, its own file included.

A name is used where it stands in code as a word of its own, or as a word of a text (`"transports.tcp:TcpTransport"`).
Files that only pass names on (`__init__.py`, the list of a Tensor's methods) do not count, and neither do tests.
A word that means something else elsewhere counts, so the list is rather too short.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

GROUNDS: Final = ("minitorch_dist", "transports", "mtd")
USERS: Final = (*GROUNDS, "lessons", "programs")
LISTS: Final = ("__init__.py", "minitorch_dist/tensors/tensor.py")
DEFINES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class PublicName(NamedTuple):
    path: str
    name: str
    lines: int


def unused(house: Path, outside: frozenset[str] = frozenset()) -> list[PublicName]:
    """Those of the library, largest first. `outside`: names that other people's programs use."""
    defined: list[PublicName] = []
    used: set[str] = set()
    for path, tree in _trees(house):
        if path.startswith(GROUNDS):
            defined += _defined(path, tree)
        if not path.endswith(LISTS):
            used.update(_words(tree))
    found = [one for one in defined if one.name not in outside | used]
    return sorted(found, key=lambda one: -one.lines)


def read_used(file: Path) -> frozenset[str]:
    """Of a list with a dotted name at the beginning of each line: the last parts."""
    lines = file.read_text("utf-8").splitlines()
    return frozenset(line.split()[0].rpartition(".")[2] for line in lines if line.strip() and line[0] != "#")


def _trees(house: Path) -> Iterator[tuple[str, ast.Module]]:
    for ground in USERS:
        for file in sorted((house / ground).rglob("*.py")):
            yield file.relative_to(house).as_posix(), ast.parse(file.read_text("utf-8"))
    for file in sorted((house / "notebooks").rglob("*.ipynb")):
        cells = json.loads(file.read_text("utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        code = "\n".join(line for line in "\n".join(texts).splitlines() if line[:1] not in "%!")
        yield file.relative_to(house).as_posix(), ast.parse(code)


def _defined(path: str, tree: ast.Module) -> Iterator[PublicName]:
    for node in tree.body:
        if isinstance(node, DEFINES) and not node.name.startswith("_"):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield PublicName(path, node.name, lines)


def _words(tree: ast.Module) -> Iterator[str]:
    """The words of a module's code, without those of its imports `as` themselves, which pass names on."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname != node.name:
            yield node.name.rpartition(".")[2]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)
