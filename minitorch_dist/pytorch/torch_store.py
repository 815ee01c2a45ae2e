"""The store that torch has made for its ranks, as one of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from math import inf
from typing import Any, Final

import torch.distributed as torch_dist

from transports.errors import DistStoreError, StoreTimeout
from transports.stores.store import ADVICE, Store

_LONG: Final = timedelta(days=365)


class TorchStore(Store):
    """Carries out our commands by the methods of a torch store."""

    def __init__(self, store: Any) -> None:
        super().__init__(store.timeout)
        self._store = store

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        act = _COMMANDS.get(operation)
        if act is None:
            raise DistStoreError(f"PyTorch's store {type(self._store).__name__} has no {operation}")
        if operation in ("get", "wait"):
            self._await(keys, timeout)
        try:
            return act(self._store, keys, values)
        except torch_dist.DistError as error:
            raise DistStoreError(f"{operation} of {', '.join(keys)}: {error}") from error

    def _await(self, keys: Sequence[str], timeout: float) -> None:
        try:
            self._store.wait(list(keys), _LONG if timeout == inf else timedelta(seconds=timeout))
        except torch_dist.DistStoreError:
            missing = [key for key in keys if not self._store.check([key])]
            there = [key for key in keys if key not in missing]
            raise StoreTimeout(timeout, missing, there, ADVICE) from None

    @property
    def host(self) -> str:
        """Where it is served, if it is served anywhere."""
        store = self._store
        while hasattr(store, "underlying_store"):
            store = store.underlying_store
        return str(getattr(store, "host", ""))

    def __repr__(self) -> str:
        return f"<TorchStore of {self._store!r}>"


def _set(store: Any, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
    for key, value in zip(keys, values, strict=True):
        store.set(key, value)
    return []


_COMMANDS: Final[dict[str, Callable[[Any, Sequence[str], Sequence[bytes]], list[bytes]]]] = {
    "set": _set,
    "get": lambda store, keys, values: [store.get(key) for key in keys],
    "wait": lambda store, keys, values: [],
    "add": lambda store, keys, values: [b"%d" % store.add(keys[0], int(values[0]))],
    "check": lambda store, keys, values: [b"%d" % store.check(list(keys))],
    "compare_set": lambda store, keys, values: [store.compare_set(keys[0], *values)],
    "delete_key": lambda store, keys, values: [b"%d" % store.delete_key(keys[0])],
    "num_keys": lambda store, keys, values: [b"%d" % store.num_keys()],
}
