"""The store of simulated ranks as torch's: what waits in it waits in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import torch.distributed as torch_dist

from minitorch_dist.pytorch.errors import torch_errors
from transports.stores.store import Store


class VirtualStore(torch_dist.Store):
    """Torch's methods, carried out by a store of ours. Torch's `PrefixStore` calls them from C++."""

    def __init__(self, ours: Store) -> None:
        super().__init__()
        self._ours = ours

    def set(self, key: str, value: str | bytes) -> None:
        self._ours.set(key, bytes(value) if not isinstance(value, str) else value)

    def get(self, key: str) -> bytes:
        with torch_errors():
            return self._ours.get(key)

    def add(self, key: str, amount: int) -> int:
        return self._ours.add(key, amount)

    def check(self, keys: Sequence[str]) -> bool:
        return self._ours.check(list(keys))

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        return self._ours.compare_set(key, _text(expected), _text(desired))

    def delete_key(self, key: str) -> bool:
        return self._ours.delete_key(key)

    def num_keys(self) -> int:
        return self._ours.num_keys()

    getNumKeys, deleteKey = num_keys, delete_key  # noqa: N815 - the names that C++ asks for

    def clone(self) -> VirtualStore:
        return self

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        with torch_errors():
            self._ours.wait(list(keys), timeout)

    def set_timeout(self, timeout: timedelta) -> None:
        self._ours.set_timeout(timeout)

    @property
    def timeout(self) -> timedelta:
        return self._ours.timeout


def _text(value: str | bytes) -> str | bytes:
    return value if isinstance(value, str) else bytes(value)
