"""How many examples a property is tried on, and which cases of a sweep: few in `make test` and `make slow`, more in `make deep`.

HYPOTHESIS_PROFILE=deep python -m pytest --timeout=0 -o faulthandler_timeout=0 tests/rpc
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import pytest

IS_DEEP: Final = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
MANY: Final = int(os.environ.get("DEEP_EXAMPLES", "2000"))


def examples(few: int) -> int:
    """So many, or thousands."""
    return MANY if IS_DEEP else few


def seeds(few: int) -> range:
    return range(examples(few))


def some_of(cases: Sequence[Any], *now: int) -> list[Any]:
    """The cases of a sweep. Those at the places `now` are tried each time, the others in `make deep` only."""
    tuples = [case if type(case) is tuple else (case,) for case in cases]
    return [
        case if place in now else pytest.param(*values, marks=pytest.mark.deep)
        for place, (case, values) in enumerate(zip(cases, tuples, strict=True))
    ]
