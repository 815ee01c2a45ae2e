"""Who takes part: a name and a number for each worker."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from minitorch_dist.distributed.codec import faces
from minitorch_dist.distributed.codec.errors import Damaged

LONGEST: Final = 127
NUMBER: Final = 1  # among the types that the codec was taught


class WorkerInfo:
    """A worker's name and id. Calls may name it by either, or by this."""

    __slots__ = ("id", "name")

    def __init__(self, name: str, id: int) -> None:
        self.name, self.id = name, id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WorkerInfo) and (self.id, self.name) == (other.id, other.name)

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    def __reduce__(self) -> tuple[type[WorkerInfo], tuple[str, int]]:
        return WorkerInfo, (self.name, self.id)

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, name={self.name})"


def _write(writer: faces.Writing, worker: WorkerInfo) -> None:
    writer.value((worker.name, worker.id))


def _read(reader: faces.Reading) -> WorkerInfo:
    match reader.value():
        case (str(name), int(number)):
            return WorkerInfo(name, number)
        case other:
            raise Damaged(f"{other!r} is no worker")


faces.let_travel(WorkerInfo, NUMBER, faces.Other(_write, _read))


def check_name(name: Any) -> str:
    """torch's rule for names of workers."""
    if not isinstance(name, str):
        raise TypeError(f"a worker's name is a str, not {type(name).__name__}: {name!r}")
    if not name:
        raise RuntimeError("Worker name must not be an empty string.")
    if len(name) > LONGEST:
        raise RuntimeError(
            f"RPC worker names must be shorter than {LONGEST + 1} characters; {name[:20]!r}… has "
            f"{len(name)}."
        )
    if not re.fullmatch(r"[A-Za-z0-9\-_:]*", name):
        raise RuntimeError(
            f"Worker name must match ^[A-Za-z0-9-_:]*$ (letters, digits, '-', '_' and ':'), but got "
            f"{name!r}."
        )
    return name


class Workers:
    """All workers of a world, by name and by number."""

    def __init__(self, infos: Iterable[WorkerInfo]) -> None:
        self.by_id = {info.id: info for info in infos}
        self.by_name: dict[str, WorkerInfo] = {}
        self.gone: dict[
            int, tuple[WorkerInfo, str]
        ] = {}  # of a world that grows: who left, and why
        for info in self.by_id.values():
            other = self.by_name.setdefault(info.name, info)
            if other is not info:
                raise RuntimeError(
                    f"two workers are called {info.name!r}: rank {other.id} and rank {info.id}. "
                    "RPC worker names must be unique"
                )

    def admit(self, info: WorkerInfo) -> None:
        self.gone.pop(info.id, None)
        self.by_id[info.id] = self.by_name[info.name] = info

    def dismiss(self, id: int, reason: str) -> None:
        info = self.by_id.pop(id, None)
        if info is not None:
            self.by_name.pop(info.name, None)
            self.gone[id] = info, reason

    def ever(self, id: int) -> WorkerInfo:
        """Who has this number, or had it last."""
        return self.by_id[id] if id in self.by_id else self.gone[id][0]

    def _ids(self) -> str:
        ids = sorted(self.by_id)
        if len(ids) == ids[-1] - ids[0] + 1:
            return f"{ids[0]} to {ids[-1]}"
        return ", ".join(map(str, ids))

    def _fate(self, to: Any) -> str:
        """What is known of a worker that is there no more."""
        for info, reason in self.gone.values():
            if to in (info.name, info.id, info):
                return f": {info.name!r} was here; {reason}"
        return ""

    def find(self, to: Any) -> WorkerInfo:
        """The worker that a call's first argument means. Errors are torch's."""
        if isinstance(to, str):
            found = self.by_name.get(to)
            if found is None:
                known = ", ".join(sorted(self.by_name))
                raise RuntimeError(
                    f"could not find destination name {to}{self._fate(to)}; the workers are called "
                    f"{known}"
                )
            return found
        if isinstance(to, WorkerInfo):
            found = self.by_id.get(to.id)
            if found != to:
                raise RuntimeError(
                    f"could not find destination {to}{self._fate(to)}; that is no worker of this "
                    "world"
                )
            return found
        if isinstance(to, int) and not isinstance(to, bool):
            found = self.by_id.get(to)
            if found is None:
                raise RuntimeError(
                    f"could not find destination id {to}{self._fate(to)}; there are {self._ids()}"
                )
            return found
        raise ValueError(f"Cannot get WorkerInfo from {to!r}: give a name, a rank or a WorkerInfo")

    def __repr__(self) -> str:
        return f"<Workers {', '.join(self.by_name)}>"
