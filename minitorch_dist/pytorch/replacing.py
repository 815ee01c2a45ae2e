"""Attributes that are others for the length of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def replaced(owner: Any, name: str, by: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def replaced_everywhere(function: Any, by: Any) -> Iterator[None]:
    """The same in all modules, also where the function was taken out of its own (`from … import …`)."""
    with ExitStack() as around:
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()) if hasattr(module, "__dict__") else ():
                if value is function:
                    around.enter_context(replaced(module, name, by))
        yield
