"""A logger for elastic jobs: its level is in LOGLEVEL."""

from __future__ import annotations

import inspect
import logging
import os


def get_log_level() -> str:
    return "WARNING"


def get_logger(name: str | None = None) -> logging.Logger:
    """The logger of this name, else of the module that asks."""
    if name is None:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        name = (
            str(caller.f_globals.get("__name__", "__main__")) if caller is not None else "__main__"
        )
    found = logging.getLogger(name)
    found.setLevel(os.environ.get("LOGLEVEL", get_log_level()))
    return found
