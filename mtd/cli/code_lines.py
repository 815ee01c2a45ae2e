"""`mtd dev count`: how many lines of code each package has, without blank lines, comments and docstrings."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

HOUSE = Path(__file__).parents[2]
GROUNDS = ("minitorch_dist", "transports", "mtd")
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(text: str) -> int:
    """The lines of a module on which something stands that is neither a comment nor a docstring.

    A string that is a statement of its own counts as a docstring, also below an attribute.
    """
    docstrings = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docstrings)


def by_package() -> Counter[str]:
    """The lines of each package: `transports`, `minitorch_dist/nn`, and so on."""
    found: Counter[str] = Counter()
    for ground in GROUNDS:
        for path in (HOUSE / ground).rglob("*.py"):
            parts = path.relative_to(HOUSE).parts
            deep = ground != "transports" and len(parts) > 2
            found["/".join(parts[: 2 if deep else 1])] += code_lines(path.read_text("utf-8"))
    return found
