"""The little key-value store through which ranks find each other.

Keys are text, values bytes (text is encoded). `get` and `wait` block until the keys are there, and
a timeout names those that are missing. The kinds of store differ only in `command`:

    HashStore     threads of one process      a key-value table under a lock
    TCPStore      processes, several hosts    a key-value table in the master's process (`stores.tcp`)
    FileStore     processes of one host       a log in a file (`stores.file`)
    PrefixStore   a part of another store     its keys, each with a prefix

In two points this is better than torch's. A timeout names the keys that are missing, not all that were
asked for. `add` to a text is an error of that call, not the end of the connection.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from math import inf
from typing import TypeAlias

from transports.clock import ENDLESS, SYSTEM, Clock, Deadline
from transports.stores.key_values import READS, KeyValues, NotYet

Duration: TypeAlias = "float | timedelta | None"  # None: the store's own timeout

TIMEOUT = 300.0  # seconds; torch's default


def seconds(duration: float | timedelta) -> float:
    """A duration as people write it, in seconds."""
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise TypeError(f"a timeout is a timedelta or a number of seconds, not {duration!r}")
    if duration != duration:
        raise ValueError("a timeout of nan seconds is never over, and never not over")
    return inf if duration >= ENDLESS else float(max(duration, 0))


def encoded(value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"a store keeps text or bytes, not {value!r}")


def named(key: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a store's key is text, not {key!r}")
    return key


def all_named(keys: Sequence[str]) -> list[str]:
    """The keys as a list; as in PyTorch one text is not a list of them."""
    if isinstance(keys, str | bytes):
        raise TypeError(f"a list of keys is wanted, and this is one text: write [{keys!r}]")
    return [named(key) for key in keys]


class Store(ABC):
    """PyTorch's `Store`; a subclass says how one command is carried out."""

    def __init__(self, timeout: float | timedelta = TIMEOUT) -> None:
        self._seconds = seconds(timeout)

    @abstractmethod
    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        """Carry out one command of a `KeyValues`, atomically, waiting at most `timeout` seconds (`inf`
        has no end) for what it needs; StoreTimeout names the missing keys."""

    def _do(
        self, operation: str, keys: Sequence[str] = (), values: Sequence[bytes] = (), timeout: Duration = None
    ) -> list[bytes]:
        limit = self._seconds if timeout is None else seconds(timeout)
        return self.command(operation, keys, values, limit)

    def set(self, key: str, value: str | bytes) -> None:
        self._do("set", [named(key)], [encoded(value)])

    def get(self, key: str) -> bytes:
        """The value, once it is there."""
        return self._do("get", [named(key)])[0]

    def add(self, key: str, amount: int) -> int:
        """Add to a counter, which begins at 0 and is kept as decimal text; the new count."""
        return int(self._do("add", [named(key)], [b"%d" % amount])[0])

    def wait(self, keys: Sequence[str], timeout: Duration = None) -> None:
        """Return when all `keys` are there."""
        if keys:
            self._do("wait", all_named(keys), (), timeout)

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all `keys` are there."""
        return self._do("check", all_named(keys)) == [b"1"]

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        """Set `desired` if the value is `expected` (or both are nothing). Return the present value.

        Where nothing is there but something was expected, nothing is set and `expected` returned.
        """
        return self._do("compare_set", [named(key)], [encoded(expected), encoded(desired)])[0]

    def delete_key(self, key: str) -> bool:
        """Whether there was something to delete."""
        return self._do("delete_key", [named(key)]) == [b"1"]

    def num_keys(self) -> int:
        """How many keys there are. A file's store, and a TCP store with a world size, count one more:
        under it they keep how many have joined."""
        return int(self._do("num_keys")[0])

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """All these values, once all are there; of one instant."""
        return self._do("get", all_named(keys)) if keys else []

    def queue_push(self, key: str, value: str | bytes) -> None:
        self._do("queue_push", [named(key)], [encoded(value)])

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """The oldest value of a queue; if it is empty, wait, or raise QueueEmptyError."""
        return self._do("queue_pop" if block else "queue_pop_now", [named(key)])[0]

    def queue_len(self, key: str) -> int:
        return int(self._do("queue_len", [named(key)])[0])

    def barrier(self, key: str, world_size: int, timeout: Duration = None) -> None:
        """Return when `world_size` callers have come to this key; it serves again and again."""
        arrived = self.add(f"{key}/arrived", 1)
        turn = (arrived - 1) // world_size
        if arrived % world_size == 0:
            self.set(f"{key}/complete/{turn}", b"1")
        self.wait([f"{key}/complete/{turn}"], timeout)

    @property
    def timeout(self) -> timedelta:
        """How long a call waits that gives no timeout of its own."""
        return timedelta(seconds=min(self._seconds, timedelta.max.total_seconds() - 1))

    def set_timeout(self, timeout: float | timedelta) -> None:
        self._seconds = seconds(timeout)

    def close(self) -> None:  # noqa: B027 - most kinds hold nothing
        """Give back what this handle holds (sockets, files, threads)."""


class HashStore(Store):
    """A key-value store for threads of one process.

    The missing key wakes a waiting thread, not every change. A thousand ranks
    that wait for each other would wake each other a million times.

    Args:
        clock: The clock that waits.
        timeout: The time limit of each request, in seconds or as a timedelta.

    Example:
        >>> store = dist.HashStore()
        >>> store.set("key", "value")
        >>> store.get("key"), store.num_keys()
        (b'value', 1)
    """

    def __init__(self, clock: Clock = SYSTEM, timeout: float | timedelta = TIMEOUT) -> None:
        super().__init__(timeout)
        self._clock = clock
        self._guard = clock.condition()
        self._key_values = KeyValues()
        self._waiting: dict[str, list[KeyWaiter]] = {}  # by a key that each of them misses

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        self._clock.asks_store()
        deadline: Deadline | None = None  # most commands do not wait
        while True:
            with self._guard:
                try:
                    answer = self._key_values.do(operation, keys, values)
                except NotYet as need:
                    if deadline is None:
                        deadline = self._clock.deadline(None if timeout == inf else timeout)
                    if deadline.is_over():
                        raise need.late(timeout, keys, ADVICE, self._clock.of_time) from None
                    key = need.missing[-1]  # keys that come in order then cost one wait
                    waiter = KeyWaiter(self._clock, key)
                    self._waiting.setdefault(key, []).append(waiter)
                else:
                    if operation not in READS:
                        self._wake(keys)
                    self._clock.heard_store(operation, keys, answer)
                    return answer
            try:
                waiter.wait(deadline)
            finally:
                self._forget(key, waiter)

    def _wake(self, keys: Sequence[str]) -> None:
        for key in keys:
            for waiter in self._waiting.pop(key, ()):
                waiter.wake()

    def _forget(self, key: str, waiter: KeyWaiter) -> None:
        with self._guard:
            others = self._waiting.get(key, [])
            if waiter in others:
                others.remove(waiter)
                if not others:
                    del self._waiting[key]


class KeyWaiter:
    """One thread that waits for one key."""

    def __init__(self, clock: Clock, key: str) -> None:
        self._changed = clock.condition(f"the key {key!r} of a store")
        self._is_woken = False

    def wait(self, deadline: Deadline) -> None:
        with self._changed:
            while not self._is_woken and not deadline.is_over():
                self._changed.wait(deadline.left())

    def wake(self) -> None:
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()


class PrefixStore(Store):
    """A part of another store: its keys, each with `prefix/` before it.

    Args:
        prefix: The name of the part.
        store: The whole store.

    Example:
        >>> whole = dist.HashStore()
        >>> part = dist.PrefixStore("run1", whole)
        >>> part.set("lr", "0.1")
        >>> whole.get("run1/lr")
        b'0.1'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__(store._seconds)
        self.prefix, self._store = prefix, store

    def command(self, operation: str, keys: Sequence[str], values: Sequence[bytes], timeout: float) -> list[bytes]:
        start = f"{self.prefix}/"
        return self._store.command(operation, [start + key for key in keys], values, timeout)

    @property
    def underlying_store(self) -> Store:
        return self._store


ADVICE = (
    "The rank that sets them has failed earlier, uses another prefix or store, or needs longer: "
    "look at the first error of the other ranks"
)
