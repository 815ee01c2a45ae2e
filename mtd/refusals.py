"""Wishes that cannot be carried out. `mtd` says the text of such an error, and ends with the status 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CannotDo(ValueError):
    """It cannot be done as it was asked for: why, and what to do instead."""

    def _render_traceback_(self) -> list[str]:
        """In a notebook, too, the text alone."""
        return [str(self)]


@contextmanager
def refusing() -> Iterator[None]:
    """Within the block, what is wrong is what the user gave: a value, or a file."""
    try:
        yield
    except (CannotDo, BrokenPipeError):  # a broken pipe: the reader has seen enough
        raise
    except (ValueError, OSError) as error:
        raise CannotDo(in_words(error)) from error


def in_words(error: Exception) -> str:
    """Of an error about one file its name, and what is wrong with it."""
    if isinstance(error, OSError) and error.filename is not None and error.filename2 is None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
