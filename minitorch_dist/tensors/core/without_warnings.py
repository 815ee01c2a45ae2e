"""numpy without its floating-point warnings: 1/0 is inf and 0/0 is nan, and no warning is given.

The user's own numpy keeps its warnings, so the setting holds for one call. `np.errstate` does the
same and takes 0.8 µs, half as long as a small operation; here it is 0.15 µs. numpy keeps the
setting in a context variable; it is found once, and entered directly. Should numpy ever keep it
elsewhere, `np.errstate` is what remains.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

with np.errstate(all="ignore"):
    _found = [(v, s) for v, s in copy_context().items() if v.name == "numpy.ufunc.extobj"]

# Without a function of ours in between: from here on silently, until `leave_silence` is given
# what `enter_silence` returned.
if _found:
    _variable, _silent = _found[0]
    enter_silence: Callable[[], Any] = functools.partial(_variable.set, _silent)
    leave_silence: Callable[[Any], Any] = _variable.reset
else:
    enter_silence = functools.partial(np.seterr, all="ignore")

    def leave_silence(before: Any) -> Any:
        np.seterr(**before)


def without_warnings(function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """function(*args), silently"""
    before = enter_silence()
    try:
        return function(*args, **kwargs)
    finally:
        leave_silence(before)


def silent(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, in whose calls numpy says nothing: for operations of several numpy steps."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return without_warnings(function, *args, **kwargs)

    return call
