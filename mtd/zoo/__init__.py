"""Seven hangs that people met in public, each rebuilt in a few lines, and what they look like here.

Each module has `hang`, the program with the bug; `mended`, the same without it; RANKS; ADDRESS, where
the real one was told; CULPRITS, the ranks that do what the others do not; and one line that is marked
with "the bug". On real networks all but one of them end in a timeout. It names the rank which waited, not
the one that was missing. (One returns wrong numbers first.) `mtd zoo` shows what is said here instead.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol, cast

NAMES = (
    "sglang_33289",
    "torchrec_4149",
    "unsloth_zoo_967",
    "lightning_19106",
    "transformers_17478",
    "flight_recorder_3814",
    "pytorch_90339",
)


class ZooProgram(Protocol):
    """The parts that each module has."""

    __doc__: str | None
    RANKS: int
    ADDRESS: str
    CULPRITS: tuple[int, ...]
    hang: Callable[[], object]
    mended: Callable[[], object]


def exhibit(name: str) -> ZooProgram:
    if name not in NAMES:
        raise ValueError(f"there is no {name!r} in the zoo; there are {', '.join(NAMES)}")
    return cast(ZooProgram, importlib.import_module(f"{__name__}.{name}"))
