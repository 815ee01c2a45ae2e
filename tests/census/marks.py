"""A mark at the beginning of every function, which says that somebody entered it.

The marks are bytes of a file that all processes of a run map, so a process that is killed has left its
marks, too. A module gets them when it is imported: its functions begin with `__marks__[number] = 1`.

This file imports the standard library only. `begin` copies it into a folder as `sitecustomize.py`. Python
imports that first, in each process whose PYTHONPATH begins with the folder.
"""

from __future__ import annotations

import ast
import builtins
import json
import mmap
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

VARIABLE = "MINITORCH_DIST_CENSUS"  # the folder with the marks
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class MarkedFunction(NamedTuple):
    path: str
    name: str
    line: int
    last: int


def functions_of(path: str, text: str) -> list[MarkedFunction]:
    """The functions of a module, in the order of their marks."""
    return [
        MarkedFunction(path, node.name, node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, FUNCTIONS)
    ]


def begin(folder: Path, house: Path, files: list[Path]) -> list[MarkedFunction]:
    """Make the file of marks for the functions of these files of `house`."""
    first: dict[str, int] = {}
    found: list[MarkedFunction] = []
    for file in files:
        path = file.relative_to(house).as_posix()
        first[str(file)] = len(found)
        found += functions_of(path, file.read_text("utf-8"))
    (folder / "first.json").write_text(json.dumps(first), "utf-8")
    clear(folder, len(found))
    (folder / "sitecustomize.py").write_text(Path(__file__).read_text("utf-8") + "\n\nattach()\n", "utf-8")
    return found


def clear(folder: Path, count: int) -> None:
    """Nobody has entered any function yet."""
    (folder / "marks").write_bytes(bytes(max(count, 1)))


def entered(folder: Path) -> bytes:
    """1 for each function that was entered, else 0."""
    return (folder / "marks").read_bytes()


def surroundings(folder: Path, house: Path) -> dict[str, str]:
    """The environment of a process whose functions are marked."""
    paths = [str(folder), str(house), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {VARIABLE: str(folder), "PYTHONPATH": os.pathsep.join(paths)}
    return {**os.environ, **own, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


# ------------------------------------------------------------------------- in a marked process


def attach() -> None:
    """Mark the modules that this process imports from now on."""
    folder = Path(os.environ[VARIABLE])
    with (folder / "marks").open("r+b") as file:
        builtins.__marks__ = mmap.mmap(file.fileno(), 0)  # type: ignore[attr-defined]
    first = json.loads((folder / "first.json").read_text("utf-8"))
    sys.meta_path.insert(0, _MarkingFinder(first))


class _MarkingFinder(MetaPathFinder):
    """Finds what Python finds, and lets modules that are counted be read by `_MarkingLoader`."""

    def __init__(self, first: dict[str, int]) -> None:
        self._first = first

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin not in self._first:
            return None
        spec.loader = _MarkingLoader(name, spec.origin, self._first[spec.origin])
        return spec


class _MarkingLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, first: int) -> None:
        super().__init__(name, path)
        self._number = first

    def source_to_code(  # type: ignore[override]
        self, data: Any, path: Any, *, _optimize: int = -1
    ) -> CodeType:
        tree = ast.parse(data, path)
        functions = [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
        for number, node in enumerate(functions, self._number):
            statement = ast.parse(f"__marks__[{number}] = 1").body[0]
            place = 1 if ast.get_docstring(node, clean=False) is not None else 0
            line = node.body[place].lineno if place < len(node.body) else node.body[0].lineno
            for part in ast.walk(statement):
                if "lineno" in part._attributes:
                    part.lineno = part.end_lineno = line  # type: ignore[attr-defined]
            node.body.insert(place, statement)
        return compile(tree, path, "exec", dont_inherit=True, optimize=_optimize)
