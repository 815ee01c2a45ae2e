"""Tracebacks that end where the user's program called us.

An error of a collective says in words who, what and where; the ten frames between the call and its
raising are ours, and push the words off the screen. So they are left out where an uncaught error is
shown, and said to be; TORCH_DISTRIBUTED_DEBUG=DETAIL shows them.
"""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

from minitorch_dist.distributed import callsite
from minitorch_dist.distributed.exceptions import DistError
from transports import errors

VARIABLE: Final = "TORCH_DISTRIBUTED_DEBUG"
SHORT: Final = 60  # characters of an error that is told in full elsewhere


def shown(error: BaseException) -> str:
    """An uncaught error: its traceback; or a line, where an agent reports it and all ranks have the like."""
    is_reported = bool(os.environ.get("TORCHELASTIC_ERROR_FILE"))
    if not (isinstance(error, DistError) and is_reported) or _wants_all():
        return "".join(traceback.format_exception(error))
    said, trace, place = (str(error).splitlines() or [""])[0], error.__traceback__, ""
    while trace is not None:
        place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    more = " … (the report at the end has all of it)" if len(said) > SHORT else ""
    return f"{type(error).__name__}{place}: {said[:SHORT]}{more}"


def _wants_all() -> bool:
    return os.environ.get(VARIABLE, "").upper() == "DETAIL"


def shorten(error: BaseException) -> None:
    """Leave out our own frames at the end of a traceback, of a DistError or of a job's time that is over."""
    if not isinstance(error, DistError | TimeoutError) or _wants_all():
        return
    frames: list[TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    kept, inside = len(frames), callsite.inside()
    while kept and frames[kept - 1].tb_frame.f_code.co_filename.startswith(inside):
        kept -= 1
    if kept and len(frames) - kept < 2:
        return
    short: TracebackType | None = None
    for each in reversed(frames[:kept]):
        short = TracebackType(short, each.tb_frame, each.tb_lasti, each.tb_lineno)
    error.__traceback__ = short
    if isinstance(error.__cause__, errors.PeerLost):  # the same, from one floor below
        error.__cause__, error.__suppress_context__ = None, True
    if kept:
        error.add_note(
            f"({len(frames) - kept} frames within minitorch_dist are left out; {VARIABLE}=DETAIL shows them)"
        )
