"""Are two results the same, bit for bit, and where do they part?

Results are nested lists, tuples and dicts of numbers and texts. Numbers are compared as Python writes them in
full, so 0.0 and -0.0 differ and two nans are equal.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from typing import Any

from mtd.course.sizes import Function, names_of, words_of


def written(value: Any) -> str:
    """The value in letters, equal for equal values only."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, list | tuple):
        return f"[{','.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key!r}:{written(one)}' for key, one in sorted(value.items()))}}}"
    return repr(value)


def digest(value: Any) -> str:
    return hashlib.sha256(written(value).encode()).hexdigest()[:8]


def first(expected: Any, found: Any, place: str = "") -> tuple[str, Any, Any] | None:
    """The first place at which they differ, and what stands there in each; None if they are equal."""
    if isinstance(expected, list | tuple) and isinstance(found, list | tuple):
        if len(expected) != len(found):
            return f"the length of {place or 'the result'}", len(expected), len(found)
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            parted = first(one, other, f"{place}[{number}]")
            if parted is not None:
                return parted
        return None
    return None if written(expected) == written(found) else (place or "the result", expected, found)


def kept_by_module(text: str, ours: str) -> list[tuple[str, int]]:
    """Names that the learner's module sets outside of its functions, ours does not, and a function uses; and
    their lines. In the simulator all ranks share what these names stand for."""
    given = {name for name, _ in _set_outside(ours)}
    functions = [one for one in ast.walk(ast.parse(text)) if isinstance(one, Function)]
    used = set[str]().union(*map(words_of, functions))
    return [(name, line) for name, line in _set_outside(text) if name in used - given]


def _set_outside(text: str) -> Sequence[tuple[str, int]]:
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [(name, node.lineno) for node in nodes for name in sorted(names_of(node))]
