"""Commands whose work stands with the tests, because only developers take them: a checkout has these, and an installed package has not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from mtd.cli.code_lines import HOUSE
from mtd.refusals import CannotDo


def call(module: str, arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Run a module of the tests in a process of its own; returns its exit status."""
    if not (HOUSE / "tests").is_dir():
        raise CannotDo(
            f"this is for a checkout of the repository, whose {module} does it; an installed package has no tests"
        )
    path = os.pathsep.join(filter(None, (str(HOUSE), environment.get("PYTHONPATH"))))
    return subprocess.call(
        [sys.executable, "-m", module, *arguments], env={**environment, "PYTHONPATH": path}
    )
