"""Nothing of the house uses the operations of `tensors.extras`; users have them all under torch's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import minitorch_dist as mtd
from minitorch_dist.tensors.extras.methods import ExtraMethods

HOUSE = Path(__file__).parents[2]
EXTRAS = HOUSE / "minitorch_dist" / "tensors" / "extras"
LISTS = {  # of names and methods
    HOUSE / "minitorch_dist" / name
    for name in (
        "__init__.py",
        "fft.py",
        "linalg.py",
        "special.py",
        "nn/functional.py",
        "tensors/tensor.py",
    )
}
FACES = {*LISTS, HOUSE / "minitorch_dist" / "sparse.py"}
OTHERS_HAVE_THEM = {"values", "indices", "eig"}  # dictionaries, slices and np.linalg do
FOREIGN = {"np", "numpy", "math", "functools", "itertools", "operator"}


def names_of_extras() -> set[str]:
    """The names under which users find them, as methods and as functions."""
    found = {name for name in vars(ExtraMethods) if not name.startswith("_")}
    for path in LISTS:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and "tensors.extras" in (node.module or ""):
                found |= {alias.asname or alias.name for alias in node.names}
    return found - {"ExtraMethods"} - OTHERS_HAVE_THEM


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
    assert len(extras) > 150
    used = {
        f"{path.relative_to(HOUSE)}: {name}"
        for ground in ("minitorch_dist", "transports", "lessons", "programs")
        for path in (HOUSE / ground).rglob("*.py")
        if path not in FACES and EXTRAS not in path.parents
        for name in used_names(ast.parse(path.read_text("utf-8")))
        if name in extras
    }
    assert used == set(), "move these operations from tensors/extras to tensors/ops"


def test_users_have_them_all() -> None:
    x = mtd.tensor([0.5, -0.25])
    for name in vars(ExtraMethods):
        if not name.startswith("_"):
            assert callable(getattr(x, name)), name
    assert mtd.ones(2).exp_().tolist() == mtd.ones(2).exp().tolist()
    assert mtd.linalg.multi_dot([mtd.eye(2), mtd.eye(2)]).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert mtd.fft.fft(mtd.ones(2)).tolist() == [2, 0]


def test_sums_of_narrow_whole_numbers_keep_their_type() -> None:
    x = mtd.tensor([[1, 2], [3, 250]])
    for kind in (mtd.bool, mtd.uint8, mtd.int16, mtd.int32):
        assert x.sum(dtype=kind).dtype is kind
    assert x.sum(0, dtype=mtd.uint8).tolist() == [4, 252] and x.sum(dtype=mtd.bool).item() is True


def test_only_one_triangle_of_a_cholesky_factor_is_read() -> None:
    whole = mtd.tensor([[2.0, 9.0], [1.0, 3.0]])
    assert mtd.allclose(mtd.cholesky_inverse(whole), mtd.cholesky_inverse(whole.tril()))
    assert mtd.allclose(mtd.cholesky_inverse(whole, True), mtd.cholesky_inverse(whole.triu(), True))
