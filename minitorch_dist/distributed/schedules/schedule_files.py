"""Schedules in files: wherever an algorithm is named, it may be named by its file.

    dist.all_reduce(x, algorithm="mine.py")
    MINITORCH_DIST_ALGORITHM=mine.py torchrun train.py           for each collective that the file has
    mtd simulate all_reduce --algorithm mine.py:swing:pieces=4   one of several in it, and its options

A file has generators of steps called like a collective (`def all_reduce(rank, size): yield …`), or what
`register_schedule` made. Of several for one collective the last counts, unless one is named. Schedules
of a file are known by its address only, so `auto` does not weigh them. An
algorithm in MSCCL's XML is such a file, too (see `mtd.laboratory.msccl`).
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from threading import Lock  # noqa: TID251 - one thread loads for all; no rank waits for another in here
from types import ModuleType
from typing import Final

from minitorch_dist.distributed.schedules.schedule import COLLECTIVES, Schedule, ScheduleError, is_loading
from minitorch_dist.inventory import plugs

PREFIX: Final = "mtd_schedule_"  # of the modules' names
_one_at_a_time: Final = Lock()


def split(address: str) -> tuple[Path, str, str]:
    """The file of an address, the name in it, and the options: `mine.py:swing:pieces=4`."""
    file, *parts = address.split(":")
    name = parts.pop(0) if parts and "=" not in parts[0] else ""
    return Path(file), name, ":".join(parts)


def find(collective: str, address: str) -> Schedule | None:
    """The schedule of this collective in a file, without options. None if the file has only others."""
    path, name, _ = split(address)
    every = in_file(path)
    if name and not any(name in (one.name, one.steps.__name__) for one in every):
        names = ", ".join(dict.fromkeys(one.name for one in every))
        raise ScheduleError(f"{path} has no schedule {name!r}; it has {names}")
    found = [one for one in every if one.collective == collective and name in ("", one.name, one.steps.__name__)]
    return found[-1] if found else None


def in_file(path: Path) -> tuple[Schedule, ...]:
    """All schedules of a file, in its order. ScheduleError says why there are none."""
    try:
        known = path.stat()
        if not path.is_file():
            raise ScheduleError(f"{path} is no file")
    except OSError as error:
        raise ScheduleError(f"there is no file {path}: {error.strerror}") from error
    with _one_at_a_time:
        return _in_file(path.resolve(), path.name, known.st_mtime_ns, known.st_size)


@lru_cache(maxsize=64)
def _in_file(path: Path, shown: str, *_: int) -> tuple[Schedule, ...]:
    if path.suffix == ".xml":
        return (plugs.find("msccl").read(path),)
    module = load(path)
    found = tuple(of_module(module, path.stem))
    if not found:
        raise ScheduleError(
            f"{shown} has no schedule: write def all_reduce(rank, size): yield …, or another of "
            f"{', '.join(COLLECTIVES)}, or @dist.register_schedule(…)"
        )
    return found


def of_module(module: ModuleType, stem: str) -> Iterable[Schedule]:
    """The schedules that a module defines; a plain function is called like its file."""
    for name, one in list(vars(module).items()):
        if isinstance(one, Schedule) and one.steps.__module__ == module.__name__:
            yield one
        elif inspect.isgeneratorfunction(one) and name in COLLECTIVES and one.__module__ == module.__name__:
            yield Schedule(name, stem, one)


def load(path: Path) -> ModuleType:
    """Run a file as a module; ScheduleError says in which line it failed."""
    name = PREFIX + path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ScheduleError(f"{path} is not a Python file: its name should end in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    token = is_loading.set(True)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        said = str(error) if isinstance(error, ScheduleError) else f"{type(error).__name__}: {error}"
        raise ScheduleError(f"{path.name}{_line(error, path)}: {said}") from error
    finally:
        is_loading.reset(token)
    return module


def _line(error: BaseException, path: Path) -> str:
    """`:12`, the last line of the file that an error passed."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == str(path)]
    return f":{lines[-1]}" if lines else ""
