"""`mtd dev count`: how many lines of code each package has, without blank lines, comments and docstrings."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from mtd.course.code_lines import code_lines as code_lines

HOUSE = Path(__file__).parents[2]
GROUNDS = ("minitorch_dist", "transports", "mtd")


def by_package() -> Counter[str]:
    """The lines of each package: `transports`, `minitorch_dist/nn`, and so on."""
    found: Counter[str] = Counter()
    for ground in GROUNDS:
        for path in (HOUSE / ground).rglob("*.py"):
            parts = path.relative_to(HOUSE).parts
            deep = ground != "transports" and len(parts) > 2
            found["/".join(parts[: 2 if deep else 1])] += code_lines(path.read_text("utf-8"))
    return found
