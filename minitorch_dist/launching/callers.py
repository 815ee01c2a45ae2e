"""Whose call it is that a simulated rank makes, and the error that refuses it by name."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from pathlib import Path
from types import FrameType

from minitorch_dist.distributed import world
from minitorch_dist.distributed.callsite import OURS
from transports.errors import DistError

LIBRARY = str(Path(__file__).parent.parent) + os.sep
_STANDARD = str(Path(os.__file__).parent) + os.sep
_ABOVE = tuple(folder for folder in OURS if not folder.endswith(f"{os.sep}transports{os.sep}"))
_LIBRARIES = (_STANDARD, *_ABOVE)
_INSTALLED = (_STANDARD, *OURS, sysconfig.get_path("purelib") + os.sep, "<frozen")
_SITES = {"site-packages", "dist-packages"}  # of other environments on the path, and of the user


class Outside(DistError):
    """Something was called that a simulated rank cannot use."""


def refusal(call: str, why: str, did: str = "called") -> Outside:
    rank = world.place().given.get("rank", "?")
    return Outside(f"rank {rank} {did} {call} at {_site()} in a simulated run: {why}")


@functools.cache
def is_users(file: str) -> bool:
    """Whether a module of this file is neither the library's, nor installed, nor ours."""
    return not file.startswith(_INSTALLED) and _SITES.isdisjoint(Path(file).parts)


def _site() -> str:
    frame = caller()
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def caller() -> FrameType:
    """The innermost frame that is neither ours nor the standard library's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARIES):
        if frame.f_globals.get("PROGRAM", False):
            break
        frame = frame.f_back
    return frame
