"""How far the sender of some bytes is trusted: the things that they may make the reader do.

    VALUES       files, and whatever else nobody vouches for: values, and the names of what was registered
    REGISTERED   a peer while MINITORCH_DIST_ALLOW_PICKLE=0: the same
    FULL         a peer otherwise: also names that can be imported, and pickles, which run any code

A writer refuses what a reader of the same trust would refuse, so the error comes where the value is.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import Final

VARIABLE: Final = "MINITORCH_DIST_ALLOW_PICKLE"
_NO: Final = ("0", "false", "no", "off")


class Trust(Enum):
    """The value says why there is no more of it."""

    VALUES = "only values are read and written here"
    REGISTERED = f"{VARIABLE}=0 forbids pickle and imports"
    FULL = "a peer is trusted in full"

    @property
    def may_pickle(self) -> bool:
        return self is Trust.FULL


def of_peers() -> Trust:
    """Of peers that have proved that they hold the job's key."""
    is_forbidden = os.environ.get(VARIABLE, "1").lower() in _NO
    return Trust.REGISTERED if is_forbidden else Trust.FULL
