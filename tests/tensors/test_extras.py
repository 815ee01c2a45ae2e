"""Nothing of the house uses the operations of `tensors.extras`; users have them all under torch's names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import minitorch_dist as mtd
from minitorch_dist.tensors.extras.methods import ExtraMethods

HOUSE = Path(__file__).parents[2]
EXTRAS = HOUSE / "minitorch_dist" / "tensors" / "extras"
LISTS = {  # of names and methods
    HOUSE / "minitorch_dist" / name
    for name in ("__init__.py", "nn/functional.py", "tensors/tensor.py")
}
FOREIGN = {"np", "numpy", "math", "functools", "itertools", "operator"}


def names_of_extras() -> set[str]:
    """The names under which users find them, as methods and as functions."""
    found = {name for name in vars(ExtraMethods) if not name.startswith("_")}
    for path in LISTS:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and "tensors.extras" in (node.module or ""):
                found |= {alias.asname or alias.name for alias in node.names}
    return found - {"ExtraMethods"}


def used_names(tree: ast.AST) -> Iterator[str]:
    """Names that are read as an attribute, or imported from this package."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if not (isinstance(node.value, ast.Name) and node.value.id in FOREIGN):
                yield node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("minitorch_dist"):
            yield from (alias.name for alias in node.names)


def test_the_house_uses_no_extras() -> None:
    extras = names_of_extras()
    assert len(extras) > 30
    word = re.compile(rf"\b({'|'.join(extras)})\b")  # few files have one of the words at all
    used = {
        f"{path.relative_to(HOUSE)}: {name}"
        for ground in ("minitorch_dist", "transports", "lessons", "programs")
        for path in (HOUSE / ground).rglob("*.py")
        if path not in LISTS and EXTRAS not in path.parents
        for text in [path.read_text("utf-8")]
        if word.search(text)
        for name in used_names(ast.parse(text))
        if name in extras
    }
    assert used == set(), "move these operations from tensors/extras to tensors/ops"


def test_users_have_them_all() -> None:
    x = mtd.tensor([0.5, -0.25])
    for name in vars(ExtraMethods):
        if not name.startswith("_"):
            assert callable(getattr(x, name)), name
    assert mtd.ones(2).exp_().tolist() == mtd.ones(2).exp().tolist()


def test_sums_of_narrow_whole_numbers_keep_their_type() -> None:
    x = mtd.tensor([[1, 2], [3, 250]])
    for kind in (mtd.bool, mtd.uint8, mtd.int16, mtd.int32):
        assert x.sum(dtype=kind).dtype is kind
    assert x.sum(0, dtype=mtd.uint8).tolist() == [4, 252] and x.sum(dtype=mtd.bool).item() is True
