"""Are two failures the same one? By what they are and where, not by numbers that may vary.

    type      of the error
    where     the innermost line of the program that it passed; of a deadlock every line at which a rank waits,
              and in what; of a livelock none, as it meets the ranks anywhere
    words     what it says first, without numbers: ranks, instants and values differ from run to run

So a run with fewer faults in which another line fails, or others wait elsewhere, fails otherwise.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from transports.errors import Deadlock, Livelock
from transports.virtual.deadlock import is_users

_RANKS = re.compile(r"\branks? \d+(?:(?:-|, | and )\d+)*")
_SPAN = re.compile(r"\d[\d.,e+-]* ?(?:ps|ns|us|µs|ms|s)\b")
_NUMBER = re.compile(r"-?\b\d[\d.,]*(?:e[+-]?\d+)?|\bnan\b|-?\binf\b")
_PLACE = re.compile(r"[\w.<>-]+\.\w+:\d+")
_WAITS = re.compile(r"  rank \d+(?:, thread '.*?',)? waits for (?P<what>.*)")


class FailureIdentity(NamedTuple):
    """Equal ones are one failure."""

    kind: str
    where: frozenset[str]
    words: str


def identity(error: BaseException) -> FailureIdentity:
    kind = type(error).__name__
    if isinstance(error, Livelock):
        return FailureIdentity(kind, frozenset(), "")
    said = str(error).splitlines() or [""]
    if isinstance(error, Deadlock):
        waits = (_WAITS.match(line) for line in said)
        return FailureIdentity(kind, frozenset(_wait(found["what"]) for found in waits if found), "")
    place = innermost(error.__traceback__)
    return FailureIdentity(kind, frozenset([place] if place else []), plain(said[0]))


def innermost(trace: TracebackType | None) -> str:
    """The innermost line that is not ours."""
    place = ""
    while trace is not None:
        if is_users(trace.tb_frame):
            place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def plain(words: str) -> str:
    """Words without what varies; lines of the program stay."""
    places = _PLACE.findall(words)
    words = _PLACE.sub("@", words)
    words = _NUMBER.sub("#", _SPAN.sub("#", _RANKS.sub("rank #", words)))
    for place in places:
        words = words.replace("@", place, 1)
    return words


def _wait(words: str) -> str:
    """In what a rank waits and where, without what it sent before."""
    return re.sub(r", step #", "", plain(words.partition("; its last message")[0]))
