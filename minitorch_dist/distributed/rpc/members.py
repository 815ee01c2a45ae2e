"""The workers: a name and a number for each.

WorkerInfo    one worker
WorkerTable   all workers that this one can call, by name and by number
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from minitorch_dist.distributed.codec import Reader, Writer, others
from minitorch_dist.distributed.codec.errors import DamagedEncoding, shown

LONGEST: Final = 127  # characters of a name
NUMBER: Final = 1  # of `WorkerInfo` among the types that the codec knows by number


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's name and id. Calls may name it by either, or by this."""

    name: str
    id: int

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


def _write(writer: Writer, worker: WorkerInfo) -> None:
    writer.value((worker.name, worker.id))


def _read(reader: Reader) -> WorkerInfo:
    match reader.value():
        case (str(name), int(number)):
            return WorkerInfo(name, number)
        case other:
            raise DamagedEncoding(f"{shown(other)} is no worker")


others.register_type(WorkerInfo, NUMBER, _write, _read)


def check_name(name: Any) -> str:
    """torch's rule for names of workers."""
    if not isinstance(name, str):
        raise TypeError(f"a worker's name is a str, not {type(name).__name__}: {name!r}")
    if not name:
        raise RuntimeError("Worker name must not be an empty string.")
    if len(name) > LONGEST:
        raise RuntimeError(
            f"RPC worker names must be shorter than {LONGEST + 1} characters; {name[:20]!r}… has {len(name)}."
        )
    if not re.fullmatch(r"[A-Za-z0-9\-_:]*", name):
        raise RuntimeError(
            f"Worker name must match ^[A-Za-z0-9-_:]*$ (letters, digits, '-', '_' and ':'), but got {name!r}."
        )
    return name


class WorkerTable:
    """All workers of a world, by name and by number."""

    def __init__(self, infos: Iterable[WorkerInfo]) -> None:
        self.by_id = {info.id: info for info in infos}
        self.by_name: dict[str, WorkerInfo] = {}
        for info in self.by_id.values():
            other = self.by_name.setdefault(info.name, info)
            if other is not info:
                raise RuntimeError(
                    f"two workers are called {info.name!r}: rank {other.id} and rank {info.id}. "
                    "RPC worker names must be unique"
                )

    def find(self, to: Any) -> WorkerInfo:
        """The worker that a call's first argument means. Errors are torch's."""
        found: WorkerInfo | None
        if isinstance(to, str):
            found = self.by_name.get(to)
        elif isinstance(to, WorkerInfo):
            found = to if self.by_id.get(to.id) == to else None
        elif isinstance(to, int) and not isinstance(to, bool):
            found = self.by_id.get(to)
        else:
            raise ValueError(f"Cannot get WorkerInfo from {to!r}: give a name, a rank or a WorkerInfo")
        if found is None:
            known = ", ".join(f"{info.id} {info.name}" for info in self.by_id.values())
            raise RuntimeError(f"could not find destination {to}; the workers are {known}")
        return found
