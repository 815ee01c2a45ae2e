"""The workers: a name and a number for each, and what devices are called at each.

WorkerInfo    one worker
WorkerTable   all workers that this one can call, by name and by number
DeviceNames   what this worker's devices are called at the others

How a worker joins others that run already: `join`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from minitorch_dist.distributed.codec import faces
from minitorch_dist.distributed.codec.errors import DamagedEncoding, shown
from minitorch_dist.tensors.devices import device

LONGEST: Final = 127  # characters of a name
NUMBER: Final = 1  # of `WorkerInfo` among the types that the codec knows by number


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
            raise DamagedEncoding(f"{shown(other)} is no worker")


faces.register_type(WorkerInfo, NUMBER, faces.Other(_write, _read))


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


class WorkerTable:
    """All workers of a world, by name and by number."""

    def __init__(self, infos: Iterable[WorkerInfo]) -> None:
        self.by_id = {info.id: info for info in infos}
        self.by_name: dict[str, WorkerInfo] = {}
        # of a world that workers join one by one: the workers that left, and why
        self.gone: dict[int, tuple[WorkerInfo, str]] = {}
        for info in self.by_id.values():
            other = self.by_name.setdefault(info.name, info)
            if other is not info:
                raise RuntimeError(
                    f"two workers are called {info.name!r}: rank {other.id} and rank {info.id}. "
                    "RPC worker names must be unique"
                )

    def find(self, to: Any) -> WorkerInfo:
        """The worker that a call's first argument means. Errors are torch's."""
        if isinstance(to, str):
            found = self.by_name.get(to)
        elif isinstance(to, WorkerInfo):
            found = self.by_id.get(to.id)
            found = found if found == to else None
        elif isinstance(to, int) and not isinstance(to, bool):
            found = self.by_id.get(to)
        else:
            raise ValueError(
                f"Cannot get WorkerInfo from {to!r}: give a name, a rank or a WorkerInfo"
            )
        if found is None:
            raise self._not_found(to)
        return found

    def ever(self, id: int) -> WorkerInfo:
        """The worker that has this number, or the last one that had it."""
        return self.by_id[id] if id in self.by_id else self.gone[id][0]

    def admit(self, info: WorkerInfo) -> None:
        self.gone.pop(info.id, None)
        self.by_id[info.id] = self.by_name[info.name] = info

    def dismiss(self, id: int, reason: str) -> None:
        info = self.by_id.pop(id, None)
        if info is not None:
            self.by_name.pop(info.name, None)
            self.gone[id] = info, reason

    def _not_found(self, to: Any) -> RuntimeError:
        gone = ""
        for info, reason in self.gone.values():
            if to in (info.name, info.id, info):
                gone = f": {info.name!r} was here; {reason}"
                break
        if isinstance(to, str):
            known = ", ".join(sorted(self.by_name))
            words = f"destination name {to}{gone}; the workers are called {known}"
        elif isinstance(to, WorkerInfo):
            words = f"destination {to}{gone}; that is no worker of this world"
        else:
            words = f"destination id {to}{gone}; there are {self._ids()}"
        return RuntimeError(f"could not find {words}")

    def _ids(self) -> str:
        ids = sorted(self.by_id)
        if len(ids) == ids[-1] - ids[0] + 1:
            return f"{ids[0]} to {ids[-1]}"
        return ", ".join(map(str, ids))

    def __repr__(self) -> str:
        return f"<Workers {', '.join(self.by_name)}>"


Map = dict[str, str]  # the names of devices here, and their names at the other worker


class DeviceNames:
    """The names of this worker's devices at each other worker, by `set_device_map`.

    A call goes by the caller's map. The answer goes back by the same map, read in the other direction.
    """

    def __init__(self, me: WorkerInfo, ours: dict[str, Map]) -> None:
        self.me, self.ours = me, ours
        self._calls: dict[int, Map] = {}
        self._answers: dict[int, Map] = {}
        self.note(me, ours)

    def note(self, worker: WorkerInfo, theirs: dict[str, Map]) -> None:
        """A worker is known, with the maps that were set there."""
        self._calls[worker.id] = self.ours.get(worker.name, {})
        self._answers[worker.id] = {
            here: there for there, here in theirs.get(self.me.name, {}).items()
        }

    def name_at(self, to: WorkerInfo, of: device, is_answer: bool = False) -> str:
        """The name of our device at `to`. RuntimeError, in torch's words, if no map has one."""
        known = self._answers if is_answer else self._calls
        there = known.get(to.id, {}).get(str(of))
        if there is not None:
            return there
        if to.id == self.me.id:
            return str(of)
        raise RuntimeError(
            f"a tensor on {of} was to be sent to {to.name!r}. RPC only supports CPU tensors by "
            "default, please move your tensors to CPU before sending them over RPC, or call "
            "`set_device_map` on `TensorPipeRpcBackendOptions` to explicitly configure device "
            f"mapping. Request device mapping is not available for destination: {to.name}"
        )

    def __repr__(self) -> str:
        return f"<DeviceNames of {self.me.name!r}: {self.ours or 'none are mapped'}>"
