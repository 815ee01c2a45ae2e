"""The line of the user's program that made a call, for error messages. It is the innermost line outside
minitorch_dist, or in a module of it that is a program itself and says so (PROGRAM = True).
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from _thread import get_ident
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

# The packages of this house: a frame of theirs is not where a user stands.
OURS = tuple(str(Path(__file__).parents[2] / name) + os.sep for name in ("minitorch_dist", "transports", "mtd"))
# Files whose code calls us for the user; `add_library` adds to them.
_between: list[str] = [contextlib.__file__, functools.__file__]
# By the code's address (its hash is that of all its constants); the code is kept, so that it stays there.
_inside: dict[int, bool] = {}
_codes: list[CodeType] = []
_sites: dict[tuple[int, int], str] = {}
_standing: dict[int, str] = {}  # by thread: the line for which it does something now


def callsite(ours: int = 0) -> str:
    """`train.py:41`. Of the frames that called this, the last `ours` are known to be inside."""
    if _standing and (found := _standing.get(get_ident())):
        return found
    frame = sys._getframe(1 + ours)
    while True:
        is_inside = _inside.get(id(frame.f_code))
        if not (_is_inside(frame) if is_inside is None else is_inside) or frame.f_back is None:
            break
        frame = frame.f_back  # Python makes an object of it, for as long as its call lasts
    where = id(frame.f_code), frame.f_lasti  # an instruction: asking for its line takes longer
    return _sites.get(where) or _site(where, frame)


@contextlib.contextmanager
def standing_at(site: str) -> Iterator[None]:
    """Within the block this thread does what was asked for at that line."""
    me = get_ident()
    before, _standing[me] = _standing.get(me, ""), site
    try:
        yield
    finally:
        if before:
            _standing[me] = before
        else:
            del _standing[me]


def add_library(folder: str) -> None:
    """Code in this folder calls us for the user, too."""
    if folder not in _between:
        _between.append(folder)
        _inside.clear()


def inside() -> tuple[str, ...]:
    """The beginnings of the paths of code where no user stands."""
    return (*OURS, *_between, "<frozen")


def _is_inside(frame: FrameType) -> bool:
    """Whether a frame's code is the library's, or runs for the library."""
    code = frame.f_code
    is_ours = code.co_filename.startswith(inside())
    _codes.append(code)
    found = _inside[id(code)] = is_ours and not frame.f_globals.get("PROGRAM", False)
    return found


def _site(where: tuple[int, int], frame: FrameType) -> str:
    _codes.append(frame.f_code)
    found = _sites[where] = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
    return found
