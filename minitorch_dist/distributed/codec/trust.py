"""Whether peers that hold the job's key may also make us run what they choose."""

from __future__ import annotations

import os
from typing import Final

VARIABLE: Final = "MINITORCH_DIST_ALLOW_PICKLE"
_NO: Final = ("0", "false", "no", "off")


def is_pickle_allowed() -> bool:
    return os.environ.get(VARIABLE, "1").lower() not in _NO
