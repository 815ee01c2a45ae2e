"""The values of a store and its commands: the one meaning that all stores share.

A command is an operation, the keys it concerns and the values it carries; its answer is a list of
values. `HashStore` calls a key-value table under a lock, the server of `TCPStore` keeps one, `FileStore`
rebuilds one from its log. A command that needs a key which is not there yet changes nothing and
raises `NotYet`; the caller decides what waiting means.

No command costs more than its own bytes are worth, and those of its answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from transports.errors import DistStoreError, QueueEmptyError, StoreTimeout

NUMBER = 5000  # bytes; Python reads no longer text as a whole number


class NotYet(Exception):
    """The command needs keys that are missing. Not an error: wait until something changes."""

    def __init__(self, missing: list[str]) -> None:
        super().__init__()  # a text of many keys would be made for nothing
        self.missing = missing

    def late(self, seconds: float, keys: Sequence[str], note: str, of_time: str = "") -> StoreTimeout:
        """The error of a command for these keys that has waited so long."""
        missing = set(self.missing)
        present = [key for key in keys if key not in missing]
        return StoreTimeout(seconds, self.missing, present, note, of_time)

    def __str__(self) -> str:
        return f"missing {self.missing}"


class KeyValues:
    """Values by key, and queues of values by key. Knows neither locks nor time."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, deque[bytes]] = {}
        self.own_keys = 0  # of the store itself; `num_keys` counts them, as torch's stores do

    def do(self, operation: str, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        """Carry out one command, whole or not at all. Values are handed out as they are kept, and nobody changes them."""
        method = OPERATIONS.get(operation)
        if method is None:
            raise DistStoreError(f"a store has no operation {operation[:40]!r}")
        try:
            return method(self, keys, values)
        except (IndexError, UnicodeError) as error:
            raise DistStoreError(f"{operation} with {len(keys)} keys and {len(values)} values: {error}") from error

    def has(self, key: str) -> bool:
        return key in self.values or key in self.queues

    def is_there(self, operation: str, key: str) -> bool:
        """Whether this key is what an operation that waits has to have."""
        kept = NEEDS[operation]
        return (key in self.values and kept != "queue") or (key in self.queues and kept != "value")

    def demand(self, operation: str, keys: Sequence[str]) -> None:
        missing = [key for key in keys if not self.is_there(operation, key)]
        if missing:
            raise NotYet(missing)


Keys = Sequence[str]
Values = Sequence[bytes]


NEEDS = {"get": "value", "wait": "either", "queue_pop": "queue"}
"""The operations that wait, and what has to be under their keys."""


def _set(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    if len(keys) != len(values):
        raise DistStoreError(f"{len(keys)} keys, but {len(values)} values: one for each is needed")
    key_values.values.update(zip(keys, values, strict=True))
    return []


def _get(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    key_values.demand("get", keys)
    return [key_values.values[key] for key in keys]


def _add(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    old = key_values.values.get(keys[0], b"0")
    try:
        if len(old) > NUMBER:
            raise ValueError("no number is so long")
        total = b"%d" % (int(old) + int(values[0]))
    except ValueError:
        raise DistStoreError(
            f"add: {keys[0][:40]!r} holds {old[:40]!r}, which is not a whole number; nothing was changed"
        ) from None
    key_values.values[keys[0]] = total
    return [total]


def _compare_set(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    """torch's rule: what is not there counts as empty, but is answered with what was expected."""
    expected, desired = values[0], values[1]
    present = key_values.values.get(keys[0])
    if present == expected or (present is None and not expected):
        key_values.values[keys[0]] = desired
        return [desired]
    return [expected if present is None else present]


def _wait(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    key_values.demand("wait", keys)
    return []


def _check(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    return [b"%d" % all(map(key_values.has, keys))]


def _delete_key(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    return [b"%d" % (key_values.values.pop(keys[0], None) is not None)]


def _num_keys(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    return [b"%d" % (len(key_values.values) + key_values.own_keys)]


def _queue_push(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    key, value = keys[0], values[0]  # a command without one of them makes no queue
    key_values.queues.setdefault(key, deque()).append(value)
    return []


def _queue_pop(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    key_values.demand("queue_pop", keys[:1])
    queue = key_values.queues[keys[0]]
    first = queue.popleft()
    if not queue:
        del key_values.queues[keys[0]]
    return [first]


def _queue_pop_now(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    try:
        return _queue_pop(key_values, keys, values)
    except NotYet:
        raise QueueEmptyError(f"the queue {keys[0]!r} is empty") from None


def _queue_len(key_values: KeyValues, keys: Keys, values: Values) -> list[bytes]:
    return [b"%d" % len(key_values.queues.get(keys[0], ()))]


_ALL: tuple[Callable[[KeyValues, Keys, Values], list[bytes]], ...] = (
    *(_set, _get, _add, _compare_set, _wait, _check, _delete_key, _num_keys),
    *(_queue_push, _queue_pop, _queue_pop_now, _queue_len),
)
OPERATIONS = {operation.__name__[1:]: operation for operation in _ALL}
READS = frozenset({"get", "wait", "check", "num_keys", "queue_len"})
