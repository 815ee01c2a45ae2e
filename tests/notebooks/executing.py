"""Run a notebook's code cells here, without a kernel: all thirty take seconds instead of minutes.

They run one after the other in a module called `__main__`, as in a kernel; a last expression is shown.
Their output comes back, and where one fails the error names the cell.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import os
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any


def code_of(text: str) -> list[str]:
    """The code cells of a notebook's file."""
    cells = json.loads(text)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


class CellFailed(Exception):
    """A cell raised; the cause is what."""


def execute(cells: Sequence[str], name: str = "notebook") -> list[str]:
    """Run the cells. Returns what each of them printed and showed."""
    with _as_main() as namespace:
        return [_run(cell, f"<{name}, cell {number}>", namespace) for number, cell in enumerate(cells)]


def _run(cell: str, where: str, namespace: dict[str, Any]) -> str:
    linecache.cache[where] = (len(cell), None, cell.splitlines(keepends=True), where)
    printed = io.StringIO()
    try:
        tree = ast.parse(cell, where)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, where, "exec"), namespace)
            if isinstance(last, ast.Expr):
                _show(eval(compile(ast.Expression(last.value), where, "eval"), namespace))
    except (Exception, SystemExit) as error:
        raise CellFailed(f"{where}: {type(error).__name__}: {error}\n{printed.getvalue()}") from error
    if "matplotlib.pyplot" in sys.modules:  # a notebook's next cell begins a new figure
        sys.modules["matplotlib.pyplot"].close("all")
    return printed.getvalue()


def _show(shown: Any) -> None:
    """As a notebook does, which also asks for HTML."""
    if shown is not None:
        getattr(shown, "_repr_html_", lambda: "")()
        print(repr(shown))


@contextlib.contextmanager
def _as_main() -> Iterator[dict[str, Any]]:
    """A new `__main__`; afterwards modules, paths and what was set in the environment are as before."""
    main, path, modules = sys.modules["__main__"], sys.path[:], set(sys.modules)
    environment = dict(os.environ)
    os.environ["MPLBACKEND"] = "Agg"
    here = ModuleType("__main__")
    sys.modules["__main__"] = here
    try:
        yield here.__dict__
    finally:
        sys.modules["__main__"] = main
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
        for name in set(sys.modules) - modules:
            if "." not in name and _is_of_a_lesson(sys.modules[name]):
                del sys.modules[name]


def _is_of_a_lesson(module: ModuleType) -> bool:
    from mtd.course.lesson import ROOM

    return (getattr(module, "__file__", None) or "").startswith(str(ROOM))
