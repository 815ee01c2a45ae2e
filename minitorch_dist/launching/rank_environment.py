"""`os.environ` of ranks that are threads: each sees the process's variables, and over them its own (RANK, …)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from minitorch_dist.distributed import world


def of_torchrun(rank: int, world_size: int) -> dict[str, str]:
    """The variables that torchrun sets for this rank of one host."""
    return {
        "RANK": f"{rank}", "LOCAL_RANK": f"{rank}", "GROUP_RANK": "0", "ROLE_RANK": f"{rank}",
        "WORLD_SIZE": f"{world_size}", "LOCAL_WORLD_SIZE": f"{world_size}", "GROUP_WORLD_SIZE": "1",
        "ROLE_WORLD_SIZE": f"{world_size}", "ROLE_NAME": "default", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0", "TORCHELASTIC_MAX_RESTARTS": "0",
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }  # fmt: skip


_GONE = object()  # a variable that this rank has deleted


class RankEnvironment(MutableMapping[Any, Any]):
    """Takes the place of the table behind `os.environ`. Its keys are encoded as that one's are."""

    def __init__(self, asked: Callable[[Any], None]) -> None:
        """`asked` is told each variable before it is read."""
        self._asked = asked
        self._process: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]
        self._changed: set[Any] = set()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        before = dict(self._process)
        os.environ._data = self  # type: ignore[attr-defined]
        try:
            yield
        finally:
            os.environ._data = self._process  # type: ignore[attr-defined]
            self._undo_for_c(before)

    def has_changed(self, key: Any) -> bool:
        """Whether a rank has set or deleted this variable."""
        return key in self._changed

    def _undo_for_c(self, before: dict[Any, Any]) -> None:
        """The variables that ranks set went to C's table too, which is one for all."""
        for key in self._changed:
            if key in before:
                os.putenv(key, before[key])
            else:
                os.unsetenv(key)

    def _own(self) -> dict[Any, Any] | None:
        given = world.place().given
        found = given.get("environment")
        if found is None:
            return None
        if "environment in bytes" not in given:
            encode = os.environ.encodekey
            given["environment in bytes"] = {encode(key): encode(value) for key, value in found.items()}
        return given["environment in bytes"]  # type: ignore[no-any-return]

    def __getitem__(self, key: Any) -> Any:
        own = self._own()
        self._asked(key)
        found = self._process[key] if own is None or key not in own else own[key]
        if found is _GONE:
            raise KeyError(key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        own = self._own()
        self._changed.add(key)
        (self._process if own is None else own)[key] = value

    def __delitem__(self, key: Any) -> None:
        self[key]  # KeyError if it is not there
        own = self._own()
        self._changed.add(key)
        if own is None:
            del self._process[key]
        else:
            own[key] = _GONE

    def __iter__(self) -> Iterator[Any]:
        own = self._own() or {}
        yield from (key for key in {**self._process, **own} if own.get(key) is not _GONE)

    def __len__(self) -> int:
        return sum(1 for _ in self)
