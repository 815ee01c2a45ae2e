"""A package's head that lists its modules lists those that are there, and all of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent
ROW = re.compile(r" {0,4}([a-z_]\w*)(?: {1,2}[a-z_]\w*)*? {2,}\S")  # names, then what they are


def modules_of(package: Path) -> set[str]:
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    return files | {path.parent.name for path in package.glob("*/__init__.py")}


def head_of(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text("utf-8"))) or ""


def is_list(package: Path) -> bool:
    """Whether the head names more than half of the modules."""
    modules = modules_of(package)
    named = modules & set(re.findall(r"\w+", head_of(package)))
    return len(modules) > 1 and 2 * len(named) > len(modules)


LISTS = [
    str(path.parent.relative_to(HOUSE))
    for ground in ("transports", "minitorch_dist", "mtd")
    for path in sorted((HOUSE / ground).rglob("__init__.py"))
    if is_list(path.parent)
]


@pytest.mark.parametrize("name", LISTS)
def test_head_names_every_module(name: str) -> None:
    package = HOUSE / name
    assert modules_of(package) - set(re.findall(r"\w+", head_of(package))) == set()


@pytest.mark.parametrize("name", LISTS)
def test_rows_begin_with_modules_that_exist(name: str) -> None:
    package = HOUSE / name
    rows = [found[1] for line in head_of(package).splitlines() if (found := ROW.match(line))]
    assert set(rows) - modules_of(package) == set()


def test_the_floors_have_such_heads() -> None:
    """The tests above look at the packages that a reader begins with, and not at a handful."""
    floors = {
        "transports",
        "transports/virtual",
        "transports/sockets",
        "transports/stores",
        "transports/mqtt_protocol",
        "transports/shared_file",
        "minitorch_dist/sim",
        "minitorch_dist/tensors",
        "minitorch_dist/distributed",
        "minitorch_dist/distributed/fsdp",
        "minitorch_dist/distributed/rpc",
        "minitorch_dist/distributed/schedules",
    }
    assert floors <= set(LISTS)


def test_the_tensors_stand_lowest_first() -> None:
    """The head of `tensors` says that a module imports only what stands before it."""
    package = HOUSE / "minitorch_dist" / "tensors"
    rows = [line[:32].split() for line in head_of(package).splitlines() if ROW.match(line)]
    order = [name for row in rows for name in row if name in modules_of(package)]
    for number, name in enumerate(order):
        path = package / f"{name}.py"
        body = ast.parse(path.read_text("utf-8")).body if path.exists() else []
        for line in body:
            if isinstance(line, ast.ImportFrom) and line.module == "minitorch_dist.tensors":
                imported = [alias.name for alias in line.names]
            elif isinstance(line, ast.ImportFrom):
                imported = (line.module or "").removeprefix("minitorch_dist.tensors.").split(".")[:1]
            else:
                continue
            above = set(order[number:])
            assert not above & set(imported), f"{name} imports {above & set(imported)}"
