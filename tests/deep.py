"""How many examples a property is tried on: few in CI, thousands with `make deep`.

HYPOTHESIS_PROFILE=deep python -m pytest --timeout=0 -o faulthandler_timeout=0 tests/rpc
"""

from __future__ import annotations

import os
from typing import Final

IS_DEEP: Final = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
MANY: Final = int(os.environ.get("DEEP_EXAMPLES", "2000"))


def examples(few: int) -> int:
    """So many, or thousands."""
    return MANY if IS_DEEP else few


def seeds(few: int) -> range:
    return range(examples(few))
