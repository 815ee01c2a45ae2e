"""The values of a store and its commands: the one meaning that all stores share.

A command is an operation, the keys it concerns and the values it carries; its answer is a list of
values. `HashStore` calls a key-value table under a lock, the server of `TCPStore` keeps one, `FileStore`
rebuilds one from its log. A command that needs a key which is not there yet changes nothing and
raises `NotYet`; the caller decides what waiting means.

No command costs more than its own bytes are worth, and those of its answer. So `append` does not copy what it appends to:
a value that grows is kept in pieces, each at least twice as long as the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from transports.errors import DistStoreError, QueueEmptyError, StoreTimeout

LONGEST = (1 << 28) - (1 << 10)  # bytes of a value: an answer has to hold it (see `protocol`)
NUMBER = 5000  # bytes; Python reads no longer text as a whole number

Value: TypeAlias = "bytes | tuple[bytes, ...]"
"""The bytes under a key: in one piece, or in several where they grew. Nobody changes them, so answers share them."""


def whole(value: Value) -> bytes:
    return value if isinstance(value, bytes) else b"".join(value)


def length(value: Value) -> int:
    return len(value) if isinstance(value, bytes) else sum(map(len, value))


def head(value: Value) -> bytes:
    """How it begins."""
    return (value if isinstance(value, bytes) else value[0])[:40]


def grown(value: Value, more: bytes) -> Value:
    """`value` and more. Each byte is copied only into a piece that is half as long again as its last one."""
    if not more:
        return value
    pieces = [value] if isinstance(value, bytes) else list(value)
    pieces.append(more)
    while len(pieces) > 1 and 2 * len(pieces[-1]) > len(pieces[-2]):
        last = pieces.pop()
        pieces[-1] += last
    return pieces[0] if len(pieces) == 1 else tuple(pieces)


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
        self.values: dict[str, Value] = {}
        self.queues: dict[str, deque[bytes]] = {}
        self.own_keys = 0  # of the store itself; `num_keys` counts them, as torch's stores do

    def do(self, operation: str, keys: Sequence[str], values: Sequence[bytes]) -> list[bytes]:
        """Carry out one command, whole or not at all."""
        return list(map(whole, self.answer(operation, keys, values)))

    def answer(self, operation: str, keys: Sequence[str], values: Sequence[bytes]) -> list[Value]:
        """The same; values are handed out as they are kept, and nothing of them is copied."""
        method = OPERATIONS.get(operation)
        if method is None:
            raise DistStoreError(f"a store has no operation {operation[:40]!r}")
        try:
            return method(self, keys, values)
        except (IndexError, UnicodeError) as error:
            raise DistStoreError(
                f"{operation} with {len(keys)} keys and {len(values)} values: {error}"
            ) from error

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


def _set(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    if len(keys) != len(values):
        raise DistStoreError(f"{len(keys)} keys, but {len(values)} values: one for each is needed")
    key_values.values.update(zip(keys, values, strict=True))
    return []


def _get(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    key_values.demand("get", keys)
    return [key_values.values[key] for key in keys]


def _add(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    kept = key_values.values.get(keys[0], b"0")
    old = whole(kept) if length(kept) <= NUMBER else head(kept)[:37] + b"..."
    try:
        total = b"%d" % (int(old) + int(values[0]))
    except ValueError:
        raise DistStoreError(
            f"add: {keys[0][:40]!r} holds {old[:40]!r}, which is not a whole number; nothing was changed"
        ) from None
    key_values.values[keys[0]] = total
    return [total]


def _append(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    old, new = key_values.values.get(keys[0], b""), values[0]
    if length(old) + len(new) > LONGEST:
        raise DistStoreError(
            f"append: {keys[0][:40]!r} would hold {length(old) + len(new)} bytes, more than the {LONGEST} "
            "that a store can hand out; nothing was changed"
        )
    key_values.values[keys[0]] = grown(old, new)
    return []


def _compare_set(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    """torch's rule: what is not there counts as empty, but is answered with what was expected."""
    expected, desired = values[0], values[1]
    present = key_values.values.get(keys[0])
    if _is(present, expected) or (present is None and not expected):
        key_values.values[keys[0]] = desired
        return [desired]
    return [expected if present is None else present]


def _is(present: Value | None, expected: bytes) -> bool:
    return present is not None and length(present) == len(expected) and whole(present) == expected


def _wait(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    key_values.demand("wait", keys)
    return []


def _check(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    return [b"%d" % all(map(key_values.has, keys))]


def _delete_key(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    return [b"%d" % (key_values.values.pop(keys[0], None) is not None)]


def _num_keys(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    return [b"%d" % (len(key_values.values) + key_values.own_keys)]


def _list_keys(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    return [key.encode() for key in key_values.values]


def _queue_push(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    key, value = keys[0], values[0]  # a command without one of them makes no queue
    key_values.queues.setdefault(key, deque()).append(value)
    return []


def _queue_pop(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    key_values.demand("queue_pop", keys[:1])
    queue = key_values.queues[keys[0]]
    first = queue.popleft()
    if not queue:
        del key_values.queues[keys[0]]
    return [first]


def _queue_pop_now(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    try:
        return _queue_pop(key_values, keys, values)
    except NotYet:
        raise QueueEmptyError(f"the queue {keys[0]!r} is empty") from None


def _queue_len(key_values: KeyValues, keys: Keys, values: Values) -> list[Value]:
    return [b"%d" % len(key_values.queues.get(keys[0], ()))]


OPERATIONS: dict[str, Callable[[KeyValues, Keys, Values], list[Value]]] = {
    "set": _set,
    "get": _get,
    "add": _add,
    "append": _append,
    "compare_set": _compare_set,
    "wait": _wait,
    "check": _check,
    "delete_key": _delete_key,
    "num_keys": _num_keys,
    "list_keys": _list_keys,
    "queue_push": _queue_push,
    "queue_pop": _queue_pop,
    "queue_pop_now": _queue_pop_now,
    "queue_len": _queue_len,
}
READS = frozenset({"get", "wait", "check", "num_keys", "list_keys", "queue_len"})
