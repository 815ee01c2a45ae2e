"""Our errors, as torch's too: a program that catches `torch.distributed.DistBackendError` catches a DistMismatch.

Ours have the same names and the same meaning, but are other classes. So an error that leaves this package is given a
class that is both; its text, its attributes and its traceback stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch.distributed as torch_dist

from minitorch_dist.distributed import exceptions as ours

_PAIRS = (
    (ours.DistStoreError, "DistStoreError"),
    (ours.DistNetworkError, "DistNetworkError"),
    (ours.DistBackendError, "DistBackendError"),
    (ours.DistError, "DistError"),
)


@cache
def _both(kind: type[BaseException]) -> type[BaseException]:
    """The class of ours that is one of torch's as well."""
    theirs = next(getattr(torch_dist, name) for mine, name in _PAIRS if issubclass(kind, mine))
    if issubclass(kind, theirs):
        return kind

    def reduced(error: BaseException) -> tuple[Any, ...]:
        """For pickle, which does not find by its name a class that was made here."""
        made: Any = kind.__reduce__(error)
        return _again, (kind, *made[1]), *made[2:]

    named = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__reduce__": reduced}
    return type(kind.__name__, (kind, theirs), named)


def _again(kind: type[BaseException], *arguments: Any) -> Any:
    return as_torch(kind(*arguments))


def as_torch(error: Any) -> Any:
    """The same error, which torch's programs catch by torch's names."""
    if isinstance(error, ours.DistError):
        error.__class__ = _both(type(error))  # type: ignore[assignment,arg-type]
    return error


@contextmanager
def torch_errors() -> Iterator[None]:
    """Within the block, errors of ours become torch's too."""
    try:
        yield
    except ours.DistError as error:
        as_torch(error)
        raise
