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


def check_name(name: str) -> None:
    """torch's rule for names of workers."""
    if not re.fullmatch(r"[A-Za-z0-9\-_:]{1,127}", name):
        raise RuntimeError(
            f"a worker's name has 1 to 127 characters (letters, digits, '-', '_' and ':'), but got {name[:200]!r}"
        )


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
        """The worker that a call's first argument means."""
        if isinstance(to, bool) or not isinstance(to, str | int | WorkerInfo):
            raise ValueError(f"Cannot get WorkerInfo from {to!r}: give a name, a rank or a WorkerInfo")
        table: dict[Any, WorkerInfo] = self.by_name if isinstance(to, str) else self.by_id
        found = table.get(to.id if isinstance(to, WorkerInfo) else to)
        if found is None or (isinstance(to, WorkerInfo) and found != to):
            known = ", ".join(f"{info.id} {info.name}" for info in self.by_id.values())
            raise RuntimeError(f"could not find destination {to}; the workers are {known}")
        return found
