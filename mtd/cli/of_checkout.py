"""Commands whose work stands with the tests, because only developers take them: a checkout has these, and an installed package has not."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from mtd.cli.code_lines import HOUSE
from mtd.refusals import CannotDo


def demand(why: str) -> None:
    """Refuse where this package is installed."""
    if not (HOUSE / "tests").is_dir():
        raise CannotDo(f"this is for a checkout of the repository, {why}")


def run(module: str, arguments: Sequence[str] | None = None) -> int:
    """Call the `main` of a module of the tests; returns the exit status."""
    demand(f"whose {module} does it; an installed package has no tests")
    sys.path.insert(0, str(HOUSE))
    return int(importlib.import_module(module).main(arguments))
